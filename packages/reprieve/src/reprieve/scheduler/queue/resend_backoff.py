"""When is a call whose answer was lost sent again? At once, and then ever more slowly.

A server that answers nothing but errors (a webhook that is down, say) must not be called all the time. What
follows from a lost answer is in ``unknown_outcomes``, and not known here.
"""

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

from reprieve.supervision.backoff import Backoff

_PAUSES = Backoff(first=1.0, longest=10.0, harmless=1)  # the first time there is no pause

T = TypeVar("T", bound=Hashable)


class ResendBackoff(Generic[T]):
    def __init__(self) -> None:
        self._times: dict[T, int] = {}  # how often in a row an answer was lost
        self._due: list[tuple[float, int, T]] = []
        self._number = 0  # so that those of one moment come in the order in which they were put aside

    def puts_aside(self, call: T, now: float) -> bool:
        """An answer was lost. Whether what follows from that has to wait."""
        times = self._times[call] = self._times.get(call, 0) + 1
        pause = _PAUSES.after(times)
        if not pause:
            return False
        self._number += 1
        heappush(self._due, (now + pause, self._number, call))
        return True

    def end(self, call: T) -> None:
        """It was answered, or the answer does not matter any more."""
        if self._times:  # mostly none is lost, and the hash of a call is not free
            self._times.pop(call, None)

    def taken_up(self, now: float) -> list[T]:
        """Calls that have waited long enough, each once."""
        found = []
        while self._due and self._due[0][0] <= now:
            found.append(heappop(self._due)[2])
        return found

    def next_time(self) -> float | None:
        return self._due[0][0] if self._due else None
