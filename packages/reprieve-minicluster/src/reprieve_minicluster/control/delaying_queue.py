"""A queue of tasks with due times, after client-go's delaying queue: at most one task for each subject.

Tasks that are due come in order of time, then of entry.
"""

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)
T = TypeVar("T")

# A sleep may end this much early: a float of seconds since 1970 is exact to a quarter of a microsecond.
_TOLERANCE = 1e-6


class DelayingQueue(Generic[S, T]):
    def __init__(self) -> None:
        self._entries: dict[S, tuple[float, int, T]] = {}
        self._heap: list[tuple[float, int, S]] = []
        self._entered = 0

    def add(self, subject: S, task: T, at: float) -> None:
        """Add a task. An equal one keeps the earlier due time; a different one is replaced."""
        entry = self._entries.get(subject)
        if entry is not None and entry[2] == task and entry[0] <= at:
            return
        self._entered += 1
        self._entries[subject] = (at, self._entered, task)
        heapq.heappush(self._heap, (at, self._entered, subject))

    def remove(self, subject: S) -> None:
        self._entries.pop(subject, None)

    def due(self, now: float, most: int | None = None) -> list[tuple[S, T]]:
        """Remove and return the tasks that are due, or the first of them."""
        found: list[tuple[S, T]] = []
        while (at := self.next_at()) is not None and at <= now + _TOLERANCE and len(found) != most:
            _, _, subject = heapq.heappop(self._heap)
            found.append((subject, self._entries.pop(subject)[2]))
        return found

    def next_at(self) -> float | None:
        while self._heap:
            at, number, subject = self._heap[0]
            entry = self._entries.get(subject)
            if entry is not None and entry[1] == number:
                return at
            heapq.heappop(self._heap)
        return None
