"""A watch with injected faults: late changes, broken connections, stale lists.

Whatever the faults, the changes of each object arrive in order, none is older than one that arrived before,
and the last state of each object arrives in the end. A deletion arrives after all earlier changes of
its kind.
"""

import asyncio
import heapq
from collections.abc import Iterator, Sequence

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.faults import FaultPlan, WatchFault
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.store import Store
from reprieve.cluster.mini.stored_objects import Key
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent

_STALE_BY = 50  # versions by which a stale list is behind


class DelayedEvents:
    """Changes that are delivered late. Later changes of the same object wait behind them, in order.

    So do later deletions of the same kind.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, WatchEvent]] = []
        self._last: dict[Key, tuple[float, int]] = {}
        self._entered = 0

    def holds_up(self, change: WatchEvent) -> bool:
        return next(self._before(change), None) is not None

    def hold(self, change: WatchEvent, until: float) -> None:
        key = change.object.key
        self._entered += 1
        at = max([until, *self._before(change)])
        self._last[key] = (at, self._entered)
        heapq.heappush(self._heap, (at, self._entered, change))

    def _before(self, change: WatchEvent) -> Iterator[float]:
        """When the changes arrive behind which this one waits."""
        deleted, own = change.type is EventType.DELETED, change.object.key
        for key, (at, _) in self._last.items():
            if key == own or (deleted and key.resource == own.resource):
                yield at

    def due(self, now: float) -> list[WatchEvent]:
        found = []
        while self._heap and self._heap[0][0] <= now:
            at, number, change = heapq.heappop(self._heap)
            if self._last[change.object.key] == (at, number):
                del self._last[change.object.key]
            found.append(change)
        return found

    def next_at(self) -> float | None:
        return self._heap[0][0] if self._heap else None


class FaultyWatch:
    """``number`` distinguishes watches, so that each draws its own faults."""

    def __init__(
        self, store: Store, resources: Sequence[str], clock: Clock, plan: FaultPlan, number: int
    ) -> None:
        self._store = store
        self._resources = resources
        self._clock = clock
        self._plan = plan
        self._arrivals = number << 32
        self._late = DelayedEvents()
        self._broken: tuple[WatchFault, float] | None = None
        self._informer = Informer(store, resources)

    def first(self) -> list[WatchEvent]:
        """The first list. It has no faults: there is no earlier state that it could contradict."""
        return self._informer.poll()

    async def next(self) -> list[WatchEvent]:
        while True:
            changes = [*self._late.due(self._clock()), *self._arrived()]
            if changes:
                return changes
            await self._wait()

    def break_off(self, fault: WatchFault) -> None:
        self._broken = (fault, self._clock() + self._plan.reconnect_seconds)

    def close(self) -> None:
        self._informer.close()

    def _arrived(self) -> list[WatchEvent]:
        if self._broken is None:
            return [c for c in self._informer.poll() if self._is_on_time(c)]
        fault, until = self._broken
        if self._clock() < until:
            return []
        self._broken = None
        return [c for c in self._reconnected(fault) if self._is_on_time(c)]

    def _reconnected(self, fault: WatchFault) -> list[WatchEvent]:
        if fault is WatchFault.DROP:
            return self._informer.poll()
        if fault is WatchFault.STALE:
            past = max(self._store.oldest, self._informer.position - _STALE_BY)
            self._informer.relist(self._store.list(self._resources, at=past))
        return self._informer.relist(self._store.list(self._resources))

    def _is_on_time(self, change: WatchEvent) -> bool:
        """Draw the fault of a change; whether it may be delivered at once."""
        now = self._clock()
        self._arrivals += 1
        fault = self._plan.on_change(self._arrivals, now)
        late = self._plan.lateness(self._arrivals) if fault is WatchFault.LATE else 0.0
        if fault is not None and fault is not WatchFault.LATE and self._broken is None:
            self.break_off(fault)
        if late or self._late.holds_up(change):
            self._late.hold(change, now + late)
            return False
        return True

    async def _wait(self) -> None:
        moments = [self._late.next_at(), self._broken[1] if self._broken is not None else None]
        known = [moment for moment in moments if moment is not None]
        seconds = max(0.0, min(known) - self._clock()) if known else None
        if self._broken is not None and seconds is not None:
            await asyncio.sleep(seconds)
        else:
            await self._informer.wait(seconds)
