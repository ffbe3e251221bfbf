"""Demands whose first plan is being improved beside the loop: until when each waits, and what was found.

Nothing is written for such a plan: no nomination, no mark, no eviction. Its room is reserved in the ledger,
so that demands of no higher priority plan around it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from reprieve.model.effects import Target
from reprieve.model.events import Improvement, PlanImproved
from reprieve.preemption.least_disturbance.deferral import Remembered
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.reporting.decision import EvictionReason, Preemption

_LONG = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Improving:
    """A first plan that waits. ``found``: None until there is an answer."""

    id: str  # of the decision that asked
    since: float
    until: float
    places: tuple[tuple[Target, str], ...]  # where room is reserved
    price: Preemption | None  # of the first plan; None if there is none
    unproved: EvictionReason | None  # why there may be a plan with fewer victims
    plans: Mapping[str, Remembered]  # by domain, for the decision that follows
    found: tuple[Improvement, ...] | None = None

    def is_awaited(self, now: float) -> bool:
        return self.found is None and now < self.until

    def is_long(self, now: float) -> bool:
        """Whether it has taken long enough for people to wonder."""
        return now >= self.since + _LONG

    def next_time(self, now: float) -> float:
        """When it ends without an answer, or begins to be long."""
        return self.until if self.is_long(now) else min(self.until, self.since + _LONG)


class Improvements:
    def __init__(self) -> None:
        self._waiting: dict[DemandKey, Improving] = {}

    def __iter__(self) -> Iterator[tuple[DemandKey, Improving]]:
        yield from self._waiting.items()

    def of(self, key: DemandKey) -> Improving | None:
        return self._waiting.get(key)

    def is_any_awaited(self, now: float) -> bool:
        """Whether the solver is busy."""
        return any(one.is_awaited(now) for one in self._waiting.values())

    def awaited(self) -> frozenset[str]:
        """The decisions whose requests are not answered yet."""
        return frozenset(one.id for one in self._waiting.values() if one.found is None)

    def begin(self, key: DemandKey, improving: Improving) -> None:
        self._waiting[key] = improving

    def end(self, key: DemandKey) -> Improving | None:
        return self._waiting.pop(key, None)

    def on_answered(self, answer: PlanImproved) -> DemandKey | None:
        """The demand that waits for this answer; None if it came too late."""
        for key, improving in self._waiting.items():
            if improving.id == answer.id:
                self._waiting[key] = replace(improving, found=answer.found)
                return key
        return None
