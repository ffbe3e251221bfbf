"""What is to be done when: at most one thing for each subject, taken in order of time, then of entry."""

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)
T = TypeVar("T")

# A sleep may end this much early by rounding: moments since 1970 are known to a quarter of a microsecond.
_TOLERANCE = 1e-6


class DelayingQueue(Generic[S, T]):
    def __init__(self) -> None:
        self._entries: dict[S, tuple[float, int, T]] = {}
        self._heap: list[tuple[float, int, S]] = []
        self._entered = 0

    def add(self, subject: S, task: T, at: float) -> None:
        """A task that is planned already is at most moved forward; a different one takes its place."""
        entry = self._entries.get(subject)
        if entry is not None and entry[2] == task and entry[0] <= at:
            return
        self._entered += 1
        self._entries[subject] = (at, self._entered, task)
        heapq.heappush(self._heap, (at, self._entered, subject))

    def remove(self, subject: S) -> None:
        self._entries.pop(subject, None)

    def due(self, now: float) -> list[tuple[S, T]]:
        """What is due, taken off the agenda."""
        found = []
        while (at := self.next_at()) is not None and at <= now + _TOLERANCE:
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
