"""Deletion of namespaces: the controller deletes their content first, then releases them."""

from contextlib import suppress
from itertools import islice

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.informer import Informer
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
        self.informer = Informer(store, ("namespaces",))

    def step(self) -> float | None:
        for change in self.informer.poll():
            self._see(change)
        for key, uid in list(self._ending.items()):
            with suppress(ApiError):  # the namespace is gone already
                self._empty(key, uid)
        return self._clock() + _RETRY_SECONDS if self._ending else None

    def _see(self, change: WatchEvent) -> None:
        key, meta = change.object.key, parsed(change.object)["metadata"]
        held = NAMESPACE_FINALIZER in (meta.get("finalizers") or ())
        if change.type is not EventType.DELETED and "deletionTimestamp" in meta and held:
            self._ending[key] = change.object.uid
        else:
            self._ending.pop(key, None)

    def _empty(self, key: Key, uid: str) -> None:
        inside = [kind.resource for kind in self._store.kinds.values() if kind.namespaced]
        content = self._store.list(inside, key.name).items
        staying = (item for item in content if "deletionTimestamp" not in parsed(item)["metadata"])
        for item in islice(staying, _DELETIONS_PER_STEP):
            self._delete(item)
        if not self._store.list(inside, key.name).items:
            self._store.patch(key, _released, Part.MAIN, uid)

    def _delete(self, item: Stored) -> None:
        with suppress(ApiError):
            self._store.delete(item.key, item.uid)


def _released(body: Json) -> Json:
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != NAMESPACE_FINALIZER]
    return body
