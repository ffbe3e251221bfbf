"""Demands: pods by themselves or as a group, for how many, and what they still wait for."""

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_key, a_node, a_pod, leaving, target

from reprieve.model.groups import Groups
from reprieve.model.objects import KubernetesObject
from reprieve.placement.demand import Demand
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.scheduler.demand_key import DemandKey, DemandKind, by_itself, with_its_group
from reprieve.scheduler.demands import (
    NotYet,
    Requester,
    WaitingGroup,
    WaitingPod,
    demand_of,
    priority_of,
    requester_of,
)
from reprieve.scheduler.demands.awaited_members import has_started
from reprieve.scheduler.demands.group_rules import CONSISTENT, DEFAULT_RULES, GroupRules
from reprieve.scheduler.demands.group_tree import GroupTree
from reprieve.scheduler.ledger.assumed import Assumed, AssumedPods, Promise
from reprieve.scheduler.ledger.budget_lag import BudgetLag
from reprieve.scheduler.mirror.world import World

POD, GROUP = a_key("p"), a_key("g", DemandKind.GROUP)


def world_of(*things: KubernetesObject) -> World:
    world = World(AssumedPods(), BudgetLag())
    for thing in things:
        world.see(thing)
    return world


def found_in(world: World, key: DemandKey, rules: GroupRules = DEFAULT_RULES) -> Requester | NotYet | None:
    return requester_of(world, key, rules)


def pod_in(*things: KubernetesObject) -> WaitingPod:
    found = found_in(world_of(*things), POD)
    assert isinstance(found, WaitingPod)
    return found


def group_in(*things: KubernetesObject, rules: GroupRules = DEFAULT_RULES) -> WaitingGroup:
    found = found_in(world_of(*things), GROUP, rules)
    assert isinstance(found, WaitingGroup)
    return found


def waits(*things: KubernetesObject, key: DemandKey = GROUP) -> NotYet:
    found = found_in(world_of(*things), key)
    assert isinstance(found, NotYet)
    return found


# --- whose part a pod is -------------------------------------------------------------------------


def test_a_pod_is_part_of_its_group_where_there_are_groups() -> None:
    assert with_its_group(a_member("p", "g"), Groups()) == GROUP
    assert by_itself(a_member("p", "g"), Groups()) == POD
    assert with_its_group(a_pod("p"), Groups()) == POD


def test_the_label_is_a_link_too() -> None:
    assert with_its_group(a_pod("p", labels={"scheduling.x-k8s.io/pod-group": "g"}), Groups()) == GROUP


# --- pods ----------------------------------------------------------------------------------------


def test_a_pod_asks_for_itself() -> None:
    found = pod_in(a_pod("p", priority=7))
    assert (found.priority, found.may_preempt, found.needed, found.is_starting) == (7, True, 1, False)


@pytest.mark.parametrize("pod", [a_pod("p", on="n1"), leaving(a_pod("p")), a_pod("other")])
def test_a_pod_that_has_a_node_or_is_leaving_or_unknown_asks_for_nothing(pod: KubernetesObject) -> None:
    assert found_in(world_of(pod), POD) is None


def test_a_pod_that_counts_as_placed_asks_for_nothing() -> None:
    promises, pod = AssumedPods(), a_pod("p")
    world = World(promises, BudgetLag())
    world.see(pod)
    promises.promise(Assumed(target(pod), "n1", Promise.SENT))
    assert found_in(world, POD) is None


def test_a_gate_is_another_client_to_explain() -> None:
    assert waits(a_pod("p", schedulingGates=[{"name": "quota"}]), key=POD) == NotYet("")


def test_a_pod_may_be_told_never_to_preempt() -> None:
    assert not pod_in(a_pod("p", preemptionPolicy="Never")).may_preempt


# --- groups --------------------------------------------------------------------------------------


def test_a_group_asks_for_all_that_wait_in_the_order_of_their_names() -> None:
    found = group_in(a_group("g", 9, 1), *(a_member(name, priority=9) for name in ("b", "a", "c")))
    assert [pod.pod.metadata.name for pod in found.pods] == ["a", "b", "c"]


def test_the_more_important_come_first_where_priorities_may_differ() -> None:
    pods = [a_member("a", priority=1), a_member("b", priority=9)]
    found = group_in(a_group("g", 9, 1), *pods, rules=GroupRules(checks=CONSISTENT))
    assert [pod.pod.metadata.name for pod in found.pods] == ["b", "a"]
    assert found.priority == 9


