"""Which plan wins: an ordered list of criteria. The list is the documentation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reprieve.preemption.plan import Plan

# Kubernetes counts every victim as at least one, also those with a negative priority.
OFFSET = 1 << 31


@dataclass(frozen=True, slots=True)
class Criterion:
    """Less is better."""

    name: str
    text: str
    measure: Callable[[Plan], float | str]


def budgets_broken(plan: Plan) -> int:
    return plan.broken


def highest_priority(plan: Plan) -> float:
    return max((unit.priority for unit in plan.victims), default=-math.inf)


def sum_of_priorities(plan: Plan) -> int:
    return sum((unit.priority + OFFSET) * len(unit.pods) for unit in plan.victims)


def pods_disturbed(plan: Plan) -> int:
    return sum(len(unit.pods) for unit in plan.victims)


def gangs_starved(plan: Plan) -> int:
    return plan.starved


def longest_run(plan: Plan) -> float:
    """Of the most important victims, the one that has run longest should have run as short as possible."""
    highest = highest_priority(plan)
    return -min((unit.start for unit in plan.victims if unit.priority == highest), default=math.inf)


def name_of_domain(plan: Plan) -> str:
    return plan.domain


RANKING: tuple[Criterion, ...] = (
    Criterion("FewestBudgetsBroken", "fewest disruption budgets broken", budgets_broken),
    Criterion("LowestHighestPriority", "lowest highest victim priority", highest_priority),
    Criterion("SmallestSumOfPriorities", "smallest sum of victim priorities", sum_of_priorities),
    Criterion("FewestPods", "fewest pods disturbed", pods_disturbed),
    Criterion("FewestGangsStarved", "fewest gangs left with too few pods", gangs_starved),
    Criterion("LatestStart", "most important victims that started latest", longest_run),
    Criterion("Name", "first by name", name_of_domain),
)


def rank(plan: Plan, ranking: Sequence[Criterion] = RANKING) -> tuple[float | str, ...]:
    return tuple(criterion.measure(plan) for criterion in ranking)


def decided_by(winner: Plan, loser: Plan, ranking: Sequence[Criterion] = RANKING) -> Criterion:
    """The first criterion by which the winner is better."""
    return next(c for c in ranking if c.measure(winner) != c.measure(loser))
