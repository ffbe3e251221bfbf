"""The controller of CustomResourceDefinitions: sets their status, and deletes their objects before them."""

from contextlib import suppress
from functools import partial

from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json
from reprieve_minicluster.control.control_loop import ContentDeletion
from reprieve_minicluster.control.object_guard import ObjectWork
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import CLEANUP_FINALIZER, section
from reprieve_minicluster.kinds.custom import DEFINITIONS, kind_of
from reprieve_minicluster.store import EventType, Key, Part, Store, WatchEvent, parsed
from reprieve_minicluster.store.conditions import StatusCondition, set_condition
from reprieve_minicluster.store.metadata import without_finalizer

_RETRY_SECONDS = 0.1  # while some of its objects still terminate


class CrdController(ContentDeletion):
    def __init__(self, store: Store) -> None:
        super().__init__(store, "CRD controller", DEFINITIONS)
        self._known: dict[Key, str] = {}
        self._waiting: set[Key] = set()  # definitions whose objects still exist

    def _on_change(self, change: WatchEvent) -> None:
        if change.type is EventType.DELETED:
            self._known.pop(change.object.key, None)
        else:
            self._known[change.object.key] = change.object.uid

    def _work(self) -> None:
        self._waiting.clear()
        for key in list(self._known):
            self._guard.run(ObjectWork("reconcile", key), partial(self._reconcile, key))

    def _next_at(self) -> float | None:
        return self._clock() + _RETRY_SECONDS if self._waiting else None

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
        kind = self._store.kinds.get(kind_of(body).resource)
        if kind is not None and kind.custom is not None and not self._is_emptied((kind.resource,)):
            return True
        self._store.patch(key, lambda now: without_finalizer(now, CLEANUP_FINALIZER), Part.MAIN, uid)
        return False

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
