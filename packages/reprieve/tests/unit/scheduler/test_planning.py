"""What to do for a demand that does not fit: for which pods room is made, and whether a plan still holds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_key, a_node, a_pod, target
from tests.unit.scheduler.making import leaving as being_deleted

from reprieve.model.objects import KubernetesObject
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Branch, Promised
from reprieve.placement.domains import place_together
from reprieve.placement.place import Unplaceable
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.preemption.plan import Plan, Why
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.demands import DecisionContext, Requester, demand_of, requester_of
from reprieve.scheduler.demands.gang_strategy import ALL_MEMBERS, MIN_COUNT, POD_BY_POD, GangStrategy
from reprieve.scheduler.demands.group_rules import DEFAULT_RULES
from reprieve.scheduler.ledger.assumed import AssumedPods
from reprieve.scheduler.ledger.budget_lag import BudgetLag
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.planning.making_room import Weighed, make_room
from reprieve.scheduler.planning.plan_feasibility import awaited, still_feasible
from reprieve.scheduler.plans.handover import Handover, Targets
from reprieve.scheduler.targets import rows_of

NODE, OLD, NEW = a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="3", priority=9)


def case_of(
    *things: KubernetesObject, promised: Sequence[tuple[str, str]] = (), in_flight: str = ""
) -> DecisionContext:
    """The demand is that of the group ``g``, or of the pod ``new``."""
    world = World(AssumedPods(), BudgetLag())
    for thing in things:
        world.see(thing)
    grouped = world.groups.group(("default", "g")) is not None
    key = a_key("g", DemandKind.GROUP) if grouped else a_key("new")
    requester = requester_of(world, key, DEFAULT_RULES)
    assert isinstance(requester, Requester)
    demand, view = demand_of(requester, world.snapshot(), DEFAULT_PROFILE, {}, 0.0)
    rows = [(view.pods.rows["default", pod], view.nodes.rows[node]) for pod, node in promised]
    room = Promised(tuple(pod for pod, _ in rows), tuple(node for _, node in rows))
    taken = np.array([view.pods.rows["default", name] for name in in_flight.split()], np.int64)
    return DecisionContext(requester, demand, view, DEFAULT_PROFILE, room, taken, taken)


def weighed(
    case: DecisionContext, policy: Policy | None = REPRIEVE, gangs: GangStrategy = MIN_COUNT
) -> Weighed:
    found = place_together(case.demand, case.view, case.profile, promised=case.promised)
    assert isinstance(found, Unplaceable)
    return make_room(case, policy, gangs, 0.0)


def victims(plan: Plan) -> list[str]:
    return sorted(unit.name.rsplit("/")[-1] for unit in plan.victims)


def names(view: Snapshot, rows: Sequence[int]) -> list[str]:
    return sorted(view.pods.compiled[row].pod.metadata.name for row in rows)


# --- which plan ----------------------------------------------------------------------------------


def test_without_a_policy_there_is_no_plan() -> None:
    refusal = weighed(case_of(NODE, OLD, NEW), policy=None).refusal
    assert refusal is not None
    assert refusal.why is Why.OFF


def test_a_pod_that_is_leaving_anyway_counts_as_gone() -> None:
    case = case_of(NODE, being_deleted(OLD), a_pod("other", cpu="1", on="n1"), NEW)
    assert names(case.view, case.leaving.tolist()) == ["old"]
    (plan,) = weighed(case).plans
    assert (plan.victims, plan.places) == ((), ((case.demand.pods[0], 0),))


def test_room_that_others_wait_for_is_not_free_when_a_pod_leaves() -> None:
    peer = a_pod("peer", cpu="3", priority=9)
    case = case_of(NODE, being_deleted(OLD), NEW, peer, promised=[("peer", "n1")])
    assert weighed(case).plans == ()


def test_no_pod_counts_on_what_only_waits_for_a_node() -> None:
    """There is room beside the pod it wants to be with, but that is not there yet."""
    term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "db"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    node, going = a_node("n1", cpu="8", labels={"host": "n1"}), being_deleted(a_pod("old", cpu="8", on="n1"))
    db = a_pod("db", cpu="3", priority=9, labels={"app": "db"})
    new = a_pod("new", cpu="3", priority=9, affinity=near)
    assert weighed(case_of(node, going, db, new, promised=[("db", "n1")])).plans == ()


def test_those_that_are_asked_to_go_already_are_taken_first() -> None:
    things: list[KubernetesObject] = [
        NODE,
        a_node("n2"),
        a_pod("old", cpu="3", priority=5, on="n1"),
        a_pod("cheap", cpu="3", on="n2"),
    ]
    assert victims(weighed(case_of(*things, NEW)).plans[0]) == ["cheap"]
    assert victims(weighed(case_of(*things, NEW, in_flight="old")).plans[0]) == ["old"]


def test_those_that_are_asked_to_go_but_may_not_be_taken_by_this_demand_are_not() -> None:
    dear = a_pod("dear", cpu="3", priority=20, on="n2")
    case = case_of(NODE, OLD, a_node("n2"), dear, NEW, in_flight="dear")
    assert victims(weighed(case).plans[0]) == ["old"]


def test_budgets_have_paid_for_those_that_are_asked_to_go_already() -> None:
    web = [a_pod(f"web-{i}", cpu="3", on=f"n{i}", labels={"app": "web"}) for i in (1, 2)]
    things: list[KubernetesObject] = [NODE, a_node("n2"), *web, a_budget("web", 1, app="web"), NEW]
    elsewhere = a_pod("new", cpu="3", priority=9, nodeSelector={"host": "n2"})
    assert weighed(case_of(*things)).plans[0].broken == 0
    assert weighed(case_of(*things, in_flight="web-1")).plans[0].broken == 0, "paid for, and not again"
    other: list[KubernetesObject] = [
        a_node("n2", labels={"host": "n2"}),
        *web,
        a_budget("web", 1, app="web"),
        elsewhere,
    ]
    assert weighed(case_of(NODE, *other, in_flight="web-1")).plans[0].broken == 1


# --- for which pods ------------------------------------------------------------------------------


def gang(min_count: int, running: int = 0) -> list[KubernetesObject]:
    others = [a_member(f"r-{i}", priority=9, on="n1") for i in range(running)]
    return [a_group("g", 9, min_count), *others, *(a_member(f"w-{i}", cpu="3", priority=9) for i in range(3))]


FULL = [thing for i in (1, 2, 3) for thing in (a_node(f"n{i}"), a_pod(f"old-{i}", cpu="3", on=f"n{i}"))]


@pytest.mark.parametrize(
    ("min_count", "running", "gangs", "pods"),
    [
        (2, 0, MIN_COUNT, 2),
        (2, 0, ALL_MEMBERS, 3),
        (2, 0, POD_BY_POD, 2),
        (3, 1, MIN_COUNT, 2),
        (2, 2, MIN_COUNT, 3),
        (2, 2, ALL_MEMBERS, 3),
    ],
)
def test_for_how_many_of_a_gang_room_is_made(
    min_count: int, running: int, gangs: GangStrategy, pods: int
) -> None:
    plan = weighed(case_of(*FULL, *gang(min_count, running)), gangs=gangs).plans[0]
    assert len(plan.places) == pods == len(plan.victims)


def test_of_those_that_ask_for_themselves_the_first_with_a_plan_gets_it() -> None:
    pods = [a_member("w-0", cpu="9", priority=9), a_member("w-1", cpu="3", priority=9)]
    case = case_of(*FULL, a_group("g", 9), *pods)
    (place, *_) = weighed(case).plans[0].places
    assert names(case.view, [place[0]]) == ["w-1"]


def test_if_none_has_a_plan_the_first_is_told_why() -> None:
    pods = [a_member(f"w-{i}", cpu=f"{9 + i}", priority=9) for i in range(2)]
    found = weighed(case_of(*FULL, a_group("g", 9), *pods))
    assert found.plans == ()
    assert found.question is not None
    assert names(found.question.view, found.question.demand.pods) == ["w-0"]


# --- which pods must be gone ---------------------------------------------------------------------


def awaited_names(case: DecisionContext) -> list[str]:
    return names(case.view, awaited(case, weighed(case).plans[0]).tolist())


def test_only_those_on_the_nodes_in_use_are_awaited() -> None:
    train = [a_member(f"t-{i}", "train", cpu="3", priority=5, on=f"n{i}") for i in (1, 2)]
    far = being_deleted(a_pod("far", cpu="1", on="n2"))
    world: list[KubernetesObject] = [NODE, a_node("n2"), *train, far, a_pod("new", cpu="4", priority=9)]
    whole = a_group("train", 5, disruptedWhole=True)
    case = case_of(whole, *world)
    assert victims(weighed(case).plans[0]) == ["train"]
    assert awaited_names(case) == ["t-1"]


def test_where_constraints_look_further_all_that_go_are_awaited() -> None:
    """The pod must be alone in its zone, and a pod leaves another node of it."""
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    nodes = [a_node(f"n{i}", labels={"zone": "z"}) for i in (1, 2)]
    going = being_deleted(a_pod("going", cpu="4", on="n2", labels={"app": "db"}))
    blocked = a_pod("block", cpu="4", priority=9, on="n2")
    case = case_of(*nodes, going, blocked, a_pod("new", cpu="3", priority=9, affinity=alone))
    assert [case.view.nodes.names[node] for _, node in weighed(case).plans[0].places] == ["n1"]
    assert awaited_names(case) == ["going"]


# --- whether it still holds ----------------------------------------------------------------------


def handover(*victims: KubernetesObject, node: str = "n1", pod: KubernetesObject = NEW) -> Handover:
    return Handover("d-1", target(NEW), ((target(pod), node),), Targets(map(target, victims)))


def test_a_plan_holds_if_there_is_room_when_the_victims_are_gone() -> None:
    assert still_feasible(case_of(NODE, OLD, NEW), handover(OLD))
    assert not still_feasible(case_of(NODE, OLD, NEW), handover())


def test_a_pod_that_leaves_anyway_is_not_in_the_way() -> None:
    assert still_feasible(case_of(NODE, being_deleted(OLD), NEW), handover())


def test_a_plan_does_not_hold_if_a_pod_took_the_room() -> None:
    case = case_of(NODE, OLD, a_pod("thief", cpu="2", priority=20, on="n1"), NEW)
    assert not still_feasible(case, handover(OLD))


def test_a_plan_does_not_hold_if_the_room_is_promised_to_a_more_important_demand() -> None:
    peer = a_pod("peer", cpu="3", priority=9)
    assert not still_feasible(case_of(NODE, OLD, NEW, peer, promised=[("peer", "n1")]), handover(OLD))


def test_a_plan_does_not_hold_on_a_node_that_is_gone_nor_for_a_pod_that_is() -> None:
    assert not still_feasible(case_of(NODE, OLD, NEW), handover(OLD, node="n9"))
    assert not still_feasible(case_of(NODE, OLD, NEW), handover(OLD, pod=a_pod("other")))


def test_a_namesake_of_a_victim_stays() -> None:
    namesake = a_pod("old", cpu="3", on="n1", uid="another")
    case = case_of(NODE, namesake, NEW)
    assert not still_feasible(case, handover(OLD))
    assert rows_of(case.view, [target(OLD)]) == []
    assert names(case.view, rows_of(case.view, [target(namesake)])) == ["old"]


def test_a_victim_that_came_back_into_the_line_stays_where_it_went_then() -> None:
    gone = replace(handover(OLD), gone=frozenset({target(OLD)}))
    assert not still_feasible(case_of(NODE, OLD, NEW), gone)


MEMBERS = [a_member(f"m{i}", cpu="3", priority=9) for i in range(2)]


def gang_on(*nodes: str) -> Handover:
    places = tuple((target(pod), node) for pod, node in zip(MEMBERS, nodes, strict=False))
    return Handover("d-1", target(a_group("g", 9, 2)), places, Targets([target(OLD)]))


def test_a_plan_does_not_hold_if_more_pods_are_needed_than_when_it_was_made() -> None:
    case = case_of(NODE, OLD, a_node("n2"), a_group("g", 9, 2), *MEMBERS)
    assert still_feasible(case, gang_on("n1", "n2"))
    assert not still_feasible(case, gang_on("n1"))


@pytest.mark.parametrize("zones", [("a", "a"), ("a", "b")])
def test_a_plan_does_not_hold_if_a_group_of_the_tree_would_be_in_two_domains(zones: tuple[str, str]) -> None:
    """A label has changed since."""
    nodes = [a_node(name, labels={"zone": zone}) for name, zone in zip(("n1", "n2"), zones, strict=True)]
    case = case_of(*nodes, OLD, a_group("g", 9, 2), *MEMBERS)
    tree = Branch(2, members=(0, 1), topology_key="zone")
    case = replace(case, demand=replace(case.demand, tree=tree))
    assert still_feasible(case, gang_on("n1", "n2")) == (zones[0] == zones[1])
