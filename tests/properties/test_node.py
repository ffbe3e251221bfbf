"""The rules about the node itself: columns agree with the plain reading."""

from hypothesis import given

from reprieve.placement.constraints import node
from tests.properties.agreement import assert_same_refusals
from tests.properties.worlds import World, worlds
from tests.reference.plain import node as plain

WORLDS = worlds(frozenset({"node"}))


@given(WORLDS)
def test_cordons(world: World) -> None:
    assert_same_refusals(world, node.unschedulable, plain.unschedulable)


@given(WORLDS)
def test_taints(world: World) -> None:
    assert_same_refusals(world, node.taints, plain.taints)


@given(WORLDS)
def test_selectors_and_affinity(world: World) -> None:
    assert_same_refusals(world, node.affinity, plain.affinity)


@given(WORLDS)
def test_declared_features(world: World) -> None:
    assert_same_refusals(world, node.features, plain.features)
