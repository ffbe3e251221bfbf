"""What evictions cost, by each criterion."""

import numpy as np
from msgspec.structs import replace
from reprieve.preemption.least_disturbance.costs import Cost, Disturbance, costs_of

from reprieve.model.objects import KubernetesObject, OwnerReference
from reprieve.model.snapshot_builder import build
from reprieve.preemption.budgets import accounts
from reprieve.preemption.units import pods_and_groups
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod

ORDER = (
    Disturbance.BUDGETS_BROKEN,
    Disturbance.HIGHEST_PRIORITY,
    Disturbance.PODS_STOPPED,
    Disturbance.WORKLOADS_ENDED,
    Disturbance.PODS,
)


World = list[KubernetesObject]


def cost(things: World, *victims: str) -> Cost:
    view = build(things).snapshot
    units = pods_and_groups(view)
    allowed = units.size > 0
    numbers = {int(units.of_pod[view.pods.rows["default", name]]) for name in victims}
    costs = costs_of(units, allowed, accounts(view), ORDER)
    return costs.of(units.listed(np.array(sorted(numbers), np.int64)))


def test_a_pod_without_a_controller_is_a_workload() -> None:
    owner = OwnerReference(kind="ReplicaSet", name="rs", uid="rs", controller=True)
    world: World = [a_node("n1"), a_pod("alone", on="n1", priority=3)]
    assert cost(world, "alone") == (0, 3, 1, 1, 1)
    owned = a_pod("owned", on="n1")
    owned = replace(owned, metadata=replace(owned.metadata, owner_references=(owner,)))
    assert cost([*world, owned], "owned") == (0, 0, 1, 0, 1)


def test_a_group_that_goes_whole_is_one_workload() -> None:
    pods = [a_member(f"t{i}", "train", on="n1", priority=1) for i in range(3)]
    world: World = [a_node("n1"), a_group("train", 1, 2, disruptedWhole=True), *pods]
    assert cost(world, "t0") == (0, 1, 3, 1, 3)


def test_members_of_a_gang_with_too_few_pods_run_for_nothing() -> None:
    pods = [a_member(f"t{i}", "train", on="n1", priority=1) for i in range(4)]
    world: World = [a_node("n1"), a_group("train", 1, 3), *pods]
    assert cost(world, "t0") == (0, 1, 1, 1, 1)
    assert cost(world, "t0", "t1") == (0, 1, 4, 3, 2)  # two pods that nothing replaces, and the gang


def test_budgets_are_exceeded_together() -> None:
    pods = [a_pod(f"w{i}", on="n1", labels={"app": "web"}) for i in range(3)]
    world: World = [a_node("n1"), a_budget("web", 1, app="web"), *pods]
    assert [cost(world, *names)[0] for names in (["w0"], ["w0", "w1"], ["w0", "w1", "w2"])] == [0, 1, 2]


def test_no_victims_cost_nothing() -> None:
    assert cost([a_node("n1"), a_pod("p", on="n1")]) == (0, float("-inf"), 0, 0, 0)
