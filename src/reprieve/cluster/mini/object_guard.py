"""How components of the cluster work on one object at a time: one that fails is set aside, with an event.

An error of storage is no mistake: it concerns every object, and restarts the component.
"""

from contextlib import suppress
from typing import NamedTuple

from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.scheduler_calls import announce
from reprieve.cluster.mini.sqlite_backend import StorageError
from reprieve.cluster.mini.store import Store, parsed
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.effects import Announce, Target, Tone
from reprieve.supervision.guard import Guard
from reprieve.supervision.mishaps import description_of, log_mishap
from reprieve.supervision.quarantine import SetAside

_EVENTS = "events"
_LONGEST_NOTE = 1024  # characters, as in Kubernetes


class ObjectWork(NamedTuple):
    """A step of a component, and the object that it is about."""

    step: str
    key: Key

    def __str__(self) -> str:
        key = self.key
        return f"{self.step} {key.resource} {f'{key.namespace}/' if key.namespace else ''}{key.name}"


ObjectGuard = Guard[ObjectWork]


def report_unreadable(store: Store) -> None:
    """Objects that the store could not load: they stay on disk, and count as absent."""
    for key, error in store.unreadable.items():
        work = ObjectWork("load", key)
        log_mishap(f"store: {work}", error)
        with suppress(ApiError, StorageError):
            _announce(store, "store", work, error)


def object_guard(store: Store, component: str) -> ObjectGuard:
    def report(work: ObjectWork, error: Exception, _: SetAside) -> None:
        # The event is a courtesy: the log has it already.
        with suppress(ApiError, StorageError):
            _announce(store, component, work, error)

    return Guard(component, store.clock, report, passed_on=(StorageError,))


def _announce(store: Store, component: str, work: ObjectWork, error: Exception) -> None:
    key, kind = work.key, store.kinds.get(work.key.resource)
    if key.resource == _EVENTS or kind is None or not accepts_events(store, key.namespace):
        return
    found = store.find(key)
    target = Target(kind.kind, key.namespace, key.name, found.uid if found is not None else "")
    note = f"{component}: cannot {work.step} this object, which is set aside: {description_of(error)}"
    event = Announce(target, Tone.WARNING, "InternalError", "SetAside", note[:_LONGEST_NOTE], once=str(work))
    announce(store, event, store.clock(), component)


def accepts_events(store: Store, namespace: str) -> bool:
    """A namespace that is terminating accepts no new objects, and would never end if it got some."""
    found = store.find(Key("namespaces", "", namespace or "default"))
    return found is not None and "deletionTimestamp" not in parsed(found)["metadata"]
