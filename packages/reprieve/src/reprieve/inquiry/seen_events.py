"""What do Kubernetes events say about an object, and which evictions of workloads do they still show?

Events outlive their objects for a while. What a scheduler has in its memory is not to be read; a new leader
would find the same evictions as this module.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reprieve.cluster.api.event_contents import SeenEvent, seen_event
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.model.effects import Target
from reprieve.model.formatting import lasted
from reprieve.model.snapshot import Snapshot
from reprieve.model.workloads import PastEviction, moments_of
from reprieve.preemption.eviction_limit import EvictionLimit
from reprieve.scheduler.plans.eviction_notes import EVENTS_KEPT, PREEMPTED, marked_evictions, noted_eviction

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


# --- evictions -----------------------------------------------------------------------------------


def noted_evictions(cluster: DecodedCluster) -> tuple[PastEviction, ...]:
    """What events say, the oldest first."""
    events = (event for event in all_events(cluster) if event.reason == PREEMPTED)
    found = (noted_eviction(event.about, event.text, event.at) for event in events)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.at, one.key)))


def with_evictions(view: Snapshot, cluster: DecodedCluster, now: float) -> Snapshot:
    """The snapshot, with all that events and marks say of evictions."""
    pods = (compiled.pod for compiled in view.pods.compiled)
    marked = (one for one, _ in marked_evictions(pods, view.groups, view.owners, now))
    return replace(view, evictions=moments_of([*marked, *noted_evictions(cluster)]))


def limit_notes(limit: EvictionLimit | None) -> Sequence[str]:
    """What an answer that counts evictions may miss."""
    if limit is None:
        return ()
    text = "Evictions are counted from events and marks in the cluster, not from the memory of its scheduler"
    if limit.window <= EVENTS_KEPT:
        return (f"{text}.",)
    return (
        f"{text}: the API server keeps events for {lasted(EVENTS_KEPT)} by default, and the window of "
        f"evictionLimit is {lasted(limit.window)}.",
    )