@pytest.mark.parametrize(("running", "needed"), [(0, 3), (2, 1), (3, 1), (5, 1)])
def test_running_pods_reduce_what_is_needed_and_surplus_needs_one(running: int, needed: int) -> None:
    others = [a_member(f"r-{i}", on="n1") for i in range(running)]
    found = group_in(a_node("n1"), a_group("g", 0, 3), *others, *(a_member(f"w-{i}") for i in range(3)))
    assert (found.tree.running, found.needed) == (running, needed)


def test_a_tree_has_the_groups_inside_it() -> None:
    root, left, right = (a_group(name, 0, 2) for name in ("root", "left", "right"))
    tree = GroupTree(root, 0, children=(GroupTree(left, 2), GroupTree(right, 1)))
    assert [group.metadata.name for group in tree.groups()] == ["root", "left", "right"]


def test_a_basic_group_needs_one() -> None:
    assert group_in(a_group("g"), a_member("a"), a_member("b")).needed == 1


def test_a_pod_that_is_leaving_neither_runs_nor_waits() -> None:
    going = [leaving(a_member("a", on="n1")), leaving(a_member("b"))]
    assert "waits until 2" in waits(a_node("n1"), a_group("g", 0, 2), *going, a_member("c")).text


def test_a_group_of_which_none_waits_asks_for_nothing() -> None:
    assert found_in(world_of(a_node("n1"), a_group("g", 0, 1), a_member("a", on="n1")), GROUP) is None
    assert found_in(world_of(a_group("g", 0, 1)), GROUP) is None


def test_pods_of_other_namespaces_are_no_members() -> None:
    assert (
        found_in(world_of(a_group("g", 0, 1), a_member("a")), DemandKey(DemandKind.GROUP, "other", "g"))
        is None
    )


def test_a_member_that_never_preempts_keeps_its_group_from_it() -> None:
    pods = [a_member(name, preemptionPolicy="Never") for name in ("a", "b")]
    assert not group_in(a_group("g", 0, 2), *pods).may_preempt


def test_how_important_a_demand_is() -> None:
    world = world_of(a_pod("p", priority=7), a_group("g", 9, 3), a_member("a", priority=9))
    assert (priority_of(world, POD, DEFAULT_RULES), priority_of(world, GROUP, DEFAULT_RULES)) == (7, 9)
    assert [priority_of(world_of(), key, DEFAULT_RULES) for key in (POD, GROUP)] == [0, 0]


def test_a_group_is_complete_when_as_many_run_as_it_needs() -> None:
    gang, pods = a_group("g", 0, 2), [a_member(f"r-{i}", on="n1") for i in range(2)]
    assert not has_started(world_of(a_node("n1"), gang, pods[0], a_member("w")), gang)
    assert has_started(world_of(a_node("n1"), gang, *pods), gang)
    basic = a_group("g")
    assert not has_started(world_of(basic, a_member("w")), basic)
    assert has_started(world_of(a_node("n1"), basic, pods[0]), basic)


# --- in rows -------------------------------------------------------------------------------------


def demand(world: World, *nominated: tuple[KubernetesObject, str]) -> Demand:
    found = found_in(world, GROUP)
    assert isinstance(found, WaitingGroup)
    reserved = {target(pod): node for pod, node in nominated}
    made, _ = demand_of(found, world.snapshot(), DEFAULT_PROFILE, reserved, 0.0)
    return made


def test_pods_try_the_nodes_that_are_reserved_for_them() -> None:
    """Not those that they show, which may be out of date."""
    pods = [a_member(name) for name in ("a", "b", "c")]
    world = world_of(a_node("n1"), a_node("n2"), a_group("g", 0, 2), *pods)
    made = demand(world, (pods[0], "n2"), (pods[2], "n9"))
    rows = world.snapshot().nodes.rows
    assert made.nominated == (rows["n2"], -1, -1)
    assert (len(made.pods), made.needed) == (3, 2)


def test_members_that_run_decide_the_domain() -> None:
    zones = [a_node(f"n{i}", labels={"zone": zone}) for i, zone in enumerate("aab")]
    group = a_group("g", 0, 2, topologyKey="zone")
    runs = world_of(*zones, group, a_member("r", on="n1"), a_member("w"))
    allowed = demand(runs).allowed
    assert allowed is not None
    assert allowed.tolist() == [True, True, False]
    torn = world_of(*zones, group, a_member("r", on="n1"), a_member("s", on="n2"), a_member("w"))
    allowed = demand(torn).allowed
    assert allowed is not None
    assert not allowed.any(), "in two zones at once"
