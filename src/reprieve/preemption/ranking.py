"""Which plan wins: an ordered list of criteria. The list is the documentation.

A criterion measures a plan. Where it can, it also gives a lower bound for all candidate nodes at once, from
columns that are known before any plan is made, so that nodes whose plan cannot win are pruned. The order is
configurable: a criterion must not know which others there are, nor how the columns came about.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.plan import Plan

# Kubernetes counts every victim as at least one, also those with a negative priority.
OFFSET = 1 << 31

Rank = tuple[float | str, ...]  # what each criterion measures, in their order; the smallest wins


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Nodes, and what is known of the victims of a plan on each of them before the plan is made.

    All ``certain`` units are victims, further ``possible`` ones may be, and at least ``fewest`` are.
    """

    nodes: Ints  # rows
    priority: Ints  # [slot, node] of the unit in this slot, the most important first
    size: Ints  # [slot, node] how many pods the unit has, there or elsewhere
    start: Floats  # [slot, node]
    possible: Mask  # [slot, node]
    certain: Mask  # [slot, node]
    fewest: Ints  # [node] units
    ceiling: Floats  # [node] a victim has this priority or a higher one; minus infinity: unknown
    within_budgets: Ints  # [node] no more units than this can go without exceeding a budget
    cheaper: Ints  # [slot, node] how many pods of its group cost less than the unit, see ``MemberOrder``
    cheaper_to_delete: Ints  # [slot, node]
    starved: Ints  # [node] so many gangs have too few pods left, or more

    @property
    def is_exact(self) -> bool:
        """Whether the victims are known: then what they cost together is no less than any part of them."""
        return self.possible is self.certain


Measure = Callable[[Plan], float | str]
LowerBound = Callable[[Candidates], Ints | Floats]  # [node]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One way in which plans differ. Less is better."""

    name: str  # in the configuration
    code: str  # in decisions
    text: str
    measure: Measure
    at_least: LowerBound | None = None  # no plan on a node measures less; None: that is not known beforehand
    lost_text: str = ""  # for a plan that loses by it; empty: ``text``


# --- what a plan costs, and what it costs at least -----------------------------------------------


def budgets_broken(plan: Plan) -> int:
    return plan.broken


def fewest_budgets_broken(candidates: Candidates) -> Ints:
    broken: Ints = np.maximum(0, candidates.fewest - candidates.within_budgets)
    return broken


def highest_priority(plan: Plan) -> float:
    return max([unit.priority for unit in plan.victims], default=-math.inf)


def _lowest_highest_priority(candidates: Candidates) -> Floats:
    certain = np.where(candidates.certain, candidates.priority, -np.inf)
    highest: Floats = np.maximum.reduce(certain, axis=0, initial=-np.inf)
    return highest if candidates.is_exact else np.maximum(candidates.ceiling, highest)


def sum_of_priorities(plan: Plan) -> int:
    return sum([(unit.priority + OFFSET) * len(unit.pods) for unit in plan.victims])


def _smallest_sum_of_priorities(candidates: Candidates) -> Ints:
    """That of the certain victims, or as if the fewest were single pods of the lowest priority there."""
    weights = candidates.priority + OFFSET
    certain: Ints = np.add.reduce(weights * candidates.size * candidates.certain, axis=0)
    if candidates.is_exact:
        return certain
    lightest = np.where(candidates.possible, weights, 2 * OFFSET).min(axis=0, initial=2 * OFFSET)
    smallest: Ints = np.maximum(certain, candidates.fewest * lightest)
    return smallest


def pods_disturbed(plan: Plan) -> int:
    return sum([len(unit.pods) for unit in plan.victims])


def _fewest_pods(candidates: Candidates) -> Ints:
    certain: Ints = np.add.reduce(candidates.size * candidates.certain, axis=0)
    return certain if candidates.is_exact else np.maximum(certain, candidates.fewest)


def gangs_starved(plan: Plan) -> int:
    return plan.starved


def _fewest_gangs(candidates: Candidates) -> Ints:
    return candidates.starved


