"""What may not be tried again for a while: evictions that came to nothing, and calls whose answer was lost.

A pod that got the room of its victims and then could not start, for whatever other reason, would have them
evicted again as soon as they are back. So would one whose plan ends at a victim that the API server does not
let go. Each time it happens to the same pod, the while is twice as long.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Generic, TypeVar

from reprieve.model.effects import Target
from reprieve.supervision.backoff import Backoff

_IN_VAIN = Backoff(first=30.0, longest=3600.0)
_REFUSED = Backoff(first=30.0, longest=3600.0, harmless=1)


@dataclass(frozen=True, slots=True)
class _Held:
    failures: int
    until: float


class PreemptionBackoff:
    """Pods for which evictions came to nothing may not preempt for a while; victims that stay are spared."""

    def __init__(self) -> None:
        self._served: set[Target] = set()  # pods that were given the room of victims
        self._asking: dict[Target, _Held] = {}  # pods that may not preempt
        self._staying: dict[Target, _Held] = {}  # pods that are not evicted

    def serve(self, pods: Iterable[Target]) -> None:
        """They have the room of their victims now; whether they can use it will be seen."""
        self._served.update(pods)

    def on_room_wasted(self, pod: Target, now: float) -> None:
        """The pod could not use the room."""
        if pod in self._served:
            self._served.remove(pod)
            self._asking[pod] = _held(self._asking.get(pod), now, _IN_VAIN)

    def on_refused(self, victim: Target, now: float) -> None:
        """The API server rejected its eviction. Once may be chance."""
        self._staying[victim] = _held(self._staying.get(victim), now, _REFUSED)

    def until(self, pods: Iterable[Target], now: float) -> float | None:
        """Until when nothing is evicted for any of these; None if pods may be."""
        if not self._asking:
            return None
        moments = [held.until for pod in pods if (held := self._asking.get(pod)) is not None]
        return max((moment for moment in moments if moment > now), default=None)

    def staying(self, now: float) -> list[Target]:
        """Pods that are not evicted, for now."""
        return sorted(pod for pod, held in self._staying.items() if held.until > now)

    def released(self, now: float) -> float | None:
        """When the first of those may be evicted again."""
        return min((held.until for held in self._staying.values() if held.until > now), default=None)

    def forget(self, pod: Target) -> None:
        """The pod has its node, or is gone."""
        self._served.discard(pod)
        self._asking.pop(pod, None)

    def on_gone(self, victim: Target) -> None:
        """The victim is gone, however that came about."""
        self._staying.pop(victim, None)


def _held(before: _Held | None, now: float, pauses: Backoff) -> _Held:
    failures = before.failures + 1 if before is not None else 1
    return _Held(failures, now + pauses.after(failures))


# --- calls whose answer was lost -----------------------------------------------------------------


_PAUSES = Backoff(first=1.0, longest=10.0, harmless=1)  # the first time there is no pause

T = TypeVar("T", bound=Hashable)


class ResendBackoff(Generic[T]):
    """When is a call whose answer was lost sent again? At once, and then ever more slowly.

    A server that answers nothing but errors (a webhook that is down, say) must not be called all the time.
    """

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
        """The call was answered, or the answer does not matter any more."""
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
