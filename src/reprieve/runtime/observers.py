"""Shows observers all that goes into a scheduler and comes out of it, in order.

Observers learn from it and change nothing. What they do with it is not known here.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.scheduler.decision import Decided
from reprieve.scheduler.plan_records import PlanRecord
from reprieve.scheduler.set_aside import SchedulerFailure
from reprieve.supervision.mishaps import log_mishap


class Machine(Protocol):
    """What decides: events in, effects out."""

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]: ...

    def decide(self, now: float) -> Decided | None: ...

    def records(self) -> tuple[PlanRecord, ...]:
        """What happened to plans in the last ``observe`` or ``decide``."""

    def failures(self) -> tuple[SchedulerFailure, ...]:
        """The exceptions that were contained in the last ``observe`` or ``decide``."""

    def next_time(self) -> float | None: ...

    def improving(self) -> frozenset[str]:
        """The requests for a better plan whose answers are still of use, by their ids."""


class SchedulerObserver(Protocol):
    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        """The scheduler was shown these events, and emitted these effects."""

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        """The scheduler decided, which took so long; None if no demand was due."""

    def recorded(self, records: Sequence[PlanRecord]) -> None:
        """This happened to plans in the step that was shown just before. Not called if nothing did."""


class ObservedScheduler:
    def __init__(
        self, machine: Machine, clock: Callable[[], float], observers: Sequence[SchedulerObserver]
    ) -> None:
        self._machine = machine
        self._clock = clock
        self._observers = observers

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]:
        events = list(events)
        effects = self._machine.observe(events, now)
        for observer in self._observers:
            self._show(observer, partial(observer.observed, events, effects, now))
        self._show_records()
        return effects

    def decide(self, now: float) -> Decided | None:
        decided = self._machine.decide(now)
        seconds = max(self._clock() - now, 0.0)
        for observer in self._observers:
            self._show(observer, partial(observer.decided, decided, now, seconds))
        self._show_records()
        return decided

    def _show_records(self) -> None:
        records = self._machine.records()
        for observer in self._observers if records else ():
            self._show(observer, partial(observer.recorded, records))

    def _show(self, observer: SchedulerObserver, show: Callable[[], None]) -> None:
        """An observer that fails must not keep the effects of this step from being carried out."""
        try:
            show()
        except Exception as error:
            log_mishap(f"observer {type(observer).__name__}", error)

    def records(self) -> tuple[PlanRecord, ...]:
        return self._machine.records()

    def failures(self) -> tuple[SchedulerFailure, ...]:
        return self._machine.failures()

    def next_time(self) -> float | None:
        return self._machine.next_time()

    def improving(self) -> frozenset[str]:
        return self._machine.improving()
