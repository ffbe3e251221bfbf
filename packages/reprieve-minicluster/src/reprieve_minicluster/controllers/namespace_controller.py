"""Deletion of namespaces: the controller deletes their content first, then releases them."""

from contextlib import suppress
from functools import partial

from reprieve.model.json import Json
from reprieve_minicluster.control.control_loop import ContentDeletion
from reprieve_minicluster.control.object_guard import ObjectWork
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import NAMESPACE_FINALIZER
from reprieve_minicluster.store import EventType, Key, Part, Store, WatchEvent, parsed
from reprieve_minicluster.store.metadata import without_finalizer

# Every cluster has these, and they cannot be deleted.
SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_RETRY_SECONDS = 0.1  # while something in a namespace still terminates


class NamespaceController(ContentDeletion):
    def __init__(self, store: Store) -> None:
        super().__init__(store, "namespace controller", "namespaces")
        self._ending: dict[Key, str] = {}

    def _on_change(self, change: WatchEvent) -> None:
        key = change.object.key
        self._ending.pop(key, None)
        if change.type is EventType.DELETED:
            return
        meta = parsed(change.object)["metadata"]
        if "deletionTimestamp" in meta and NAMESPACE_FINALIZER in (meta.get("finalizers") or ()):
            self._ending[key] = change.object.uid

    def _work(self) -> None:
        for key in list(self._ending):
            self._guard.run(ObjectWork("empty", key), partial(self._empty, key))

    def _next_at(self) -> float | None:
        return self._clock() + _RETRY_SECONDS if self._ending else None

    def _empty(self, key: Key) -> None:
        uid = self._ending.get(key)
        if uid is None:
            return  # it is gone since it was set aside
        inside = [kind.resource for kind in self._store.kinds.values() if kind.namespaced]
        if self._is_emptied(inside, key.name):
            with suppress(ApiError):  # the namespace is gone already
                self._store.patch(key, released, Part.MAIN, uid)


def released(body: Json) -> Json:
    """A namespace without the finalizer that holds it until it is empty."""
    return without_finalizer(body, NAMESPACE_FINALIZER)
