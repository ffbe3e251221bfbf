"""What the cluster has stored: objects as raw JSON under one rising version, their watches, and the disk.

Other rooms import from here; modules of this room import from each other.
"""

from reprieve_minicluster.store.informer import Informer
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
    CacheWatcher,
    EventType,
    Key,
    Stored,
    WatchCache,
    WatchEvent,
)

__all__ = [
    "DEFAULT_GRACE_SECONDS",
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
