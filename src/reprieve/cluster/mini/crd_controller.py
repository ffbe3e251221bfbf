"""The controller of CustomResourceDefinitions: sets their status, and deletes their objects before them."""

from contextlib import suppress
from functools import partial

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.api.values import items, part, text_in
from reprieve.cluster.mini.conditions import StatusCondition, set_condition
from reprieve.cluster.mini.control_loop import earliest
from reprieve.cluster.mini.custom_kinds import DEFINITIONS, kind_of
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.kinds import section
from reprieve.cluster.mini.object_guard import ObjectWork, object_guard
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.cluster.mini.stored_objects import Key, Stored
from reprieve.cluster.mini.watch_cache import EventType
from reprieve.model.json import Json

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_RETRY_SECONDS = 0.1  # while some of its objects still terminate
_DELETIONS_PER_STEP = 500  # of one kind; then the rest of the cluster gets its turn


class CrdController:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[Key, str] = {}
        self._waiting: set[Key] = set()  # definitions whose objects still exist
        self._guard = object_guard(store, "CRD controller")
        self._left = 0
        self.informer = Informer(store, (DEFINITIONS,))

    def step(self) -> float | None:
        for change in self.informer.poll():
            if change.type is EventType.DELETED:
                self._known.pop(change.object.key, None)
            else:
                self._known[change.object.key] = change.object.uid
        self._waiting.clear()
        for key in list(self._known):
            self._guard.run(ObjectWork("reconcile", key), partial(self._reconcile, key))
        self._guard.retry_due()
        return earliest(self._clock() + _RETRY_SECONDS if self._waiting else None, self._guard.next_at())

    def _reconcile(self, key: Key) -> None:
        uid = self._known.get(key, "")
        with suppress(ApiError):  # the definition is gone already
            if uid and self._must_wait(key, uid):
                self._waiting.add(key)

    def _must_wait(self, key: Key, uid: str) -> bool:
        """Whether it waits for objects that still exist."""
        body = parsed(self._store.get(key))
        if "deletionTimestamp" not in body["metadata"]:
            self._store.patch(key, self._accepted, Part.STATUS, uid)
            return False
        if CLEANUP_FINALIZER not in (body["metadata"].get("finalizers") or ()):
            return False
        return self._delete_objects(key, uid, kind_of(body).resource)

    def _delete_objects(self, key: Key, uid: str, resource: str) -> bool:
        kind = self._store.kinds.get(resource)
        if kind is not None and kind.custom is not None:
            self._left = _DELETIONS_PER_STEP
            for item in self._store.list((resource,)).items:
                if self._left > 0:
                    self._guard.run(ObjectWork("delete", item.key), partial(self._delete, item))
            if self._store.list((resource,)).items:
                return True
        self._store.patch(key, _released, Part.MAIN, uid)
        return False

    def _delete(self, item: Stored) -> None:
        if "deletionTimestamp" not in parsed(item)["metadata"]:
            self._left -= 1
            with suppress(ApiError):  # it is gone already
                self._store.delete(item.key, item.uid)

    def _accepted(self, body: Json) -> Json:
        """Set the conditions NamesAccepted and Established."""
        spec, status, now = part(body, "spec"), section(body, "status"), self._clock()
        kind = kind_of(body)
        served = self._store.kinds.get(kind.resource)
        if served is not None and served.custom is not None:
            names = StatusCondition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
            there = StatusCondition(
                "Established", "True", "InitialNamesAccepted", "the initial names have been accepted"
            )
            status["acceptedNames"] = {
                "singular": served.custom.singular,
                "listKind": served.custom.list_kind,
                **part(spec, "names"),
            }
        else:
            names = StatusCondition("NamesAccepted", "False", "KindConflict", "another kind uses these names")
            there = StatusCondition("Established", "False", "NotAccepted", "not all names are accepted")
        set_condition(status, names, now)
        set_condition(status, there, now)
        stored = next((text_in(v, "name") for v in items(spec, "versions") if v.get("storage") is True), "")
        kept = status.get("storedVersions") or []
        status["storedVersions"] = kept if stored in kept else [*kept, stored]
        return body


def _released(body: Json) -> Json:
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != CLEANUP_FINALIZER]
    return body
