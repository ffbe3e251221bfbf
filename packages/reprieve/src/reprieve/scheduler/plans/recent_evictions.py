"""When were workloads evicted, as far as an eviction limit needs to know?

Counts what it is told, each eviction once, and forgets what has left the window.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from reprieve.model.effects import Target
from reprieve.model.workloads import PastEviction

_MOST = 100_000  # evictions in the window; beyond that the oldest are given up


@dataclass(slots=True)
class _Entry:
    workload: str
    at: float
    pods: set[Target] = field(default_factory=set)  # whose deletes were sent by this process


class RecentEvictions:
    def __init__(self, window: float) -> None:
        """``window``: seconds; zero: there is no limit, and nothing is kept."""
        self._window = window
        self._entries: dict[str, _Entry] = {}  # by what counts once, in the order in which they were counted
        self._keys: dict[Target, str] = {}  # of pods whose deletes were sent by this process
        self._moments: dict[str, list[float]] = {}
        self._latest = -inf

    @property
    def are_kept(self) -> bool:
        return self._window > 0

    @property
    def moments(self) -> Mapping[str, Sequence[float]]:
        """By workload, the oldest first. Valid until the next change."""
        return self._moments

    def count(self, eviction: PastEviction, pod: Target | None = None) -> None:
        """``pod``: whose delete is sent now; None if it is known from an earlier run."""
        if not self.are_kept:
            return
        entry = self._entries.get(eviction.key)
        if entry is None:
            entry = self._entries[eviction.key] = _Entry(eviction.workload, eviction.at)
            insort(self._moments.setdefault(eviction.workload, []), eviction.at)
            self._latest = max(self._latest, eviction.at)
        if pod is not None:
            entry.pods.add(pod)
            self._keys[pod] = eviction.key
        if len(self._entries) > _MOST:
            self._drop(next(iter(self._entries)))

    def take_back(self, pod: Target) -> bool:
        """The pod was not evicted after all; whether that leaves its workload with one eviction less."""
        key = self._keys.pop(pod, "")
        entry = self._entries.get(key)
        if entry is None:
            return False
        entry.pods.discard(pod)
        if not entry.pods:
            self._drop(key)
        return not entry.pods

    def counted_as(self, pod: Target) -> PastEviction | None:
        """What the eviction of a pod was counted as, by this process."""
        key = self._keys.get(pod, "")
        entry = self._entries.get(key)
        return PastEviction(workload=entry.workload, key=key, at=entry.at) if entry is not None else None

    def forget(self, wall: float) -> None:
        """Drops what has left the window. What an earlier run evicted was counted first.

        ``wall``: the time of day, as in events and marks. If that was set back, or another machine's clock is
        ahead, evictions would lie in the future: they count as made now, and no longer than others.
        """
        if wall < self._latest:
            self._bring_forward(wall)
        while self._entries:
            key, entry = next(iter(self._entries.items()))
            if entry.at + self._window > wall:
                return
            self._drop(key)

    def _bring_forward(self, wall: float) -> None:
        self._latest = wall
        for entry in self._entries.values():
            entry.at = min(entry.at, wall)
        for moments in self._moments.values():
            moments[:] = [min(moment, wall) for moment in moments]

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key)
        for pod in entry.pods:
            self._keys.pop(pod, None)
        moments = self._moments[entry.workload]
        del moments[bisect_left(moments, entry.at)]
        if not moments:
            del self._moments[entry.workload]
