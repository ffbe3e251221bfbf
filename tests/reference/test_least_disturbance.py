"""The search for the least disturbance finds it: held against a model of its own, and the other searches."""

import json
from pathlib import Path

import pytest

from reprieve.model.json import Json
from reprieve.model.snapshot import build
from reprieve.placement.demand import Demand
from reprieve.placement.place import pod_demand
from reprieve.preemption.plan import NoPlan, Plan
from tests.properties.worlds import decoded
from tests.reference.crowded_rooms import crowded_room
from tests.reference.demands import gang_demand
from tests.reference.disturbance_plans import SEARCHES, USUAL_ORDER, by, plan_by, victims_of
from tests.reference.exact_disturbance import World, cost_of, finite, least_cost, world_of
from tests.reference.observed_cases import Case, read_case
from tests.reference.observed_runner import DEFAULT_DIR

FEW = ("BudgetsBroken", "HighestPriority", "Pods")
PODS_FIRST = ("PodsStopped", "HighestPriority", "BudgetsBroken")
ORDERS = {"few": FEW, "default": USUAL_ORDER, "pods first": PODS_FIRST}


def is_recorded_preemption(case: Json) -> bool:
    """Of pods that have nothing to do with each other but for the room they take."""
    preempts = any(o["outcome"] == "preempts" for o in case["observed"])
    return preempts and not case.get("resize") and not any(map(_minds_pods, case["newPods"]))


def _minds_pods(pod: Json) -> bool:
    spec = pod["spec"]
    ports = (port for container in spec["containers"] for port in container.get("ports", []))
    return "affinity" in spec or "topologySpreadConstraints" in spec or any("hostPort" in p for p in ports)


RECORDED = [
    path
    for path in sorted(DEFAULT_DIR.glob("*.json"))
    if is_recorded_preemption(json.loads(path.read_bytes()))
]


def recorded_demand(case: Case) -> Demand:
    if case.is_gang:
        return gang_demand(case.view, case.newcomers, everybody=True)
    return pod_demand(case.view, case.newcomers[0])


def recorded_world(path: Path) -> World:
    case = json.loads(path.read_bytes())
    lists = ("nodes", "pods", "podGroups", "podDisruptionBudgets", "newPodGroups")
    objects = [thing for key in lists for thing in case.get(key, [])]
    return world_of(objects, case["newPods"], len(case["newPods"]))


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_demand_disturbs_as_little_as_it_can(path: Path, order: tuple[str, ...]) -> None:
    case, world = read_case(path), recorded_world(path)
    plan = plan_by(by(order), case.view, recorded_demand(case))
    assert isinstance(plan, Plan) and plan.quality is not None
    cost = cost_of(world, victims_of(case.view, plan), order)
    assert cost == least_cost(world, order)
    assert plan.quality.proved
    assert tuple(finite(value) for _, value in plan.quality.cost) == cost


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
