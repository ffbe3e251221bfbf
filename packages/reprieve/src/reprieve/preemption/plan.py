"""What a search finds: a plan with a placement and its price, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

from reprieve.model.events import Change
from reprieve.placement.place import Placement
from reprieve.preemption.criteria import NO_COST, Cost, Criterion
from reprieve.preemption.units import Unit


@dataclass(frozen=True, slots=True)
class Quality:
    """What a plan costs by each criterion of disturbance, and how good that is known to be."""

    cost: tuple[tuple[str, float], ...]
    bound: tuple[tuple[str, float], ...]  # the first criteria, as far as known: no plan is smaller than these
    proved: bool  # no plan is better
    effort: int  # work units that were spent on it
    ceiling_cost: tuple[tuple[str, float], ...] = ()  # of the plan that PriorityCeiling makes

    @property
    def gap(self) -> tuple[str, float] | None:
        """The first criterion that is not known to be at its least, and how far it may be from that.

        None if there is none, or if no bound is known for it.
        """
        pairs = zip(self.cost, self.bound, strict=False)
        gaps = ((name, value - least) for (name, value), (_, least) in pairs if value > least)
        gap = next(gaps, None)
        return gap if gap is not None and isfinite(gap[1]) else None

    @property
    def saved(self) -> tuple[tuple[str, float], ...]:
        """How much less it costs than the plan of PriorityCeiling, where both are numbers."""
        pairs = zip(self.cost, self.ceiling_cost, strict=False)
        found = ((name, usual - value) for (name, value), (_, usual) in pairs)
        return tuple((name, less) for name, less in found if isfinite(less))


@dataclass(frozen=True, slots=True)
class Onward:
    """Where the victims of a plan would go, all together: a number of pods for each."""

    fit: int  # in room that is free
    preempt: int  # only where pods of lower priority run
    nowhere: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the demand is placed, which units are evicted, and how far that exceeds disruption budgets."""

    domain: str  # a node, a topology domain, or the cluster
    placement: Placement
    victims: tuple[Unit, ...]  # the most important first
    spared: Sequence[Unit]  # units that could have been evicted there and need not be
    broken: int  # pods beyond what budgets allow
    ceiling: int | None = None  # no unit above this priority had to be considered
    pods: tuple[int, ...] = ()  # the rows that the placement is for
    gangs_broken: int = 0  # gangs left with fewer pods than they need, of those that count
    cost: Cost = NO_COST  # by the criteria of the question
    quality: Quality | None = None  # of the best plan

    def costs_by(self, criterion: Criterion) -> float | None:
        """None: it is not compared by this one."""
        return self.cost[self.cost.order.index(criterion)] if criterion in self.cost.order else None

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Pods that get a node, and which (rows), in an order in which each may be there."""
        return tuple((self.pods[i], self.placement.nodes[i]) for i in self.placement.turns)


class Why(StrEnum):
    """Why there is no plan."""

    OFF = "PreemptionOff"
    FORBIDDEN = "Forbidden"
    IN_VAIN = "EvictedInVain"
    NEVER_PREEMPTS = "NeverPreempts"
    GROUP_DEGRADED = "GroupDegraded"
    NOBODY_ELIGIBLE = "NobodyEligible"
    NO_HELP = "NoHelp"
    PROTECTED = "Protected"
    BUDGETS = "Budgets"
    TOO_SLOW = "TooSlow"


@dataclass(frozen=True, slots=True)
class NoPlan:
    why: Why
    retry_at: float | None = None  # when more units may be preempted than now, if that could help
    forbidden: Plan | None = None  # the best plan if budgets, or the time it takes, did not matter
    held: tuple[int, ...] = ()  # pods (rows) in reach that nothing but time protects
    ended_by: frozenset[Change] = frozenset()  # the changes that may end what protects them


def earliest(refusals: Sequence[NoPlan]) -> NoPlan:
    """The first of them, with the earliest moment at which any of them may become a plan."""
    moments = [refusal.retry_at for refusal in refusals if refusal.retry_at is not None]
    held = {pod for refusal in refusals for pod in refusal.held}
    ended_by = frozenset[Change]().union(*(refusal.ended_by for refusal in refusals))
    first = min(moments, default=None)
    return replace(refusals[0], retry_at=first, held=tuple(sorted(held)), ended_by=ended_by)
