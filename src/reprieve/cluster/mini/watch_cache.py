"""What changed, in order: the log of the store, and cursors that follow it.

There is one log and no queue per watcher: a watch is a position in the log. So a slow watcher costs a
writer nothing; when what it has not read is no longer kept, its watch has expired and it must list again.
The log knows nothing of what the objects mean.
"""

import asyncio
from collections.abc import Collection, Sequence
from enum import StrEnum
from types import TracebackType
from typing import Self

import msgspec

from reprieve.cluster.mini.errors import expired
from reprieve.cluster.mini.stored_objects import Stored


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """``before`` is what the object was; a deleted one is shown as it last was."""

    version: int
    type: EventType
    object: Stored
    before: Stored | None


class WatchCache:
    """The last changes: at least ``kept`` of them. Each change is one version further than the one before."""

    def __init__(self, kept: int, changes: Sequence[WatchEvent] = ()) -> None:
        """``changes``: the last ones of an earlier time."""
        self._kept = kept
        self._changes = list(changes)
        self._forgotten = changes[0].version - 1 if changes else 0
        self._watches: dict[str, list[CacheWatcher]] = {}

    @property
    def version(self) -> int:
        return self._forgotten + len(self._changes)

    @property
    def oldest(self) -> int:
        """The earliest version from which everything since is known."""
        return self._forgotten

    def append(self, change: WatchEvent) -> None:
        self._changes.append(change)
        if len(self._changes) >= 2 * self._kept:
            del self._changes[: self._kept]
            self._forgotten += self._kept
        for watch in self._watches.get(change.object.key.resource, ()):
            watch.wake(change.version)

    def after(self, version: int) -> list[WatchEvent]:
        """Every change later than a version. A version that was never reached here is as good as too old."""
        if not self._forgotten <= version <= self.version:
            raise expired(version, self._forgotten)
        return self._changes[version - self._forgotten :]

    def watch(self, resources: Collection[str], since: int) -> "CacheWatcher":
        self.after(since)
        watch = CacheWatcher(self, frozenset(resources), since)
        for resource in resources:
            self._watches.setdefault(resource, []).append(watch)
        return watch

    def forget(self, watch: "CacheWatcher") -> None:
        for watches in self._watches.values():
            if watch in watches:
                watches.remove(watch)


class CacheWatcher:
    """Changes of some resource types, from a version on. To be closed, or used in a ``with`` statement."""

    def __init__(self, history: WatchCache, resources: frozenset[str], since: int) -> None:
        self._history = history
        self._resources = resources
        self._sleep: asyncio.Future[None] | None = None
        self.position = since

    def poll(self) -> list[WatchEvent]:
        """What happened since the last call; an ApiError 410 when that is no longer known."""
        fresh = self._history.after(self.position)
        self.position = self._history.version
        return [change for change in fresh if change.object.key.resource in self._resources]

    async def wait(self, seconds: float | None = None) -> None:
        """Returns when there may be something to poll, or when the time is over."""
        if self.position < self._history.version:
            await asyncio.sleep(0)  # a busy watcher lets the others have their turn
            return
        loop = asyncio.get_running_loop()
        self._sleep = sleep = loop.create_future()
        # A bare alarm: a timeout of asyncio's own costs more than all the rest of a delivery.
        alarm = None if seconds is None else loop.call_later(seconds, _end, sleep)
        try:
            await sleep
        finally:
            if alarm is not None:
                alarm.cancel()
            self._rest()

    def wake(self, version: int) -> None:
        """A change that concerns this watch was made. One that slept has missed nothing before it."""
        if self._sleep is not None:
            self.position = version - 1
            _end(self._sleep)
            self._sleep = None

    def _rest(self) -> None:
        """Nobody woke it: whatever happened meanwhile concerns others."""
        if self._sleep is not None:
            self.position = self._history.version
            self._sleep = None

    def close(self) -> None:
        self._history.forget(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _end(sleep: asyncio.Future[None]) -> None:
    if not sleep.done():
        sleep.set_result(None)
