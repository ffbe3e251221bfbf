"""A mini cluster whose calls and watches fail, as a pure function of a seed, a counter and the time.

Only what passes between the scheduler and the store fails; the store itself stays consistent. Whatever the
faults of a watch, the changes of each object arrive in order, none is older than one that arrived before, and
the last state of each object arrives in the end. A deletion arrives after all earlier changes of its kind.
"""

import asyncio
import hashlib
import heapq
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Any, TypeVar

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.port import Answer, ClusterEvent, Lost, Refused
from reprieve.model.effects import Effect, WriteStatus
from reprieve.model.events import Synced
from reprieve.model.urgency import FIRST, Urgency
from reprieve_minicluster.cluster import WATCHED, MiniCluster, sight_of
from reprieve_minicluster.store import EventType, Informer, Key, Store, WatchEvent

F = TypeVar("F", bound=Enum)


class CallFault(Enum):
    """How a request fails."""

    CONFLICT = "the object has been modified"
    FORBIDDEN = "forbidden"
    INTERNAL = "internal server error"
    TOO_MANY = "too many requests"
    TIMEOUT_BEFORE = "timed out before the write"
    TIMEOUT_AFTER = "timed out after the write"


class WatchFault(Enum):
    """How the delivery of a change to a watcher fails."""

    LATE = "delivered late"
    DROP = "the connection breaks after it and resumes at its version"
    RELIST = "the connection breaks after it and the watcher must relist"
    STALE = "as RELIST, and the first list is older than what the watcher has seen"


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Probabilities for each request and for each change; faults end at the time ``until``.

    Probabilities of one kind may add up to 1 at most. The same plan gives the same faults.
    """

    seed: int
    calls: tuple[tuple[CallFault, float], ...] = ()
    changes: tuple[tuple[WatchFault, float], ...] = ()
    late_seconds: float = 2.0
    reconnect_seconds: float = 1.0
    timeout_seconds: float = 5.0
    until: float = inf

    def on_call(self, number: int, now: float) -> CallFault | None:
        if now >= self.until:
            return None
        return _drawn(self.calls, _chance(self.seed, "call", number)) if self.calls else None

    def on_change(self, number: int, now: float) -> WatchFault | None:
        if now >= self.until:
            return None
        return _drawn(self.changes, _chance(self.seed, "change", number)) if self.changes else None

    def lateness(self, number: int) -> float:
        """How late a late change is: between 0 and ``late_seconds``."""
        return self.late_seconds * _chance(self.seed, "late", number)


NO_FAULTS = FaultPlan(seed=0)


def everything(seed: int, rate: float, until: float = inf) -> FaultPlan:
    """A plan with every fault at the same rate."""
    return FaultPlan(
        seed,
        calls=tuple((fault, rate) for fault in CallFault),
        changes=tuple((fault, rate) for fault in WatchFault),
        until=until,
    )


def _chance(seed: int, stream: str, number: int) -> float:
    """A number between 0 and 1 that depends on the arguments alone, so calls may come in any order."""
    digest = hashlib.blake2b(f"{seed}/{stream}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def _drawn(choices: tuple[tuple[F, float], ...], chance: float) -> F | None:
    for fault, probability in choices:
        if chance < probability:
            return fault
        chance -= probability
    return None


# --- watches --------------------------------------------------------------------------------------

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


class FaultyCluster(MiniCluster):
    def __init__(self, clock: Clock, faults: FaultPlan = NO_FAULTS, **others: Any) -> None:
        super().__init__(clock, **others)
        self._faults = faults
        self._calls = 0
        self._opened = 0
        self._watches: list[FaultyWatch] = []

    async def watch(self) -> AsyncIterator[ClusterEvent]:
        self._opened += 1
        watch = FaultyWatch(self.store, WATCHED, self.clock, self._faults, self._opened)
        self._watches.append(watch)
        try:
            for change in watch.first():
                yield sight_of(change)
            yield Synced()
            while True:
                for change in await watch.next():
                    yield sight_of(change)
        finally:
            self._watches.remove(watch)
            watch.close()

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        self._calls += 1
        fault = self._faults.on_call(self._calls, self.clock())
        match fault:
            case None:
                return await super().perform(effect, urgency)
            case CallFault.TIMEOUT_BEFORE | CallFault.TIMEOUT_AFTER:
                if fault is CallFault.TIMEOUT_AFTER:
                    await super().perform(effect, urgency)
                await asyncio.sleep(self._faults.timeout_seconds)
                return Lost(f"{effect.target}: no answer within {self._faults.timeout_seconds:g} s")
            case _:
                return Refused(f"{effect.target}: {fault.value}", again=fault is not CallFault.FORBIDDEN)

    def disconnect(self, fault: WatchFault = WatchFault.DROP) -> None:
        """Break every open watch."""
        for watch in self._watches:
            watch.break_off(fault)
