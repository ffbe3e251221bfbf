"""The loop for a cluster in memory, which answers at once: no tasks, no calls, and the time is an argument.

What-ifs rehearse with it, and studies simulate with it. As in ``loop``, the scheduler observes all that has
happened before anything is decided, and then some demands are decided in a row. What effects do to the
cluster, and what is learned from decisions, is not known here.
"""

import sys
from collections.abc import Sequence
from typing import Protocol

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.model.moment import on_one_clock
from reprieve.runtime.observers import Machine
from reprieve.scheduler.reporting.decision import Decided

WITHOUT_PAUSE = sys.maxsize  # all that are due are decided before the scheduler observes what follows from it


class InMemoryCluster(Protocol):
    def has_news(self, now: float) -> bool:
        """Whether something happened that the scheduler must observe before it decides."""

    def take_events(self) -> list[Event]:
        """What the scheduler has not observed yet."""

    def on_observed(self, effects: Sequence[Effect], now: float) -> None: ...

    def on_decided(self, decided: Decided | None, now: float) -> None:
        """``decided``: None if no demand was due."""


class InMemoryLoop:
    def __init__(self, scheduler: Machine, cluster: InMemoryCluster, decisions_in_a_row: int) -> None:
        self._scheduler = scheduler
        self._cluster = cluster
        self._decisions_in_a_row = decisions_in_a_row

    def settle(self, now: float) -> None:
        """Step the scheduler at one moment, until nothing more happens and no demand is due."""
        self.catch_up(now)
        while self._decide_some(now):
            if self._cluster.has_news(now):
                self.catch_up(now)

    def catch_up(self, now: float) -> None:
        """The scheduler observes, also if nothing happened: a time may be over. Nothing is decided."""
        while True:
            effects = self._scheduler.observe(self._cluster.take_events(), on_one_clock(now))
            self._cluster.on_observed(effects, now)
            if not self._cluster.has_news(now):
                return

    def _decide_some(self, now: float) -> bool:
        """False if no demand is due."""
        for number in range(self._decisions_in_a_row):
            decided = self._scheduler.decide(on_one_clock(now))
            self._cluster.on_decided(decided, now)
            if decided is None:
                return number > 0
        return True
