"""Pods for which evictions came to nothing: they may not preempt for a while. And victims that do not go.

A pod that got the room of its victims and then could not start, for whatever other reason, would have them
evicted again as soon as they are back. So would one whose plan ends at a victim that the API server does not
let go. Each time it happens to the same pod, the while is twice as long.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from reprieve.model.effects import Target
from reprieve.supervision.backoff import Backoff

_IN_VAIN = Backoff(first=30.0, longest=3600.0)
_REFUSED = Backoff(first=30.0, longest=3600.0, harmless=1)


@dataclass(frozen=True, slots=True)
class _Held:
    failures: int
    until: float


class PreemptionBackoff:
    def __init__(self) -> None:
        self._served: set[Target] = set()  # pods that were given the room of victims
        self._asking: dict[Target, _Held] = {}  # pods that may not preempt
        self._staying: dict[Target, _Held] = {}  # pods that are not evicted

    def serve(self, pods: Iterable[Target]) -> None:
        """They have the room of their victims now; whether they can use it will be seen."""
        self._served.update(pods)

    def wasted(self, pod: Target, now: float) -> None:
        """It could not use the room."""
        if pod in self._served:
            self._served.remove(pod)
            self._asking[pod] = _held(self._asking.get(pod), now, _IN_VAIN)

    def refused(self, victim: Target, now: float) -> None:
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
        """It has its node, or is gone."""
        self._served.discard(pod)
        self._asking.pop(pod, None)

    def lost(self, victim: Target) -> None:
        """It is gone, however that came about."""
        self._staying.pop(victim, None)


def _held(before: _Held | None, now: float, pauses: Backoff) -> _Held:
    failures = before.failures + 1 if before is not None else 1
    return _Held(failures, now + pauses.after(failures))
