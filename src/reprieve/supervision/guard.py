"""Runs the work of a component object by object, so that one object cannot stop the work on the others.

An object whose work raises an unexpected exception is logged and set aside, and its work is tried again after
a pause that doubles. What the work does, and how users are told, is not known here.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from reprieve.supervision.mishaps import log_mishap
from reprieve.supervision.quarantine import Quarantine, SetAside

W = TypeVar("W", bound=Hashable)


class Guard(Generic[W]):
    """``W`` names a piece of work: a step of the component and an object.

    ``report`` is called after each failure. ``passed_on``: exceptions that are no mistake, and that the
    component as a whole reacts to.
    """

    def __init__(
        self,
        component: str,
        clock: Callable[[], float],
        report: Callable[[W, Exception, SetAside], None],
        passed_on: tuple[type[Exception], ...] = (),
    ) -> None:
        self._component = component
        self._clock = clock
        self._report = report
        self._passed_on = passed_on
        self._quarantine: Quarantine[W] = Quarantine()
        self._kept: dict[W, Callable[[], object]] = {}

    def run(self, name: W, work: Callable[[], object], *, at_once: bool = False) -> None:
        """Work that is set aside is not done now: the latest of that name is kept and retried later.

        ``at_once``: do it now all the same, because it makes earlier work of that name obsolete.
        """
        if name in self._quarantine and not at_once:
            self._kept[name] = work
        else:
            self._attempt(name, work)

    def retry_due(self) -> None:
        for name in self._quarantine.due(self._clock()):
            self._attempt(name, self._kept[name])

    def next_at(self) -> float | None:
        """When ``retry_due`` has something to do."""
        return self._quarantine.next_at()

    def _attempt(self, name: W, work: Callable[[], object]) -> None:
        try:
            work()
        except self._passed_on:
            raise
        except Exception as error:
            now = self._clock()
            aside = self._quarantine.set_aside(name, now)
            self._kept[name] = work
            log_mishap(f"{self._component}: {name}", error, aside.until - now)
            self._report(name, error, aside)
        else:
            self._quarantine.release(name)
            self._kept.pop(name, None)
