"""What is due when? A heap of moments; of equal moments, what was put first comes first."""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

Act = Callable[[float], None]


class Agenda:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Act]] = []
        self._put = 0

    def at(self, moment: float, act: Act) -> None:
        self._put += 1
        heappush(self._heap, (moment, self._put, act))

    @property
    def next_time(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> Iterator[Act]:
        """What is due by now, including what is put while this runs."""
        while self._heap and self._heap[0][0] <= now:
            yield heappop(self._heap)[2]
