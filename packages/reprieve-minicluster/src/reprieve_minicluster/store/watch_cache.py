"""Versions of objects as the store keeps them, and the watch cache: its last changes in order, with watchers.

There is one log and no queue per watcher: a watcher is a position in the log. So a slow watcher costs a
writer nothing; once the log has dropped a change that a watcher has not read, its watch has expired and it
must relist. The log is bounded in changes and in bytes. It knows nothing of what the objects mean.
"""

import asyncio
from collections.abc import Collection, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

import msgspec

from reprieve_minicluster.errors import expired


class Key(NamedTuple):
    """The resource type (``pods``, ``jobs.batch``), the namespace ("" for none), the name."""

    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f'{self.resource} "{self.name}"'


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One version of an object, as JSON."""

    key: Key
    uid: str
    version: int
    raw: bytes


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """``before``: the previous version of the object. ``object`` of a deletion: its last version."""

    version: int
    type: EventType
    object: Stored
    before: Stored | None


# In place of resource types: also those that are not served yet.
EVERYTHING = ("*",)
_MOST_BYTES = 256 * 1024 * 1024  # of objects in the log: a few thousand changes of the largest ones fill it


class WatchCache:
    """Keeps at least the last ``kept`` changes, or fewer large ones. A change raises the version by one."""

    def __init__(self, kept: int, changes: Sequence[WatchEvent] = (), most_bytes: int = _MOST_BYTES) -> None:
        """``changes``: those that a previous process left."""
        self._kept = kept
        self._most_bytes = most_bytes
        self._changes = list(changes)
        self._bytes = _bytes_of(changes)
        self._forgotten = changes[0].version - 1 if changes else 0
        self._watches: dict[str, list[CacheWatcher]] = {}

    @property
    def version(self) -> int:
        return self._forgotten + len(self._changes)

    @property
    def oldest(self) -> int:
        """The earliest version from which every later change is still in the log."""
        return self._forgotten

    def append(self, change: WatchEvent) -> None:
        self._changes.append(change)
        self._bytes += len(change.object.raw)
        if len(self._changes) >= 2 * self._kept:
            self._drop(self._kept)
        elif self._bytes > self._most_bytes:
            self._drop(self._older_half())
        for resource in (change.object.key.resource, *EVERYTHING):
            for watch in self._watches.get(resource, ()):
                watch.wake(change.version)

    def _drop(self, count: int) -> None:
        self._bytes -= _bytes_of(self._changes[:count])
        del self._changes[:count]
        self._forgotten += count

    def _older_half(self) -> int:
        """How many of the oldest changes have half of the bytes. Half: so that not each write drops some."""
        sizes = accumulate(len(change.object.raw) for change in self._changes)
        return next(count for count, size in enumerate(sizes, 1) if 2 * size >= self._bytes)

    def after(self, version: int, most: int | None = None) -> list[WatchEvent]:
        """Every change after a version, or the first of them; an ApiError 410 if it is too old, or was never
        reached."""
        if not self._forgotten <= version <= self.version:
            raise expired(version, self._forgotten)
        start = version - self._forgotten
        return self._changes[start : None if most is None else start + most]

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
    """Changes of some resource types from a version on. Close it after use."""

    def __init__(self, history: WatchCache, resources: frozenset[str], since: int) -> None:
        self._history = history
        self._resources = resources
        self._sleep: asyncio.Future[None] | None = None
        self.position = since

    def poll(self, most: int | None = None) -> list[WatchEvent]:
        """The changes since the last call; an ApiError 410 when the log no longer has them all.

        ``most``: of the log, to be looked at. So a watcher that waits for its client keeps few alive.
        """
        fresh = self._history.after(self.position, most)
        self.position += len(fresh)
        if self._resources.issuperset(EVERYTHING):
            return fresh
        return [change for change in fresh if change.object.key.resource in self._resources]

    async def wait(self, seconds: float | None = None) -> None:
        """Return when there may be something to poll, or when the time is over."""
        if self.position < self._history.version:
            await asyncio.sleep(0)  # yield to other tasks, or a busy watcher would starve them
            return
        loop = asyncio.get_running_loop()
        self._sleep = sleep = loop.create_future()
        # A bare timer: asyncio.timeout costs more than the rest of a delivery.
        timer = None if seconds is None else loop.call_later(seconds, _end, sleep)
        try:
            await sleep
        finally:
            if timer is not None:
                timer.cancel()
            self._skip()

    def wake(self, version: int) -> None:
        """Called for a change of its resource types. A watcher that slept has missed no earlier one."""
        if self._sleep is not None:
            self.position = version - 1
            _end(self._sleep)
            self._sleep = None

    def _skip(self) -> None:
        """No change woke it: all changes meanwhile were of other resource types, so skip them."""
        if self._sleep is not None:
            self.position = self._history.version
            self._sleep = None

    def close(self) -> None:
        self._history.forget(self)


def _bytes_of(changes: Sequence[WatchEvent]) -> int:
    return sum([len(change.object.raw) for change in changes])


def _end(sleep: asyncio.Future[None]) -> None:
    if not sleep.done():
        sleep.set_result(None)
