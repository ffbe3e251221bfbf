"""What does a Kubernetes event say, in the version v1 or in that of events.k8s.io?"""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.objects import Record


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """``at``: when it happened last; 0 if it does not say."""

    about: Target
    reason: str
    text: str
    at: float
    reporter: str = ""
    related: Target | None = None


class _Ref(Record, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _Meta(Record, frozen=True):
    creation_timestamp: str | None = None


class _Series(Record, frozen=True):
    last_observed_time: str | None = None


class _Event(Record, frozen=True):
    """In the version v1, or in that of events.k8s.io."""

    metadata: _Meta = _Meta()
    involved_object: _Ref | None = None
    regarding: _Ref | None = None
    related: _Ref | None = None
    reason: str | None = None
    message: str | None = None
    note: str | None = None
    series: _Series | None = None
    last_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    reporting_component: str | None = None
    reporting_controller: str | None = None


def seen_event(body: Json) -> SeenEvent | None:
    """None if it cannot be read: then it says nothing."""
    try:
        event = msgspec.convert(body, _Event)
    except msgspec.ValidationError:
        return None
    series = event.series.last_observed_time if event.series is not None else None
    times = (
        series,
        event.last_timestamp,
        event.deprecated_last_timestamp,
        event.event_time,
        event.first_timestamp,
        event.metadata.creation_timestamp,
    )
    return SeenEvent(
        _target(event.involved_object or event.regarding or _Ref()),
        event.reason or "",
        event.message or event.note or "",
        next((_moment(text) for text in times if text), 0.0),
        event.reporting_component or event.reporting_controller or "",
        _target(event.related) if event.related is not None else None,
    )


def _target(ref: _Ref) -> Target:
    return Target(ref.kind, ref.namespace, ref.name, ref.uid)


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
