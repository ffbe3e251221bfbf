"""The search for the least disturbance finds it: held against a model of its own, and the other searches."""

import json
from itertools import repeat
from pathlib import Path

import pytest

from reprieve.model.json import Json
from reprieve.model.snapshot import Snapshot, build
from reprieve.placement.demand import Demand
from reprieve.placement.place import pod_demand
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.resize import DeferredResizes
from tests.properties.worlds import decoded
from tests.reference.crowded_rooms import crowded_room
from tests.reference.demands import gang_demand, tree_demand
from tests.reference.disturbance_plans import SEARCHES, USUAL_ORDER, by, plan_by, victims_of
from tests.reference.exact_disturbance import World, cost_of, finite, least_cost, resized, world_of
from tests.reference.observed_cases import Case, read_case
from tests.reference.recorded_files import FILES

FEW = ("BudgetsBroken", "HighestPriority", "Pods")
PODS_FIRST = ("PodsStopped", "HighestPriority", "BudgetsBroken")
ORDERS = {"few": FEW, "default": USUAL_ORDER, "pods first": PODS_FIRST}


def is_served(case: Json) -> bool:
    """A preemption, where pods have nothing to do with each other but for the room they take.

    Of trees, those that need all their pods, and among running pods that are in none.
    """
    preempts = any(o["outcome"] == "preempts" for o in case["observed"])
    has_choice = case.get("compositePodGroups") or not all(map(_needs_all, _new_groups(case), repeat(case)))
    return preempts and not has_choice and not any(map(_minds_pods, case["newPods"]))


def _minds_pods(pod: Json) -> bool:
    spec = pod["spec"]
    ports = (port for container in spec["containers"] for port in container.get("ports", []))
    return "affinity" in spec or "topologySpreadConstraints" in spec or any("hostPort" in p for p in ports)


def _new_groups(case: Json) -> list[Json]:
    """Those of a tree."""
    composites: list[Json] = case.get("newCompositePodGroups", [])
    return composites and [*composites, *case["newPodGroups"]]


def _needs_all(group: Json, case: Json) -> bool:
    name, gang = group["metadata"]["name"], group["spec"]["schedulingPolicy"].get("gang", {})
    inside = sum(one["spec"].get("parentCompositePodGroupName") == name for one in _new_groups(case))
    members = sum(pod["spec"]["schedulingGroup"]["podGroupName"] == name for pod in case["newPods"])
    return bool(gang.get("minGroupCount", gang.get("minCount")) == inside + members)


RECORDED = [path for path in FILES if is_served(json.loads(path.read_bytes()))]


def recorded_demand(case: Case) -> tuple[Demand, Snapshot]:
    view = case.view
    if case.resize is not None:
        return DeferredResizes().demand(view, view.pods.rows["default", case.resize.pod], 0.0)
    if case.is_tree:
        return tree_demand(view, case.newcomers, everybody=True), view
    if case.is_gang:
        return gang_demand(view, case.newcomers, everybody=True), view
    return pod_demand(view, case.newcomers[0]), view


def recorded_world(path: Path) -> World:
    case = json.loads(path.read_bytes())
    lists = ("nodes", "pods", "podGroups", "podDisruptionBudgets", "newPodGroups")
    objects = [thing for key in lists for thing in case.get(key, [])]
    world = world_of(objects, case["newPods"], len(case["newPods"]))
    resize = case.get("resize")
    return resized(world, resize["pod"], resize["to"]) if resize else world


def test_every_kind_of_demand_is_recorded() -> None:
    cases = [read_case(path) for path in RECORDED]
    assert sum(case.resize is not None for case in cases) >= 4
    assert sum(case.is_tree for case in cases) >= 20
    assert sum(case.is_gang and not case.is_tree for case in cases) >= 20


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_demand_disturbs_as_little_as_it_can(path: Path, order: tuple[str, ...]) -> None:
    world, (demand, view) = recorded_world(path), recorded_demand(read_case(path))
    plan = plan_by(by(order), view, demand)
    assert isinstance(plan, Plan) and plan.quality is not None
    cost = cost_of(world, victims_of(view, plan), order)
    assert cost == least_cost(world, order)
    assert plan.quality.proved
    told = dict(plan.quality.cost)  # a resize has a criterion more, and here no gangs to spare
    assert tuple(finite(told[name]) for name in order) == cost


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_the_order_of_objects_does_not_matter(seed: int) -> None:
    room = crowded_room(seed, nodes=8, members=8)
    objects = [*room.objects, *room.members]
    found = []
    for listed in (objects, objects[::-1]):
        view = build([decoded(thing) for thing in listed]).snapshot
        rows = [view.pods.rows["default", member["metadata"]["name"]] for member in room.members]
        plan = plan_by(by(USUAL_ORDER), view, gang_demand(view, rows))
        if isinstance(plan, Plan):
            places = {(rows.index(pod), view.nodes.names[node]) for pod, node in plan.places}
            found.append((sorted(victims_of(view, plan)), places, plan.quality))
    assert not found or found[0] == found[1]


@pytest.mark.parametrize("seed", range(100))
def test_no_other_search_disturbs_less(seed: int) -> None:
    room = crowded_room(seed, nodes=30 if seed % 4 == 0 else 8, members=12)
    view = build([decoded(thing) for thing in (*room.objects, *room.members)]).snapshot
    rows = [view.pods.rows["default", member["metadata"]["name"]] for member in room.members]
    world = world_of(room.objects, room.members, room.needed)
    demand = gang_demand(view, rows)
    found = {name: plan_by(by(USUAL_ORDER, policy), view, demand) for name, policy in SEARCHES.items()}
    ours = found["LeastDisturbance"]
    if not isinstance(ours, Plan):
        assert all(isinstance(other, NoPlan) or other is None for other in found.values())
        return
    assert ours.quality is not None
    cost = cost_of(world, victims_of(view, ours), USUAL_ORDER)
    for other in found.values():
        assert not isinstance(other, Plan) or cost <= cost_of(world, victims_of(view, other), USUAL_ORDER)
    assert tuple(finite(value) for _, value in ours.quality.cost) == cost
    if seed % 4:
        least = least_cost(world, USUAL_ORDER)
        assert least is not None and least <= cost
        assert not ours.quality.proved or cost == least
        assert tuple(finite(value) for _, value in ours.quality.bound) <= least
