"""What does a plan cost? An ordered list of criteria; every search, view and report reads the same one.

A criterion is one value: what the eviction of a unit costs alone, how that adds up, what only all victims
together cost, and its words. From these follow what a plan costs, what no plan on a node is below, and the
prices that a solver is handed.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, overload

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.units import Unit, Units

# Kubernetes counts every victim as at least one, also those with a negative priority.
OFFSET = 1 << 31


class Combined(Enum):
    """How what units cost alone makes up what a plan costs."""

    SUM = auto()
    HIGHEST = auto()
    NOT = auto()  # only all victims together have a cost


class UnitPrices(Protocol):
    """What is known of units when a criterion is asked about some of them.

    numbers  of any shape, as [unit] or [slot, node]: the answer has the same
    """

    @property
    def units(self) -> Units: ...
    def ended(self, numbers: Ints) -> Ints: ...
    def cascade(self, numbers: Ints) -> Ints: ...
    @property
    def least_cascade(self) -> int: ...
    def lost_work(self, numbers: Ints) -> Ints: ...
    def grace(self, numbers: Ints) -> Floats: ...


class Victims(Protocol):
    """All victims of a plan."""

    @property
    def units(self) -> Sequence[Unit]: ...
    @property
    def beyond_budgets(self) -> int: ...
    @property
    def idle(self) -> int:
        """Pods that run on for nothing: their groups, or groups around them, have too little left."""

    @property
    def groups_broken(self) -> int:
        """Groups that are left with too little, and are not evicted whole."""

    @property
    def other_gangs_broken(self) -> int:
        """Gangs that are left with too few pods, if the demand should leave them complete."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Nodes, and what is known of the victims of a plan on each of them before the plan is made.

    All ``certain`` units are victims, further ``possible`` ones may be, and at least ``fewest`` are.
    """

    nodes: Ints  # [node] its row in the snapshot
    priority: Ints  # [slot, node] of the unit in this slot
    start: Floats  # [slot, node] Unix time
    possible: Mask  # [slot, node]
    certain: Mask  # [slot, node]
    fewest: Ints  # [node] units
    ceiling: Floats  # [node] a victim has this priority or a higher one; minus infinity: unknown
    within_budgets: Ints  # [node] no more units than this can go without exceeding a budget
    idle: Ints  # [node] pods that run on for nothing, or fewer
    groups_broken: Ints  # [node] groups that are left with too little, or fewer
    # [slot, node] what the unit costs alone, or less; where the victims are known, others cost nothing
    alone: "Callable[[Criterion], Ints | Floats]"
    has_one_slot: bool = False  # which stands for all units there; none of them is certain

    @property
    def is_exact(self) -> bool:
        """Whether the victims are known: then what they cost together is no less than any part of them."""
        return self.possible is self.certain


OfUnits = Callable[[UnitPrices, Ints], Ints | Floats]
OfVictims = Callable[[Victims], float]
LowerBound = Callable[[Candidates], Ints | Floats]  # [node]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One way in which plans differ. Less is better."""

    name: str  # in the configuration
    code: str  # in decisions
    text: str
    combined: Combined = Combined.NOT
    of_units: OfUnits | None = None  # what each costs alone
    # What a pod adds that goes beyond a budget, a pod that runs on for nothing, a group left with too little.
    budgets: int = 0
    idle: int = 0
    ended: int = 0
    of_victims: OfVictims | None = None  # what else all of them together cost
    bound: LowerBound | None = None  # no plan on a node costs less, whatever units cost alone
    least_alone: Callable[[UnitPrices], int] | None = None  # a quick bound, where units are dear to price
    lost_text: str = ""  # for a plan that loses by it; empty: ``text``
    better: str = ""  # what a better plan does, as in "no plan stops fewer pods"
    has_plain_number: bool = True  # whether people can make sense of what a plan costs by it

    @property
    def measures_plans(self) -> bool:
        """Whether only finished plans can be compared by it."""
        return self.of_victims is not None

    def of(self, victims: Victims, numbers: Ints, prices: UnitPrices) -> float:
        """What a plan costs. ``numbers``: of the victims."""
        together: float = self.of_victims(victims) if self.of_victims is not None else 0
        if self.budgets:
            together += self.budgets * victims.beyond_budgets
        if self.idle:
            together += self.idle * victims.idle
        if self.ended:
            together += self.ended * victims.groups_broken
        if self.of_units is None:
            return together
        alone = self.of_units(prices, numbers)
        if self.combined is Combined.HIGHEST:
            return float(alone.max()) if len(alone) else -math.inf
        return int(alone.sum()) + together

    def at_least(self, candidates: Candidates) -> Ints | Floats:
        """[node] no plan there costs less; what plans cost, where the victims are known."""
        if self.combined is Combined.HIGHEST:
            if candidates.has_one_slot and self.bound is not None:
                return self.bound(candidates)
            certain = np.where(candidates.certain, candidates.alone(self), -np.inf)
            highest: Floats = np.maximum.reduce(certain, axis=0, initial=-np.inf)
            known = self.bound is None or candidates.is_exact
            return highest if known else np.maximum(self.bound(candidates), highest)  # type: ignore[misc]
        least: Ints | Floats = np.zeros(len(candidates.fewest), np.int64)
        if self.of_units is not None:
            least = self._alone_at_least(candidates)
        if self.bound is not None:
            least = least + self.bound(candidates)
        if self.budgets:
            least = least + self.budgets * fewest_budgets_broken(candidates)
        if self.idle:
            least = least + self.idle * candidates.idle
        return least + self.ended * candidates.groups_broken if self.ended else least

    def _alone_at_least(self, candidates: Candidates) -> Ints:
        """[node] what the certain victims cost, or as many of the cheapest as must go at least."""
        alone = candidates.alone(self)
        if candidates.has_one_slot:
            least: Ints = candidates.fewest * alone[0]
            return least
        if candidates.is_exact:
            known: Ints = np.add.reduce(alone, axis=0)
            return known
        certain: Ints = np.add.reduce(alone * candidates.certain, axis=0)
        cheapest = np.minimum.reduce(np.where(candidates.possible, alone, MOST), axis=0, initial=MOST)
        return np.maximum(certain, candidates.fewest * np.where(cheapest == MOST, 0, cheapest))


