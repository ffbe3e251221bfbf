"""Directed cases of pruning; that it changes no answer in general is a property."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_line

from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from reprieve.preemption.criteria import CRITERIA
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Policy, Question, Shortcuts
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from tests.reference.searching import best_plan
from tests.scenarios.making import demand_of, snapshot_of
from tests.scenarios.reading import BudgetLine, DemandLine, Expected, PodLine, Scenario

PODS_FIRST = (CRITERIA["Pods"], CRITERIA["HighestPriority"])
BUDGETS_LAST = (CRITERIA["HighestPriority"], CRITERIA["Pods"], CRITERIA["BudgetsBroken"])


def question(nodes: int, policy: Policy) -> Question:
    """On the last node one pod of priority 5 is in the way, on each of the others two of priority 1."""
    last = nodes - 1
    pods = {f"cheap-{i}-{k}": PodLine(on=f"n{i:02}", cpu=2, priority=1) for i in range(last) for k in "ab"}
    pods["dear"] = PodLine(on=f"n{last:02}", cpu=4, priority=5)
    return asked({f"n{i:02}": "cpu 4" for i in range(nodes)}, pods, {}, policy)


def asked(
    nodes: dict[str, str],
    pods: dict[str, PodLine],
    budgets: dict[str, BudgetLine],
    policy: Policy,
    demand: DemandLine = DemandLine(cpu=4, priority=9),  # noqa: B008  frozen
) -> Question:
    scenario = Scenario(
        name="",
        why="",
        nodes=dict(nodes),
        pods=pods,
        budgets=budgets,
        demand=demand,
        expect=Expected(),
    )
    view = snapshot_of(scenario)
    needed = demand_of(scenario, view)
    return Question(needed, view, survey(Ask(view, needed.pods[0])), policy=policy)


def best(question: Question) -> Plan:
    found = best_plan(question, now=0)
    assert isinstance(found, Plan)
    return found


@pytest.mark.parametrize("nodes", [20, 21, 45])
def test_the_number_of_nodes_does_not_change_which_plan_wins(nodes: int) -> None:
    """More than twenty nodes are pruned, by the criteria that are configured and in their order."""
    by_default = best(question(nodes, REPRIEVE))
    assert (by_default.domain, len(by_default.victims)) == ("n00", 2)
    by_pods = best(question(nodes, replace(REPRIEVE, disturbance=PODS_FIRST)))
    assert (by_pods.domain, len(by_pods.victims)) == (f"n{nodes - 1:02}", 1)


@pytest.mark.parametrize("shortcuts", [Shortcuts(), Shortcuts(nodes=1)])
def test_a_plan_within_budgets_is_found_behind_cheaper_ones_that_break_one(shortcuts: Shortcuts) -> None:
    """Where budgets must hold and rank last, the plans that break one are no reason to stop."""
    nodes = {f"n{i}": "cpu 4" for i in range(5)}
    guarded = PodLine(cpu=2, priority=1, labels={"app": "db"})
    pods = {f"db-{i}-{k}": replace_line(guarded, on=f"n{i}") for i in range(4) for k in "ab"}
    pods["free"] = PodLine(on="n4", cpu=4, priority=5)
    budgets = {"db": BudgetLine(selects={"app": "db"}, allowed=1)}
    policy = replace(REPRIEVE, disturbance=BUDGETS_LAST, breaks_no_budget=True)
    assert best(replace(asked(nodes, pods, budgets, policy), shortcuts=shortcuts)).domain == "n4"


def test_a_bound_after_a_criterion_without_one_prunes_nothing() -> None:
    """By `Pods` alone n00 could be left out, but a criterion before it may decide otherwise."""
    first, second = replace(CRITERIA["LatestStart"], bound=None), CRITERIA["Pods"]
    asked_for = question(30, replace(REPRIEVE, disturbance=(first, second)))
    plans = candidates(replace(asked_for, most=1), now=0)
    assert isinstance(plans, list)
    assert len(plans) == 30


def test_pods_that_a_preemptor_avoids_are_victims_though_there_is_room_beside_them() -> None:
    nodes = {f"n{i}": "cpu 4" for i in range(4)}
    pods = {f"db-{i}": PodLine(on=f"n{i}", cpu=1, priority=i, labels={"app": "db"}) for i in range(4)}
    pods |= {f"web-{i}": PodLine(on=f"n{i}", cpu=2, priority=0) for i in range(4)}
    demand = DemandLine(cpu=2, priority=9, avoids={"app": "db"})
    question = asked(nodes, pods, {}, REPRIEVE, demand)
    for shortcuts in (Shortcuts(), Shortcuts(1, 1, 1)):
        plans = candidates(replace(question, shortcuts=shortcuts), now=0)
        assert isinstance(plans, list)
        victims = [[unit.name for unit in plan.victims] for plan in plans]
        assert victims == [[f"Pod/default/db-{i}"] for i in range(4)]
