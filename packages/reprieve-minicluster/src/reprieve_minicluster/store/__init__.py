"""What the cluster has stored: objects as raw JSON under one rising version, their watches, and the disk.

Other rooms import from here; modules of this room import from each other.
"""

from collections.abc import Iterator, Sequence

from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.store.sqlite_backend import SqliteBackend, StorageError
from reprieve_minicluster.store.store import (
    DEFAULT_GRACE_SECONDS,
    ObjectList,
    Part,
    Store,
    check_preconditions,
    parsed,
    without_status,
)
from reprieve_minicluster.store.watch_cache import (
    EVERYTHING,
    CacheWatcher,
    EventType,
    Key,
    Stored,
    WatchCache,
    WatchEvent,
)

__all__ = [
    "DEFAULT_GRACE_SECONDS",
    "EVERYTHING",
    "CacheWatcher",
    "EventType",
    "Informer",
    "Key",
    "ObjectList",
    "Part",
    "SqliteBackend",
    "StorageError",
    "Store",
    "Stored",
    "WatchCache",
    "WatchEvent",
    "check_preconditions",
    "parsed",
    "without_status",
]


class Informer:
    """Lists and watches some resource types, and reports every change without a gap. Close it after use.

    When its watch has expired it relists, and reports objects that vanished meanwhile as deleted. It never
    goes back in time: it ignores a list that is older than what it has reported. Deletions come last, as the
    port demands: when an object is reported as deleted, all earlier changes have been reported.
    """

    def __init__(self, store: Store, resources: Sequence[str]) -> None:
        self._store = store
        self._resources = resources
        self._known: dict[Key, Stored] = {}
        self._watch: CacheWatcher | None = None

    @property
    def position(self) -> int:
        """The version up to which it has reported everything."""
        return self._watch.position if self._watch is not None else -1

    def poll(self) -> list[WatchEvent]:
        """The changes since the last call; the first call reports every object as added."""
        if self._watch is None:
            return self.relist(self._store.list(self._resources))
        try:
            changes = self._watch.poll()
        except ApiError:  # a poll raises only 410: the watch has expired
            return self.relist(self._store.list(self._resources))
        for change in changes:
            self._learn(change)
        return changes

    async def wait(self, seconds: float | None = None) -> None:
        """Return when there may be something to poll, or when the time is over."""
        if self._watch is not None:
            await self._watch.wait(seconds)

    def relist(self, listing: ObjectList) -> list[WatchEvent]:
        if listing.version < self.position:
            return []
        self.close()
        self._watch = self._store.watch(self._resources, listing.version)
        changes = [*self._new(listing), *self._replaced(listing), *self._vanished(listing)]
        for change in changes:
            self._learn(change)
        return changes

    def _new(self, listing: ObjectList) -> Iterator[WatchEvent]:
        for item in listing.items:
            known = self._known.get(item.key)
            if known is None:
                yield WatchEvent(item.version, EventType.ADDED, item, None)
            elif known.uid == item.uid and known.version != item.version:
                yield WatchEvent(item.version, EventType.MODIFIED, item, known)

    def _replaced(self, listing: ObjectList) -> Iterator[WatchEvent]:
        """Another UID under the same name means that the known object is gone, at an unknown version."""
        for item in listing.items:
            known = self._known.get(item.key)
            if known is not None and known.uid != item.uid:
                yield WatchEvent(known.version, EventType.DELETED, known, known)
                yield WatchEvent(item.version, EventType.ADDED, item, None)

    def _vanished(self, listing: ObjectList) -> Iterator[WatchEvent]:
        there = {item.key for item in listing.items}
        for key, known in self._known.items():
            if key not in there:
                yield WatchEvent(known.version, EventType.DELETED, known, known)

    def _learn(self, change: WatchEvent) -> None:
        if change.type is EventType.DELETED:
            self._known.pop(change.object.key, None)
        else:
            self._known[change.object.key] = change.object

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