MOST = 1 << 62  # more than any unit costs alone


# --- what a plan costs ---------------------------------------------------------------------------


class Cost(Sequence[float]):
    """What a plan costs by each criterion, worked out one after the other as far as it is asked for."""

    __slots__ = ("_known", "_of", "order")

    def __init__(
        self,
        order: tuple[Criterion, ...],
        of: Callable[[Criterion], float],
        known: Sequence[float] = (),
    ) -> None:
        """``known``: by the first criteria."""
        self.order, self._of, self._known = order, of, [*known]

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, place: int) -> float: ...

    @overload
    def __getitem__(self, place: slice) -> list[float]: ...

    def __getitem__(self, place: int | slice) -> float | list[float]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self.order)))]
        while len(self._known) <= place < len(self.order):
            self._known.append(self._of(self.order[len(self._known)]))
        return self._known[place]

    def __iter__(self) -> Iterator[float]:
        return (self[place] for place in range(len(self.order)))

    @property
    def is_known(self) -> bool:
        return len(self._known) == len(self.order)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.differs_at(other) is None

    def __hash__(self) -> int:
        return hash(tuple(self))

    def differs_at(self, other: Sequence[float]) -> int | None:
        """The place of the first criterion by which they differ."""
        if isinstance(other, Cost) and self._known == other._known and self.is_known:
            return None
        pairs = enumerate(zip(self, other, strict=True))
        return next((place for place, (mine, its) in pairs if mine != its), None)

    def __lt__(self, other: Sequence[float]) -> bool:
        """Whether it is less by the first criterion in which they differ; later ones are not asked."""
        if isinstance(other, Cost) and self.is_known and other.is_known:
            return self._known < other._known
        place = self.differs_at(other)
        return place is not None and self[place] < other[place]

    def is_above(self, least: Sequence[float | str]) -> bool:
        """Whether it is above a bound, or the bound says too little to tell. The bound may end with a name,
        which is not looked at."""
        pairs = zip(least, self, strict=False)
        found = next(((low, mine) for low, mine in pairs if low != mine), None)
        if found is None:
            return len(least) < len(self.order)
        return bool(found[0] < found[1])  # type: ignore[operator]  # a name comes last

    def learn(self, known: Sequence[float]) -> None:
        """What it is by the first criteria, where that was worked out for many plans together."""
        if len(known) > len(self._known):
            self._known = [*known]

    def named(self) -> tuple[tuple[str, float], ...]:
        return tuple((criterion.name, value) for criterion, value in zip(self.order, self, strict=True))


