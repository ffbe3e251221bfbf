"""A plan that is improved beside the loop is the one that the decision itself would have found."""

from dataclasses import replace
from random import Random

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node
from tests.unit.scheduler.stage import Stage

from reprieve.model.events import Seen, Synced
from reprieve.model.objects import KubernetesObject
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings


def crowded(rng: Random) -> list[KubernetesObject]:
    """Groups that go whole fill nodes of 4 cpu at random, and a gang comes."""
    left = {f"n{i}": 4 for i in range(rng.choice((3, 4)))}
    things: list[KubernetesObject] = [a_node(name) for name in left]
    for group in (f"w{i}" for i in range(rng.randint(2, 5))):
        priority = rng.choice((1, 1, 5))
        things.append(a_group(group, priority, 1, disruptedWhole=True))
        for i in range(rng.randint(1, 3)):
            if not (nodes := [node for node, cpu in left.items() if cpu]):
                break
            node = rng.choice(nodes)
            cpu = rng.randint(1, left[node])
            left[node] -= cpu
            things.append(a_member(f"{group}-{i}", group, cpu=str(cpu), on=node, priority=priority))
    size, cpu = rng.choice((1, 2, 2, 3)), rng.choice((2, 3, 4))
    gang = [a_member(f"g-{i}", "g", cpu=str(cpu), priority=9) for i in range(size)]
    return [*things, a_group("g", 9, size), *gang]


def last_decision(things: list[KubernetesObject], patience: float | None) -> tuple[Decision, int]:
    """With the number of questions that a solver was asked."""
    policy = replace(REPRIEVE, search=LEAST_DISTURBANCE, patience=patience)
    stage = Stage(Scheduler(Settings(policies={SCHEDULER_NAME: policy})))
    stage.happens(*map(Seen, things), Synced())
    asked = len(stage.asked)
    return stage.improve().decisions[-1], asked


@pytest.mark.parametrize("seed", range(60))
def test_the_plan_is_the_same(seed: int) -> None:
    things = crowded(Random(seed))
    (beside, _), (within, none) = (last_decision(things, patience) for patience in (2.0, None))
    assert none == 0
    assert (beside.outcome, beside.victims, beside.places) == (within.outcome, within.victims, within.places)
    prices = beside.preemption, within.preemption
    assert [price and price.quality for price in prices[:1]] == [
        price and price.quality for price in prices[1:]
    ]


def test_a_solver_is_often_asked() -> None:
    assert sum(last_decision(crowded(Random(seed)), 2.0)[1] for seed in range(60)) > 15
