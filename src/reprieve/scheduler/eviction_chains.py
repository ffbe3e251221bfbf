"""How long is the chain of evictions that a plan continues?

A pod evicts others, the controller of one of these replaces it, and the replacement evicts again: the second
plan continues the chain of the first, and has depth 2. A replacement is a waiting pod of the same workload
that was created after the eviction; the last eviction of its workload counts. Nothing here has an influence
on scheduling, and a new leader begins without a memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor

_REMEMBERED = 3600.0  # seconds
_MOST = 4096  # workloads; beyond that the longest ago are forgotten


@dataclass(frozen=True, slots=True)
class _Link:
    at: float
    depth: int


class EvictionChains:
    def __init__(self) -> None:
        self._links: dict[str, _Link] = {}  # by workload, the last eviction last

    def __len__(self) -> int:
        return len(self._links)

    def depth_for(self, workload: str, created: Iterable[float], now: float) -> int:
        """Of a plan for pods of this workload that were created at these moments."""
        link = self._links.get(workload)
        if link is None or link.at + _REMEMBERED <= now:
            return 1
        # Creation timestamps are in whole seconds.
        return link.depth + 1 if any(moment >= floor(link.at) for moment in created) else 1

    def note(self, workloads: Iterable[str], depth: int, now: float) -> None:
        """Pods of these workloads are evicted by a plan of this depth."""
        for workload in workloads:
            self._links.pop(workload, None)
            self._links[workload] = _Link(now, depth)
        while self._links:
            oldest = next(iter(self._links))
            if len(self._links) <= _MOST and self._links[oldest].at + _REMEMBERED > now:
                return
            del self._links[oldest]

    def shift(self, seconds: float) -> None:
        """The clock was put back."""
        self._links = {name: _Link(link.at + seconds, link.depth) for name, link in self._links.items()}
