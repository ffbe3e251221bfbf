"""The rules about volumes: columns agree with the plain reading."""

from dataclasses import replace

import pytest
from hypothesis import given

from reprieve.model.whatif import without
from reprieve.placement.constraints import volumes
from reprieve.placement.demand import Constraint
from tests.properties.agreement import ask_of, assert_same_refusals, cluster_of, refusals
from tests.properties.volume_twists import storage_worlds
from tests.properties.worlds import World
from tests.reference.plain import volumes as plain
from tests.reference.plain.cluster import PlainConstraint, refusals_by_node

WORLDS = storage_worlds()
RULES = [
    (volumes.claims, plain.claims),
    (volumes.exclusive, plain.exclusive),
    (volumes.limits, plain.limits),
    (volumes.binding, plain.binding),
    (volumes.zones, plain.zones),
]


@pytest.mark.parametrize(("constraint", "plainly"), RULES)
@given(WORLDS)
def test_volumes(constraint: Constraint, plainly: PlainConstraint, world: World) -> None:
    assert_same_refusals(world, constraint, plainly)


@given(WORLDS)
def test_what_will_be_bound(world: World) -> None:
    ask, cluster = ask_of(world), cluster_of(world)
    refused = refusals(ask, volumes.binding)
    for row, node in enumerate(ask.view.nodes.objects):
        if not refused[node.metadata.name]:
            assert volumes.bindings(ask, row) == plain.bindings(cluster, node)


@pytest.mark.parametrize(("constraint", "plainly"), RULES[1:3])
@given(WORLDS)
def test_pods_that_leave_free_their_volumes(
    constraint: Constraint, plainly: PlainConstraint, world: World
) -> None:
    ask = ask_of(world)
    leaving = range(0, len(ask.view.pods), 2)
    gone = {ask.view.pods.compiled[row].pod.metadata.uid for row in leaving} - {
        world.newcomer["metadata"]["uid"]
    }
    stay = World(
        [thing for thing in world.objects if thing["metadata"].get("uid") not in gone], world.newcomer
    )
    without_them = replace(ask, view=without(ask.view, list(leaving)))
    assert refusals(without_them, constraint) == refusals_by_node(cluster_of(stay), plainly)
