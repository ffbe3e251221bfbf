"""Trees under `search: LeastDisturbance`: no other search disturbs less, and what is proved is so."""

import random

import pytest

from reprieve.model.json import Json
from reprieve.model.snapshot import NOWHERE, build
from reprieve.preemption.plan import NoPlan, Plan
from tests.properties.worlds import decoded
from tests.reference.crowded_rooms import CrowdedRoom, crowded_room
from tests.reference.demands import tree_demand
from tests.reference.disturbance_plans import SEARCHES, USUAL_ORDER, by, plan_by, victims_of
from tests.reference.exact_disturbance import cost_of, finite, least_cost, world_of
from tests.reference.tree_fits import keeps_its_word

SEEDS = range(20)


def as_tree(room: CrowdedRoom, seed: int, *, all_are_needed: bool) -> CrowdedRoom:
    """Its gang in two leaves below a root; in every third cluster a leaf is to be on nodes of one kind."""
    rng = random.Random(seed)
    gang = next(thing for thing in room.objects if thing["metadata"]["name"] == "newcomer")
    others = [_labelled(rng, thing) for thing in room.objects if thing is not gang]
    leaves = {f"leaf{i}": room.members[i::2] for i in range(2)}
    groups = [_group(gang, "CompositePodGroup", "root", "", {"minGroupCount": 2 if all_are_needed else 1})]
    for name, members in leaves.items():
        needed = len(members) if all_are_needed else rng.randint(1, len(members))
        groups.append(_group(gang, "PodGroup", name, "root", {"minCount": needed}))
        for member in members:
            member["spec"]["schedulingGroup"] = {"podGroupName": name}
    if not all_are_needed and seed % 3 == 0:
        groups[-1]["spec"]["schedulingConstraints"] = {"topology": [{"key": "kind"}]}
    return CrowdedRoom([*others, *groups], room.members, len(room.members))


def _labelled(rng: random.Random, thing: Json) -> Json:
    if thing["kind"] == "Node":
        thing["metadata"]["labels"] = {"kind": rng.choice("ab")}
    return thing


def _group(gang: Json, kind: str, name: str, parent: str, policy: Json) -> Json:
    spec = {**gang["spec"], "schedulingPolicy": {"gang": policy}}
    spec["workloadRef"] = {"workloadName": "w", "templateName": name}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": kind, "metadata": meta, "spec": spec}


@pytest.mark.parametrize("all_are_needed", [True, False], ids=["all", "some"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_other_search_disturbs_less(seed: int, all_are_needed: bool) -> None:
    room = as_tree(crowded_room(seed, nodes=8, members=9), seed, all_are_needed=all_are_needed)
    view = build([decoded(thing) for thing in (*room.objects, *room.members)]).snapshot
    rows = [view.pods.rows["default", member["metadata"]["name"]] for member in room.members]
    world, demand = world_of(room.objects, room.members, room.needed), tree_demand(view, rows)
    found = {name: plan_by(by(USUAL_ORDER, policy), view, demand) for name, policy in SEARCHES.items()}
    ours = found["LeastDisturbance"]
    if not isinstance(ours, Plan):
        assert all(isinstance(other, NoPlan) or other is None for other in found.values())
        return
    assert keeps_its_word(view, {pod: node for pod, node in ours.places if node != NOWHERE})
    assert ours.quality is not None
    cost = cost_of(world, victims_of(view, ours), USUAL_ORDER)
    assert tuple(finite(value) for _, value in ours.quality.cost) == cost
    for other in found.values():
        assert not isinstance(other, Plan) or cost <= cost_of(world, victims_of(view, other), USUAL_ORDER)
    if all_are_needed:
        assert not ours.quality.proved or cost == least_cost(world, USUAL_ORDER)
    elif demand.needed < len(rows):
        assert not ours.quality.proved
        assert not ours.quality.bound
