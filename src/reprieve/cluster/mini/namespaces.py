"""Namespaces that are being deleted: what they hold goes first, and then they do."""

from contextlib import suppress

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Change, Key, Stored, Verb
from reprieve.cluster.mini.observer import Observer
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.model.json import Json

HELD_BY_CONTENT = "kubernetes"
# What every cluster has from the beginning.
STANDARD = ("default", "kube-node-lease", "kube-public", "kube-system")
_LOOK_AGAIN = 0.1  # seconds, while something in a namespace still takes its time


class Namespaces:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._ending: dict[Key, str] = {}
        self.observer = Observer(store, ("namespaces",))

    def step(self) -> float | None:
        for change in self.observer.poll():
            self._see(change)
        for key, uid in list(self._ending.items()):
            with suppress(ApiError):  # it is gone already
                self._empty(key, uid)
        return self._clock() + _LOOK_AGAIN if self._ending else None

    def _see(self, change: Change) -> None:
        key, meta = change.object.key, parsed(change.object)["metadata"]
        held = HELD_BY_CONTENT in (meta.get("finalizers") or ())
        if change.verb is not Verb.DELETED and "deletionTimestamp" in meta and held:
            self._ending[key] = change.object.uid
        else:
            self._ending.pop(key, None)

    def _empty(self, key: Key, uid: str) -> None:
        inside = [kind.resource for kind in self._store.kinds.values() if kind.namespaced]
        content = self._store.list(inside, key.name).items
        for item in content:
            if "deletionTimestamp" not in parsed(item)["metadata"]:
                self._delete(item)
        if not self._store.list(inside, key.name).items:
            self._store.patch(key, _released, Part.MAIN, uid)

    def _delete(self, item: Stored) -> None:
        with suppress(ApiError):
            self._store.delete(item.key, item.uid)


def _released(body: Json) -> Json:
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != HELD_BY_CONTENT]
    return body
