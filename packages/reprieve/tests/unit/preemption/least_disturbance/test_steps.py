"""What a first plan costs, in steps that are counted: neither equal units nor important ones add to it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.scheduler.crowds import a_group, a_member, only_decision
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.model.objects import KubernetesObject
from reprieve.preemption.least_disturbance import patterns, program
from reprieve.preemption.least_disturbance.cascade import Cascades, _Capacity
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE

LEAST = replace(REPRIEVE, search=LEAST_DISTURBANCE, patience=0.0)  # the first plan, and no solver
GANG: list[KubernetesObject] = [
    a_group("g", 9, 2),
    *(a_member(f"g-{i}", cpu="4", priority=9) for i in range(2)),
]


def world(low: int, high: int) -> list[KubernetesObject]:
    """So many full nodes with two unimportant pods each, and so many with important ones."""
    priorities = {f"n{i:03}": 1 if i < low else 5 for i in range(low + high)}
    pods = [
        a_pod(f"{node}-{i}", cpu="2", on=node, priority=priority)
        for node, priority in priorities.items()
        for i in range(2)
    ]
    return [*map(a_node, priorities), *pods, *GANG]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()

    def count(owner: Any, name: str, size: Callable[..., int] = lambda *_: 1) -> None:
        whole = getattr(owner, name)

        def step(*args: Any) -> Any:
            counted[name] += size(*args)
            return whole(*args)

        monkeypatch.setattr(owner, name, step)

    count(_Capacity, "_seats")
    count(_Capacity, "_nodes")
    count(program, "patterns_of")
    count(patterns, "_sets")
    count(Cascades, "of", lambda _self, numbers: len(numbers))
    return counted


def test_equal_units_are_looked_at_once(steps: Counter[str]) -> None:
    only_decision(*world(4, 4), policy=LEAST)
    few = dict(steps)
    steps.clear()
    only_decision(*world(40, 40), policy=LEAST)
    assert {name: n for name, n in steps.items() if name != "of"} == {
        name: n for name, n in few.items() if name != "of"
    }
    assert not steps["patterns_of"], "the bound shows that the first plan is the best, and no program is made"


def test_units_above_a_plan_that_breaks_no_budget_are_not_priced(steps: Counter[str]) -> None:
    decision = only_decision(*world(3, 40), policy=LEAST)
    assert len(decision.victims) == 4
    assert steps["of"] == 6
