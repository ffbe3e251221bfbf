"""Is this replica fit for its work? Answered for those who probe it.

One that waits for its turn to lead is: it is there to take over. One that leads has to know its cluster.
"""

from collections.abc import Iterator, Sequence

from reprieve.model.effects import Effect
from reprieve.model.events import Event, Synced
from reprieve.scheduler.decision import Decided

Check = tuple[str, str]  # its name, and what is wrong; nothing if all is well


class Readiness:
    """Looks on, to learn when the cluster is known."""

    def __init__(self) -> None:
        self._leads = False
        self._knows_all = False
        self._leaving = False

    def leads(self) -> None:
        self._leads = True

    def leaves(self) -> None:
        self._leaving = True

    def alive(self) -> Iterator[Check]:
        """Who can answer at all is."""
        yield "ping", ""

    def ready(self) -> Iterator[Check]:
        yield from self.alive()
        yield "shutdown", "it is about to end" if self._leaving else ""
        unknown = self._leads and not self._knows_all
        yield "sched-handler-sync", "not all that the cluster has is known yet" if unknown else ""

    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        self._knows_all = self._knows_all or Synced() in events

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        pass
