"""What evictions cost by each criterion, and how costs are compared."""

import math
from dataclasses import replace as replace_field

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.model.objects import KubernetesObject, OwnerReference
from reprieve.model.snapshot import build
from reprieve.placement.place import Unplaceable, place, pod_demand
from reprieve.preemption.criteria import (
    AS_UPSTREAM,
    CRITERIA,
    DISTURBANCE,
    HIGHEST_PRIORITY,
    NAME,
    OTHER_GANGS_BROKEN,
    PODS,
    PODS_STOPPED,
    Combined,
    Cost,
    Criterion,
    criterion_named,
    decided_by,
    sparing_other_gangs,
)
from reprieve.preemption.policy import Question
from reprieve.preemption.search import evictable_of
from reprieve.preemption.searches import REPRIEVE

ORDER = tuple(
    CRITERIA[name] for name in ("BudgetsBroken", "HighestPriority", "PodsStopped", "WorkloadsEnded", "Pods")
)
World = list[KubernetesObject]


def cost(things: World, *victims: str) -> Cost:
    view = build([*things, a_pod("newcomer", cpu="4", priority=9)]).snapshot
    demand = pod_demand(view, view.pods.rows["default", "newcomer"])
    found = place(demand, view)
    assert isinstance(found, Unplaceable)
    question = Question(demand, view, found.survey, replace_field(REPRIEVE, disturbance=ORDER))
    units = REPRIEVE.units(view)
    evictable = evictable_of(question, units, units.size > 0, now=0)
    numbers = {int(units.of_pod[view.pods.rows["default", name]]) for name in victims}
    going = units.listed(np.array(sorted(numbers), np.int64))
    return evictable.prices.of(going, evictable.accounts.exceeded_by(going))


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
    assert cost(world, "t0") == (0, 1, 1, 0, 1), "of a gang, no pod is a workload by itself"
    assert cost(world, "t0", "t1") == (0, 1, 4, 1, 2), "the gang"


def test_of_a_gang_that_has_too_few_now_no_workload_ends() -> None:
    pods = [a_member(f"t{i}", "train", on="n1", priority=1) for i in range(2)]
    world: World = [a_node("n1"), a_group("train", 1, 3), *pods]
    assert cost(world, "t0") == (0, 1, 1, 0, 1)


def test_a_group_that_is_no_gang_is_not_broken() -> None:
    pods = [a_member(f"t{i}", "train", on="n1", priority=1) for i in range(2)]
    world: World = [a_node("n1"), a_group("train", 1), *pods]
    assert cost(world, "t0", "t1") == (0, 1, 2, 2, 2)


def test_budgets_are_exceeded_together() -> None:
    pods = [a_pod(f"w{i}", on="n1", labels={"app": "web"}) for i in range(3)]
    world: World = [a_node("n1"), a_budget("web", 1, app="web"), *pods]
    assert [cost(world, *names)[0] for names in (["w0"], ["w0", "w1"], ["w0", "w1", "w2"])] == [0, 1, 2]


def test_the_highest_priority_is_no_sum() -> None:
    """A criterion that added up would prefer one important pod to several unimportant ones."""
    world: World = [a_node("n1"), *(a_pod(f"p{i}", on="n1", priority=3 + i) for i in range(3))]
    assert [cost(world, *names)[1] for names in (["p0"], ["p0", "p1"], ["p0", "p1", "p2"])] == [3, 4, 5]


def test_no_victims_cost_nothing() -> None:
    assert cost([a_node("n1"), a_pod("p", on="n1")]) == (0, -math.inf, 0, 0, 0)


# --- costs ---------------------------------------------------------------------------------------


def test_later_criteria_are_not_worked_out_where_an_earlier_one_decides() -> None:
    asked: list[str] = []

    def costing(value: float) -> Cost:
        def of(criterion: Criterion) -> float:
            asked.append(criterion.name)
            return value

        return Cost((PODS_STOPPED, HIGHEST_PRIORITY), of)

    one, two = costing(1), costing(2)
    assert one < two
    assert not two < one
    assert asked == ["PodsStopped", "PodsStopped"]


@pytest.mark.parametrize(
    ("least", "is_above"),
    [((1, 5), True), ((2, 3), False), ((2, 2), True), ((2,), True), ((3,), False), ((), True)],
)
def test_a_cost_is_above_a_bound_or_the_bound_says_too_little(
    least: tuple[float, ...], is_above: bool
) -> None:
    assert Cost((PODS_STOPPED, HIGHEST_PRIORITY), lambda _: 0, [2, 3]).is_above(least) == is_above


def test_the_first_criterion_in_which_costs_differ_decides() -> None:
    order = (PODS_STOPPED, HIGHEST_PRIORITY)
    one, two, three = (Cost(order, lambda _: 0, known) for known in ([1, 2], [1, 3], [2, 0]))
    assert decided_by(one, two) is HIGHEST_PRIORITY
    assert decided_by(one, three) is PODS_STOPPED
    assert decided_by(one, one) is NAME


# --- the registry --------------------------------------------------------------------------------


def test_lists_name_criteria_of_the_registry_once() -> None:
    for order in (DISTURBANCE, AS_UPSTREAM):
        assert len({criterion.name for criterion in order}) == len(order)
        assert all(CRITERIA[criterion.name] is criterion for criterion in order)


def test_other_gangs_come_right_after_the_priority() -> None:
    names = [criterion.name for criterion in sparing_other_gangs(DISTURBANCE)]
    assert names[:4] == ["BudgetsBroken", "HighestPriority", "OtherGangsBroken", "PodsStopped"]
    assert [criterion.name for criterion in sparing_other_gangs((PODS,))] == ["OtherGangsBroken", "Pods"]


def test_what_units_cost_alone_adds_up_or_the_highest_counts() -> None:
    """Only these are no sums: a solver and the bounds treat them in another way."""
    found = {name for name, criterion in CRITERIA.items() if criterion.combined is Combined.HIGHEST}
    assert found == {"HighestPriority", "LongestGrace"}


def test_each_criterion_says_what_a_better_plan_does() -> None:
    every = (*CRITERIA.values(), OTHER_GANGS_BROKEN)
    assert [criterion.name for criterion in every if not criterion.better] == []
    assert [criterion_named(criterion.name) for criterion in every] == [*every]
    assert criterion_named("GangsBroken") is None, "older versions had it"
