"""A scheduler that is watched: everything that goes in and comes out of it is shown to others, in order.

They learn from it and change nothing. What they make of it is not known here.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.scheduler.decision import Decided


class Machine(Protocol):
    """What decides: events in, effects out."""

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]: ...

    def decide(self, now: float) -> Decided | None: ...

    def next_time(self) -> float | None: ...


class Onlooker(Protocol):
    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        """These events were shown to the scheduler, and this is what it wants done."""

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        """It was asked to decide, and took so long; None if it was nobody's turn."""


class ObservedScheduler:
    def __init__(self, machine: Machine, clock: Callable[[], float], onlookers: Sequence[Onlooker]) -> None:
        self._machine = machine
        self._clock = clock
        self._onlookers = onlookers

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]:
        events = list(events)
        effects = self._machine.observe(events, now)
        for onlooker in self._onlookers:
            onlooker.observed(events, effects, now)
        return effects

    def decide(self, now: float) -> Decided | None:
        decided = self._machine.decide(now)
        seconds = max(self._clock() - now, 0.0)
        for onlooker in self._onlookers:
            onlooker.decided(decided, now, seconds)
        return decided

    def next_time(self) -> float | None:
        return self._machine.next_time()