def disruption_cost(plan: Plan) -> int:
    """Of the victim that costs its group most: how many pods of the group that run cost less."""
    return max([unit.cheaper for unit in plan.victims], default=0)


def _lowest_disruption_cost(candidates: Candidates) -> Ints:
    lowest: Ints = (candidates.cheaper * candidates.certain).max(axis=0, initial=0)
    return lowest


def deletion_cost(plan: Plan) -> int:
    return max([unit.cheaper_to_delete for unit in plan.victims], default=0)


def _lowest_deletion_cost(candidates: Candidates) -> Ints:
    lowest: Ints = (candidates.cheaper_to_delete * candidates.certain).max(axis=0, initial=0)
    return lowest


def longest_run(plan: Plan) -> float:
    """Of the most important victims, the one that has run longest should have run as short as possible."""
    highest = highest_priority(plan)
    return -min([unit.start for unit in plan.victims if unit.priority == highest], default=math.inf)


def _shortest_run(candidates: Candidates) -> Floats:
    """Certain victims of the highest priority there count in any plan. If there are none, the victim that
    started last may decide; a plan without victims measures less than any other.
    """
    possible = np.where(candidates.possible, candidates.priority, -np.inf)
    highest = np.maximum.reduce(possible, axis=0, initial=-np.inf)
    decisive = candidates.certain & (candidates.priority == highest)
    earliest: Floats = np.minimum.reduce(np.where(decisive, candidates.start, np.inf), axis=0, initial=np.inf)
    if candidates.is_exact:
        return -earliest
    latest = np.where(candidates.possible, candidates.start, -np.inf).max(axis=0, initial=-np.inf)
    shortest: Floats = np.maximum(-earliest, np.where(candidates.fewest > 0, -latest, -np.inf))
    return shortest


def name_of_domain(plan: Plan) -> str:
    return plan.domain


# --- the order -----------------------------------------------------------------------------------


RANKING: tuple[Criterion, ...] = (
    Criterion(
        "BudgetsBroken",
        "FewestBudgetsBroken",
        "fewest disruption budgets broken",
        budgets_broken,
        fewest_budgets_broken,
    ),
    Criterion(
        "HighestPriority",
        "LowestHighestPriority",
        "lowest highest victim priority",
        highest_priority,
        _lowest_highest_priority,
    ),
    Criterion(
        "GangsBroken",
        "FewestGangsStarved",
        "fewest gangs left with too few pods",
        gangs_starved,
        _fewest_gangs,
    ),
    Criterion(
        "DisruptionCost",
        "LowestDisruptionCost",
        "victims that cost their groups least",
        disruption_cost,
        _lowest_disruption_cost,
    ),
    Criterion(
        "PrioritySum",
        "SmallestSumOfPriorities",
        "smallest sum of victim priorities",
        sum_of_priorities,
        _smallest_sum_of_priorities,
    ),
    Criterion("Pods", "FewestPods", "fewest pods disturbed", pods_disturbed, _fewest_pods),
    Criterion(
        "DeletionCost",
        "LowestDeletionCost",
        "victims with the lowest deletion cost in their groups",
        deletion_cost,
        _lowest_deletion_cost,
    ),
    Criterion(
        "LatestStart", "LatestStart", "most important victims that started latest", longest_run, _shortest_run
    ),
)
CRITERIA: Mapping[str, Criterion] = {criterion.name: criterion for criterion in RANKING}

# Always the last, so that plans never tie.
NAME = Criterion(
    "Name",
    "Name",
    "all else is equal, and its name comes first",
    name_of_domain,
    lost_text="all else is equal, and its name comes later",
)


def rank(plan: Plan, ranking: Sequence[Criterion]) -> Rank:
    return (*(criterion.measure(plan) for criterion in ranking), NAME.measure(plan))


def decided_by(winner: Plan, losers: Iterable[Plan], ranking: Sequence[Criterion]) -> list[Criterion]:
    """For each of the losers, the first criterion by which the winner is better."""
    measured = [*zip((*ranking, NAME), rank(winner, ranking), strict=True)]
    return [next(c for c, least in measured if c.measure(loser) != least) for loser in losers]
