"""What a search does not do, however large the cluster is: counted in calls, not in time."""

from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.model.columns import Ints
from reprieve.placement import place as placing
from reprieve.placement.domains import place_together
from reprieve.placement.place import Unplaceable
from reprieve.preemption import node_pruning, reprieve, search
from reprieve.preemption.policy import Question
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import Unit, Units
from tests.scenarios.making import demand_of, snapshot_of
from tests.scenarios.reading import BudgetLine, DemandLine, Expected, PodLine, Scenario

SIZES = (21, 42)


class Counted:
    def __init__(self, patch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.calls, original = 0, getattr(module, name)

        def counting(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return original(*args, **kwargs)

        patch.setattr(module, name, counting)


def full(nodes: int, demand: DemandLine, *, guarded: bool = False) -> Question:
    """Two pods on every node, which leave no room."""
    scenario = Scenario(
        name="",
        why="",
        nodes={f"n{i:02}": "cpu 4" for i in range(nodes)},
        pods={
            f"p-{i:02}-{k}": PodLine(on=f"n{i:02}", cpu=2, priority=1, labels={"app": "low"})
            for i in range(nodes)
            for k in "ab"
        },
        budgets={"low": BudgetLine(selects={"app": "low"}, allowed=1)} if guarded else {},
        demand=demand,
        expect=Expected(),
    )
    view = snapshot_of(scenario)
    wanted = demand_of(scenario, view)
    found = place_together(wanted, view)
    assert isinstance(found, Unplaceable)
    return Question(wanted, view, found.survey, REPRIEVE)


def calls(module: Any, name: str, questions: Iterator[Question]) -> list[int]:
    counts = []
    for question in questions:
        with pytest.MonkeyPatch.context() as patch:
            counted = Counted(patch, module, name)
            assert isinstance(candidates(question, now=0), list)
            counts.append(counted.calls)
    return counts


def test_no_plan_for_a_pod_is_made_step_by_step_where_budgets_are_exceeded() -> None:
    demand = DemandLine(cpu=4, priority=9)
    assert calls(search, "plan_in", (full(n, demand, guarded=True) for n in SIZES)) == [0, 0]


def test_reprieving_surveys_no_node_where_the_demand_keeps_apart() -> None:
    demand = DemandLine(cpu=4, priority=9, gang=3, avoids={"app": "low"})
    assert calls(reprieve, "survey", (full(n, demand) for n in SIZES)) == [0, 0]


def test_equal_members_share_a_survey() -> None:
    """One for each placement that is tried, and none for each member."""
    demands = (DemandLine(cpu=4, priority=9, gang=members) for members in (3, 6, 12))
    few, more, most = calls(placing, "survey", (full(21, demand) for demand in demands))
    assert few == more == most


def test_a_hopeless_gang_lists_no_units() -> None:
    question = full(21, DemandLine(cpu=5, priority=9, gang=3))
    with pytest.MonkeyPatch.context() as patch:
        listed = Counted(patch, Units, "listed")
        assert not isinstance(candidates(question, now=0), list)
    assert not listed.calls


def test_for_a_hopeless_pod_no_bounds_are_worked_out() -> None:
    question = full(21, DemandLine(cpu=5, priority=9))
    with pytest.MonkeyPatch.context() as patch:
        bounds = Counted(patch, node_pruning, "roughly_bounded")
        assert not isinstance(candidates(question, now=0), list)
    assert not bounds.calls


def test_a_gang_lists_no_units_where_it_is_not_placed() -> None:
    """Neither as victims that are tried, nor as units that are spared, until they are read."""
    listed = [units_made(full(nodes, DemandLine(cpu=4, priority=9, gang=3))) for nodes in (60, 120)]
    assert listed == [6, 6]


def units_made(question: Question) -> int:
    units: set[int] = set()
    with pytest.MonkeyPatch.context() as patch:
        made = Units.made

        def counting(self: Units, numbers: Ints) -> list[Unit]:
            units.update(numbers.tolist())
            return made(self, numbers)

        patch.setattr(Units, "made", counting)
        plans = candidates(question, now=0)
        assert isinstance(plans, list)
        assert len(plans[0].spared) == len(question.view.pods) - 3 - 6
    return len(units)
