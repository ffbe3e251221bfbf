"""Deletion of namespaces: the controller deletes their content first, then releases them."""

from contextlib import suppress
from functools import partial

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.control_loop import earliest
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.object_guard import ObjectWork, object_guard
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.cluster.mini.stored_objects import Key, Stored
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent
from reprieve.model.json import Json

NAMESPACE_FINALIZER = "kubernetes"
# Every cluster has these, and they cannot be deleted.
SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_RETRY_SECONDS = 0.1  # while something in a namespace still terminates
_DELETIONS_PER_STEP = 500  # of one namespace; then the rest of the cluster gets its turn


class NamespaceController:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._ending: dict[Key, str] = {}
        self._guard = object_guard(store, "namespace controller")
        self._left = 0
        self.informer = Informer(store, ("namespaces",))

    def step(self) -> float | None:
        for change in self.informer.poll():
            work = ObjectWork("observe", change.object.key)
            self._guard.run(work, partial(self._see, change), at_once=change.type is EventType.DELETED)
        for key in list(self._ending):
            self._guard.run(ObjectWork("empty", key), partial(self._empty, key))
        self._guard.retry_due()
        return earliest(self._clock() + _RETRY_SECONDS if self._ending else None, self._guard.next_at())

    def _see(self, change: WatchEvent) -> None:
        key = change.object.key
        self._ending.pop(key, None)
        if change.type is EventType.DELETED:
            return
        meta = parsed(change.object)["metadata"]
        if "deletionTimestamp" in meta and NAMESPACE_FINALIZER in (meta.get("finalizers") or ()):
            self._ending[key] = change.object.uid

    def _empty(self, key: Key) -> None:
        uid = self._ending.get(key)
        if uid is None:
            return  # it is gone since it was set aside
        inside = [kind.resource for kind in self._store.kinds.values() if kind.namespaced]
        self._left = _DELETIONS_PER_STEP
        for item in self._store.list(inside, key.name).items:
            if self._left > 0:
                self._guard.run(ObjectWork("delete", item.key), partial(self._delete, item))
        if not self._store.list(inside, key.name).items:
            with suppress(ApiError):  # the namespace is gone already
                self._store.patch(key, released, Part.MAIN, uid)

    def _delete(self, item: Stored) -> None:
        if "deletionTimestamp" not in parsed(item)["metadata"]:
            self._left -= 1
            with suppress(ApiError):  # it is gone already
                self._store.delete(item.key, item.uid)


def released(body: Json) -> Json:
    """A namespace without the finalizer that holds it until it is empty."""
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != NAMESPACE_FINALIZER]
    return body
