"""How is a scheduler connected to its journal, its telemetry and its other observers?"""

from collections.abc import Callable, Sequence

from reprieve.runtime.journal import Journal, Journaled
from reprieve.runtime.observers import Machine, ObservedScheduler, SchedulerObserver
from reprieve.runtime.telemetry import Telemetry
from reprieve.scheduler.core import Scheduler


def watched(
    scheduler: Scheduler,
    clock: Callable[[], float],
    telemetry: Telemetry | None = None,
    journal: Journal | None = None,
    others: Sequence[SchedulerObserver] = (),
) -> Machine:
    """The scheduler with its journal and its observers; without any, the scheduler itself."""
    machine: Machine = scheduler if journal is None else Journaled(scheduler, journal)
    if telemetry is not None:
        telemetry.read_from(scheduler.pending, scheduler.known)
        others = (telemetry, *others)
    return ObservedScheduler(machine, clock, others) if others else machine
