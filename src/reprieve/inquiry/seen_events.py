"""What do Kubernetes events say about an object? Events outlive their objects for a while."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import msgspec

from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.model.effects import Target
from reprieve.model.objects import Record

PREEMPTED = "Preempted"
_PREEMPTED_BY = re.compile(
    r"Preempted by (?:(?P<kind>[a-z]+) (?P<uid>[-0-9a-zA-Z]+) )?.*?on node (?P<node>[-.\w]+)"
)
_DECISION = re.compile(r"\(decision (?P<id>d-[0-9a-f]+)\)")
_KINDS = {"pod": "Pod", "podgroup": "PodGroup", "compositepodgroup": "CompositePodGroup"}


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """``at``: when it happened last; 0 if it does not say."""

    about: Target
    reason: str
    text: str
    at: float
    reporter: str = ""
    related: Target | None = None


@dataclass(frozen=True, slots=True)
class EventPreemption:
    """What the event of a victim says of its preemptor. ``decision``: the id, if Reprieve decided."""

    preemptor: Target | None
    node: str
    decision: str


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


def events_about(cluster: DecodedCluster, subject: Target) -> list[SeenEvent]:
    """The oldest first. By UID, or by name if the UID of the subject is not known."""
    found = (event for event in all_events(cluster) if _is_about(event.about, subject))
    return sorted(found, key=lambda event: event.at)


def all_events(cluster: DecodedCluster) -> Iterator[SeenEvent]:
    for body in cluster.by_name.all("Event"):
        try:
            yield _seen(msgspec.convert(body, _Event))
        except msgspec.ValidationError:
            continue  # an event that cannot be read says nothing


def preemption_in(event: SeenEvent) -> EventPreemption | None:
    """None if the event is about something else."""
    if event.reason != PREEMPTED:
        return None
    match, decision = _PREEMPTED_BY.match(event.text), _DECISION.search(event.text)
    preemptor = event.related
    if preemptor is None and match is not None and match["uid"]:
        preemptor = Target(_KINDS.get(match["kind"], match["kind"]), "", "", match["uid"])
    return EventPreemption(
        preemptor, match["node"] if match is not None else "", decision["id"] if decision is not None else ""
    )


def _seen(event: _Event) -> SeenEvent:
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


def _is_about(about: Target, subject: Target) -> bool:
    if about.uid and subject.uid:
        return about.uid == subject.uid
    return (about.kind, about.namespace, about.name) == (subject.kind, subject.namespace, subject.name)


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
