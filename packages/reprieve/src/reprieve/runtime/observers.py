"""Shows observers all that goes into a scheduler and comes out of it, in order.

Observers learn from it and change nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.model.moment import Due, Moment
from reprieve.model.urgency import Urgency
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decided
from reprieve.scheduler.set_aside import SchedulerFailure
from reprieve.supervision.supervisor import log_mishap


class Machine(Protocol):
    """What decides: events in, effects out."""

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]: ...

    def decide(self, now: Moment) -> Decided | None: ...

    def records(self) -> tuple[PlanRecord, ...]:
        """What happened to plans in the last ``observe`` or ``decide``."""

    def failures(self) -> tuple[SchedulerFailure, ...]:
        """The exceptions that were contained in the last ``observe`` or ``decide``."""

    def next_time(self) -> Due: ...

    def urgency(self, effect: Effect) -> Urgency:
        """How urgent an effect of the last ``observe`` or ``decide`` is."""

    def improving(self) -> frozenset[str]:
        """The requests for a better plan whose answers are still of use, by their ids."""


class SchedulerObserver(Protocol):
    def on_observed(self, events: Sequence[Event], effects: Sequence[Effect], now: Moment) -> None:
        """The scheduler was shown these events, and emitted these effects."""

    def on_decided(self, decided: Decided | None, now: Moment, seconds: float) -> None:
        """The scheduler decided, which took so long; None if no demand was due."""

    def on_recorded(self, records: Sequence[PlanRecord]) -> None:
        """This happened to plans in the step that was shown just before. Not called if nothing did."""


class Wrapped:
    """A machine that is asked through another one, which hears what goes in and comes out."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def records(self) -> tuple[PlanRecord, ...]:
        return self._machine.records()

    def failures(self) -> tuple[SchedulerFailure, ...]:
        return self._machine.failures()

    def next_time(self) -> Due:
        return self._machine.next_time()

    def urgency(self, effect: Effect) -> Urgency:
        return self._machine.urgency(effect)

    def improving(self) -> frozenset[str]:
        return self._machine.improving()


class ObservedScheduler(Wrapped):
    def __init__(
        self, machine: Machine, elapsed: Callable[[], float], observers: Sequence[SchedulerObserver]
    ) -> None:
        """``elapsed``: the clock for durations."""
        super().__init__(machine)
        self._elapsed = elapsed
        self._observers = observers

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
        events = list(events)
        effects = self._machine.observe(events, now)
        for observer in self._observers:
            self._show(observer, partial(observer.on_observed, events, effects, now))
        self._show_records()
        return effects

    def decide(self, now: Moment) -> Decided | None:
        decided = self._machine.decide(now)
        seconds = self._elapsed() - now.elapsed
        for observer in self._observers:
            self._show(observer, partial(observer.on_decided, decided, now, seconds))
        self._show_records()
        return decided

    def _show_records(self) -> None:
        records = self._machine.records()
        for observer in self._observers if records else ():
            self._show(observer, partial(observer.on_recorded, records))

    def _show(self, observer: SchedulerObserver, show: Callable[[], None]) -> None:
        """An observer that fails must not keep the effects of this step from being carried out."""
        try:
            show()
        except Exception as error:
            log_mishap(f"observer {type(observer).__name__}", error)