NO_COST = Cost((), lambda _: 0)  # of a plan without victims, which is compared with no other


# --- what is known before plans are made ---------------------------------------------------------


def fewest_budgets_broken(candidates: Candidates) -> Ints:
    """[candidate] by how many pods budgets are exceeded there at least."""
    broken: Ints = np.maximum(0, candidates.fewest - candidates.within_budgets)
    return broken


def _lowest_ceiling(candidates: Candidates) -> Floats:
    return candidates.ceiling


def longest_run(victims: Sequence[Unit]) -> float:
    """How long ago the first of the most important victims started, as Unix time with a minus: less is
    better."""
    highest = max((unit.priority for unit in victims), default=-math.inf)
    return -min([unit.start for unit in victims if unit.priority == highest], default=math.inf)


def _shortest_run(candidates: Candidates) -> Floats:
    """[node] a bound of ``longest_run``.

    Certain victims of the highest priority there count in any plan. If there are none, the victim that
    started last may decide; a plan without victims measures less than any other.
    """
    priority, start = candidates.priority, candidates.start
    if candidates.has_one_slot:
        return np.where(candidates.fewest > 0, -start[0], -np.inf)
    possible = np.where(candidates.possible, priority, -np.inf)
    highest = np.maximum.reduce(possible, axis=0, initial=-np.inf)
    decisive = candidates.certain & (priority == highest)
    earliest: Floats = np.minimum.reduce(np.where(decisive, start, np.inf), axis=0, initial=np.inf)
    if candidates.is_exact:
        return -earliest
    latest = np.where(candidates.possible, start, -np.inf).max(axis=0, initial=-np.inf)
    shortest: Floats = np.maximum(-earliest, np.where(candidates.fewest > 0, -latest, -np.inf))
    return shortest


# --- the registry --------------------------------------------------------------------------------


