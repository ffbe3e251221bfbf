"""What do Kubernetes events say about an object? Events outlive their objects for a while."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reprieve.cluster.api.event_contents import SeenEvent, seen_event
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.model.effects import Target

PREEMPTED = "Preempted"
_PREEMPTED_BY = re.compile(
    r"Preempted by (?:(?P<kind>[a-z]+) (?P<uid>[-0-9a-zA-Z]+) )?.*?on node (?P<node>[-.\w]+)"
)
_DECISION = re.compile(r"\(decision (?P<id>d-[0-9a-f]+)\)")
_KINDS = {"pod": "Pod", "podgroup": "PodGroup", "compositepodgroup": "CompositePodGroup"}


@dataclass(frozen=True, slots=True)
class EventPreemption:
    """What the event of a victim says of its preemptor. ``decision``: the id, if Reprieve decided."""

    preemptor: Target | None
    node: str
    decision: str


def events_about(cluster: DecodedCluster, subject: Target) -> list[SeenEvent]:
    """The oldest first. By UID, or by name if the UID of the subject is not known."""
    found = (event for event in all_events(cluster) if _is_about(event.about, subject))
    return sorted(found, key=lambda event: event.at)


def all_events(cluster: DecodedCluster) -> Iterator[SeenEvent]:
    events = map(seen_event, cluster.by_name.all("Event"))
    return (event for event in events if event is not None)


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


def _is_about(about: Target, subject: Target) -> bool:
    if about.uid and subject.uid:
        return about.uid == subject.uid
    return (about.kind, about.namespace, about.name) == (subject.kind, subject.namespace, subject.name)
