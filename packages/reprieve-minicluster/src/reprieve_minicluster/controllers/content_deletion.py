"""Namespaces and CustomResourceDefinitions: their content is deleted before they are.

The controller of definitions also sets their status.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json
from reprieve_minicluster.control.control_loop import GuardedLoop
from reprieve_minicluster.control.object_guard import ObjectWork
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import CLEANUP_FINALIZER, NAMESPACE_FINALIZER, CustomKind, section
from reprieve_minicluster.kinds.custom import DEFINITIONS
from reprieve_minicluster.store import EventType, Key, Part, Store, Stored, WatchEvent, parsed
from reprieve_minicluster.store.conditions import StatusCondition, set_condition
from reprieve_minicluster.store.metadata import without_finalizer

# Every cluster has these, and they cannot be deleted.
SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_RETRY_SECONDS = 0.1  # while some of the content still terminates
_DELETIONS_PER_STEP = 500


class ContentDeletion(GuardedLoop):
    """Deletes all that is in an object before the object goes.

    ``_left``: how many deletions one object has left in this step; then others get their turn.
    """

    def __init__(self, store: Store, name: str, resource: str) -> None:
        super().__init__(store, name, (resource,))
        self._left = 0

    def _is_emptied(self, resources: Sequence[str], namespace: str = "") -> bool:
        """Delete some of what is there; whether nothing is left."""
        self._left = _DELETIONS_PER_STEP
        for item in self._store.list(resources, namespace).items:
            if self._left > 0:
                self._guard.run(ObjectWork("delete", item.key), partial(self._delete, item))
        return not self._store.list(resources, namespace).items

    def _delete(self, item: Stored) -> None:
        if "deletionTimestamp" not in parsed(item)["metadata"]:
            self._left -= 1
            with suppress(ApiError):  # it is gone already
                self._store.delete(item.key, item.uid)


# --- namespaces -----------------------------------------------------------------------------------


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


# --- custom kinds --------------------------------------------------------------------------------


class CrdController(ContentDeletion):
    """``_due``: definitions that changed, or whose objects still exist. ``_refused``: those whose names
    another one has."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "CRD controller", DEFINITIONS)
        self._due: dict[Key, None] = {}
        self._refused: dict[Key, None] = {}

    def _on_change(self, change: WatchEvent) -> None:
        key = change.object.key
        if change.type is EventType.DELETED:
            self._due.pop(key, None)
            self._refused.pop(key, None)
        else:
            self._due[key] = None
        self._due.update(self._refused)

    def _work(self) -> None:
        due, self._due = self._due, {}
        for key in due:
            self._guard.run(ObjectWork("reconcile", key), partial(self._reconcile, key))

    def _next_at(self) -> float | None:
        return self._clock() + _RETRY_SECONDS if self._due else None

    def _reconcile(self, key: Key) -> None:
        with suppress(ApiError):  # the definition is gone already
            if self._must_wait(key):
                self._due[key] = None

    def _must_wait(self, key: Key) -> bool:
        """Whether it waits for objects that still exist."""
        stored = self._store.get(key)
        body = parsed(stored)
        if "deletionTimestamp" not in body["metadata"]:
            self._store.patch(key, partial(self._accepted, key), Part.STATUS, stored.uid)
            return False
        if CLEANUP_FINALIZER not in (body["metadata"].get("finalizers") or ()):
            return False
        if self._served(key) is not None and not self._is_emptied((key.name,)):
            return True
        self._store.patch(key, lambda now: without_finalizer(now, CLEANUP_FINALIZER), Part.MAIN, stored.uid)
        return False

    def _served(self, key: Key) -> CustomKind | None:
        """The kind that it defines, named as it is; None if another one has the names."""
        served = self._store.kinds.get(key.name)
        return served.custom if served is not None else None

    def _accepted(self, key: Key, body: Json) -> Json:
        """Set the conditions NamesAccepted and Established."""
        spec, status, now = part(body, "spec"), section(body, "status"), self._clock()
        served = self._served(key)
        if served is not None:
            self._refused.pop(key, None)
            names = StatusCondition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
            there = StatusCondition(
                "Established", "True", "InitialNamesAccepted", "the initial names have been accepted"
            )
            status["acceptedNames"] = {
                "singular": served.singular,
                "listKind": served.list_kind,
                **part(spec, "names"),
            }
        else:
            self._refused[key] = None
            names = StatusCondition("NamesAccepted", "False", "KindConflict", "another kind uses these names")
            there = StatusCondition("Established", "False", "NotAccepted", "not all names are accepted")
        set_condition(status, names, now)
        set_condition(status, there, now)
        stored = next((text_in(v, "name") for v in items(spec, "versions") if v.get("storage") is True), "")
        kept = status.get("storedVersions") or []
        status["storedVersions"] = kept if stored in kept else [*kept, stored]
        return body