BUDGETS_BROKEN = Criterion(
    "BudgetsBroken",
    "FewestBudgetsBroken",
    "fewest disruption budgets broken",
    budgets=1,
    better="breaks budgets by fewer pods",
)
HIGHEST_PRIORITY = Criterion(
    "HighestPriority",
    "LowestHighestPriority",
    "lowest highest victim priority",
    Combined.HIGHEST,
    lambda prices, numbers: prices.units.priority[numbers],
    bound=_lowest_ceiling,
    better="has a lower highest priority among its victims",
)
PODS_STOPPED = Criterion(
    "PodsStopped",
    "FewestPodsStopped",
    "fewest pods stopped",
    Combined.SUM,
    lambda prices, numbers: prices.units.size[numbers],
    idle=1,
    better="stops fewer pods",
)
WORKLOADS_ENDED = Criterion(
    "WorkloadsEnded",
    "FewestWorkloadsEnded",
    "fewest workloads ended",
    Combined.SUM,
    lambda prices, numbers: prices.ended(numbers),
    ended=1,
    better="ends fewer workloads",
)
PRIORITY_SUM = Criterion(
    "PrioritySum",
    "SmallestSumOfPriorities",
    "smallest sum of victim priorities",
    Combined.SUM,
    lambda prices, numbers: (prices.units.priority[numbers] + OFFSET) * prices.units.size[numbers],
    better="has a smaller sum of victim priorities",
    has_plain_number=False,
)
CASCADE = Criterion(
    "Cascade",
    "LeastCascade",
    "fewest victims that preempt others or find no room",
    Combined.SUM,
    lambda prices, numbers: prices.cascade(numbers),
    least_alone=lambda prices: prices.least_cascade,
    better="leaves its victims less to preempt",
)
LOST_WORK = Criterion(
    "LostWork",
    "LeastLostWork",
    "least work lost since the last checkpoints",
    Combined.SUM,
    lambda prices, numbers: prices.lost_work(numbers),
    least_alone=lambda _: 0,
    better="loses less work",
)
PODS = Criterion(
    "Pods",
    "FewestPods",
    "fewest pods disturbed",
    Combined.SUM,
    lambda prices, numbers: prices.units.size[numbers],
    better="evicts fewer pods",
)
LONGEST_GRACE = Criterion(
    "LongestGrace",
    "ShortestGrace",
    "shortest grace period of the slowest victim",
    Combined.HIGHEST,
    lambda prices, numbers: prices.grace(numbers),
    least_alone=lambda _: 0,
    better="has a shorter longest grace period",
)
LATEST_START = Criterion(
    "LatestStart",
    "LatestStart",
    "most important victims that started latest",
    of_victims=lambda victims: longest_run(victims.units),
    bound=_shortest_run,
    better="evicts pods that started later",
    has_plain_number=False,
)
CRITERIA: Mapping[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        BUDGETS_BROKEN,
        HIGHEST_PRIORITY,
        PODS_STOPPED,
        WORKLOADS_ENDED,
        PRIORITY_SUM,
        CASCADE,
        LOST_WORK,
        PODS,
        LONGEST_GRACE,
        LATEST_START,
    )
}
DISTURBANCE = (
    BUDGETS_BROKEN,
    HIGHEST_PRIORITY,
    PODS_STOPPED,
    WORKLOADS_ENDED,
    PRIORITY_SUM,
    CASCADE,
    LOST_WORK,
    LATEST_START,
)
AS_UPSTREAM = BUDGETS_BROKEN, HIGHEST_PRIORITY, PRIORITY_SUM, PODS, LATEST_START

# For a demand that should leave other gangs complete. It comes right after the priority, which leads as ever.
OTHER_GANGS_BROKEN = Criterion(
    "OtherGangsBroken",
    "FewestGangsBroken",
    "fewest gangs left with too few pods",
    of_victims=lambda victims: victims.other_gangs_broken,
    bound=lambda candidates: np.zeros(len(candidates.fewest), np.int64),
    better="leaves fewer gangs with too few pods",
)
# Always the last, so that plans never tie.
NAME = Criterion(
    "Name",
    "Name",
    "all else is equal, and its name comes first",
    lost_text="all else is equal, and its name comes later",
)


def criterion_named(name: str) -> Criterion | None:
    """None: records may be of a version that had other criteria."""
    return OTHER_GANGS_BROKEN if name == OTHER_GANGS_BROKEN.name else CRITERIA.get(name)


def sparing_other_gangs(order: Sequence[Criterion]) -> tuple[Criterion, ...]:
    leading = (BUDGETS_BROKEN, HIGHEST_PRIORITY)
    at = max((place + 1 for place, criterion in enumerate(order) if criterion in leading), default=0)
    return (*order[:at], OTHER_GANGS_BROKEN, *order[at:])


def decided_by(winner: Cost, loser: Cost) -> Criterion:
    """The first criterion by which the winner is better."""
    place = winner.differs_at(loser)
    return NAME if place is None else winner.order[place]


def pods_disturbed(victims: Sequence[Unit]) -> int:
    return sum([len(unit.pods) for unit in victims])
