"""Events on which the scheduler failed: each is set aside, and observed again after a pause that doubles.

Of an object only the latest version is kept.
"""

from dataclasses import dataclass

from reprieve.model.effects import Effect, Target
from reprieve.model.events import (
    Done,
    Event,
    EvictionsRead,
    Failed,
    Gone,
    PlanImproved,
    Seen,
    Synced,
    Unknown,
    Unread,
)
from reprieve.supervision.quarantine import Quarantine, SetAside

_Key = tuple[str, str, str] | Effect  # kind, namespace and name of an object, or the effect that was answered


@dataclass(frozen=True, slots=True)
class SchedulerFailure:
    """An exception that was contained, the object or demand that caused it, and when that is tried again."""

    target: Target
    error: Exception
    retry_at: float


def contained_text(error: Exception) -> str:
    """What readers of the object or demand are told.

    The words of the error may name objects of other namespaces: the log alone has them.
    """
    return f"the scheduler failed on it, and tries again later: {type(error).__name__}, see its log"


class SetAsideEvents:
    def __init__(self) -> None:
        self._quarantine: Quarantine[_Key] = Quarantine()
        self._events: dict[_Key, Event] = {}

    def __bool__(self) -> bool:
        return bool(self._events)

    def holds(self, event: Event) -> bool:
        """Whether the event has to wait. A deletion never does, and ends the wait of its object."""
        key = _key_of(event)
        if key is None or key not in self._events:
            return False
        if isinstance(event, Gone):
            self.release(event)
            return False
        self._events[key] = event
        return True

    def set_aside(self, event: Event, now: float) -> SetAside | None:
        """After a further failure; None if the event is about no object."""
        key = _key_of(event)
        if key is None:
            return None
        self._events[key] = event
        return self._quarantine.set_aside(key, now)

    def release(self, event: Event) -> None:
        key = _key_of(event)
        if key is not None:
            self._events.pop(key, None)
            self._quarantine.release(key)

    def due(self, now: float) -> list[Event]:
        return [self._events[key] for key in self._quarantine.due(now)]

    def next_time(self) -> float | None:
        return self._quarantine.next_at()


def target_of(event: Event) -> Target | None:
    match event:
        case Seen(thing):
            meta = thing.metadata
            return Target(type(thing).__name__, meta.namespace, meta.name, meta.uid)
        case Unread(target) | Gone(target):
            return target
        case Done(effect) | Failed(effect) | Unknown(effect):
            return effect.target
        case PlanImproved(demand):
            return demand
        case Synced() | EvictionsRead():
            return None


def _key_of(event: Event) -> _Key | None:
    if isinstance(event, Done | Failed | Unknown):
        return event.effect
    if isinstance(event, PlanImproved):
        return (PlanImproved.__name__, "", event.id)
    target = target_of(event)
    return (target.kind, target.namespace, target.name) if target is not None else None
