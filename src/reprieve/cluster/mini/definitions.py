"""Keeps the status of definitions true, and deletes what they define before they go."""

from contextlib import suppress

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.api.values import items, part, text_in
from reprieve.cluster.mini.conditions import Condition, set_condition
from reprieve.cluster.mini.custom import DEFINITIONS, kind_of
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Key, Verb
from reprieve.cluster.mini.kinds import section
from reprieve.cluster.mini.observer import Observer
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.model.json import Json

HELD_BY_OBJECTS = "customresourcecleanup.apiextensions.k8s.io"
_LOOK_AGAIN = 0.1  # seconds, while some of its objects still take their time


class Definitions:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[Key, str] = {}
        self.observer = Observer(store, (DEFINITIONS,))

    def step(self) -> float | None:
        for change in self.observer.poll():
            if change.verb is Verb.DELETED:
                self._known.pop(change.object.key, None)
            else:
                self._known[change.object.key] = change.object.uid
        waits = False
        for key, uid in list(self._known.items()):
            with suppress(ApiError):  # it is gone already
                waits |= self._look_at(key, uid)
        return self._clock() + _LOOK_AGAIN if waits else None

    def _look_at(self, key: Key, uid: str) -> bool:
        """Whether it waits for objects that are still there."""
        body = parsed(self._store.get(key))
        if "deletionTimestamp" not in body["metadata"]:
            self._store.patch(key, self._accepted, Part.STATUS, uid)
            return False
        if HELD_BY_OBJECTS not in (body["metadata"].get("finalizers") or ()):
            return False
        return self._emptied(key, uid, kind_of(body).resource)

    def _emptied(self, key: Key, uid: str, resource: str) -> bool:
        kind = self._store.kinds.get(resource)
        if kind is not None and kind.custom is not None:
            for item in self._store.list((resource,)).items:
                with suppress(ApiError):
                    self._store.delete(item.key, item.uid)
            if self._store.list((resource,)).items:
                return True
        self._store.patch(key, _released, Part.MAIN, uid)
        return False

    def _accepted(self, body: Json) -> Json:
        """As Kubernetes tells it: whether its names are free, and whether it is served."""
        spec, status, now = part(body, "spec"), section(body, "status"), self._clock()
        kind = kind_of(body)
        served = self._store.kinds.get(kind.resource)
        if served is not None and served.custom is not None:
            names = Condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
            there = Condition(
                "Established", "True", "InitialNamesAccepted", "the initial names have been accepted"
            )
            status["acceptedNames"] = {
                "singular": served.custom.singular,
                "listKind": served.custom.list_kind,
                **part(spec, "names"),
            }
        else:
            names = Condition("NamesAccepted", "False", "KindConflict", "another kind has these names")
            there = Condition("Established", "False", "NotAccepted", "not all names are accepted")
        set_condition(status, names, now)
        set_condition(status, there, now)
        stored = next((text_in(v, "name") for v in items(spec, "versions") if v.get("storage") is True), "")
        kept = status.get("storedVersions") or []
        status["storedVersions"] = kept if stored in kept else [*kept, stored]
        return body


def _released(body: Json) -> Json:
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != HELD_BY_OBJECTS]
    return body
