"""Is this replica fit for its work? Answered for those who probe it.

One that only waits for its turn to lead is: it is there to take over. One that has begun to look at its
cluster, be it to take over fast, has to know it.
"""

from collections.abc import Iterator, Sequence

from reprieve.model.effects import Effect
from reprieve.model.events import Event, Synced
from reprieve.scheduler.decision import Decided

Check = tuple[str, str]  # its name, and what is wrong; nothing if all is well


class Readiness:
    """Looks on, to learn when the cluster is known."""

    def __init__(self) -> None:
        self._looks = False
        self._knows_all = False
        self._leaving = False

    def looks(self) -> None:
        self._looks = True

    def knows_all(self) -> None:
        self._knows_all = True

    def leaves(self) -> None:
        self._leaving = True

    def alive(self) -> Iterator[Check]:
        """Who can answer at all is."""
        yield "ping", ""

    def ready(self) -> Iterator[Check]:
        yield from self.alive()
        yield "shutdown", "it is about to end" if self._leaving else ""
        unknown = self._looks and not self._knows_all
        yield "sched-handler-sync", "not all that the cluster has is known yet" if unknown else ""

    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        if Synced() in events:
            self.knows_all()

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        pass
