"""How components of the cluster work on one object at a time: one that fails is set aside, with an event.

So one object cannot stop the work on the others. An object whose work raises an unexpected exception is
logged, and its work is tried again after a pause that doubles. An error of storage is no mistake: it concerns
every object, and restarts the component.
"""

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

from reprieve.model.effects import Announce, Target, Tone
from reprieve.supervision.quarantine import Quarantine, SetAside
from reprieve.supervision.supervisor import description_of, log_mishap
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.store import Key, StorageError, Store, parsed
from reprieve_minicluster.store.scheduler_calls import announce

W = TypeVar("W", bound=Hashable)


class Guard(Generic[W]):
    """``W`` names a piece of work: a step of the component and an object.

    ``report`` is called after each failure. ``passed_on``: exceptions that are no mistake, and that the
    component as a whole reacts to.
    """

    def __init__(
        self,
        component: str,
        clock: Callable[[], float],
        report: Callable[[W, Exception, SetAside], None],
        passed_on: tuple[type[Exception], ...] = (),
    ) -> None:
        self._component = component
        self._clock = clock
        self._report = report
        self._passed_on = passed_on
        self._quarantine: Quarantine[W] = Quarantine()
        self._kept: dict[W, Callable[[], object]] = {}

    def run(self, name: W, work: Callable[[], object], *, at_once: bool = False) -> None:
        """Work that is set aside is not done now: the latest of that name is kept and retried later.

        ``at_once``: do it now all the same, because it makes earlier work of that name obsolete.
        """
        if name in self._quarantine and not at_once:
            self._kept[name] = work
        else:
            self._attempt(name, work)

    def retry_due(self) -> None:
        for name in self._quarantine.due(self._clock()):
            self._attempt(name, self._kept[name])

    def next_at(self) -> float | None:
        """When ``retry_due`` has something to do."""
        return self._quarantine.next_at()

    def _attempt(self, name: W, work: Callable[[], object]) -> None:
        try:
            work()
        except self._passed_on:
            raise
        except Exception as error:
            now = self._clock()
            aside = self._quarantine.set_aside(name, now)
            self._kept[name] = work
            log_mishap(f"{self._component}: {name}", error, aside.until - now)
            self._report(name, error, aside)
        else:
            self._quarantine.release(name)
            self._kept.pop(name, None)


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
