"""How is an eviction that counts against a limit written down, and read again after a restart?

The event ``Preempted`` of a victim names the workload, since the pod is gone when the event is read. A pod
that still terminates, and a group, show the mark of the decision that evicted them. Nothing is counted here.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reprieve.model.conditions import MARK
from reprieve.model.effects import Target
from reprieve.model.groups import Groups, group_key
from reprieve.model.objects import Condition, Pod
from reprieve.model.owners import Owners
from reprieve.model.workloads import PastEviction, root_name, shown_workload, workload_of
from reprieve.scheduler.plans.handover import decision_in, shown_mark

PREEMPTED = "Preempted"
EVENTS_KEPT = 3600.0  # seconds; the default of an API server

_WHOLE = "@"  # between a unit and the decision that evicted it
_NOTE = re.compile(
    r"; counts (?:once with all of (?P<unit_kind>\w+) (?P<unit>\S+) )?"
    r"as an eviction of (?P<kind>\w+) (?P<name>\S+)$"
)


@dataclass(frozen=True, slots=True)
class SentEviction:
    """A delete that is sent, or was. ``whole``: the pod goes with all of the unit that it is part of."""

    pod: Pod
    decision: str
    at: float
    whole: bool


def eviction_of(sent: SentEviction, groups: Groups, owners: Owners) -> PastEviction:
    """A unit that is evicted as a whole counts once; any other pod counts by itself."""
    unit = groups.unit(group_key(sent.pod)) if sent.whole else None
    key = sent.pod.metadata.uid if unit is None else f"{unit[0]}{_WHOLE}{sent.decision}"
    return PastEviction(workload=workload_of(sent.pod, groups, owners), key=key, at=sent.at)


# --- events --------------------------------------------------------------------------------------


def with_workload(note: str, eviction: PastEviction) -> str:
    unit, whole, _ = eviction.key.partition(_WHOLE)
    once = f"once with all of {shown_workload(unit)} " if whole else ""
    return f"{note}; counts {once}as an eviction of {shown_workload(eviction.workload)}"


def noted_eviction(pod: Target, note: str, at: float) -> PastEviction | None:
    """``pod``: that the event is about. None if the note names no workload of its namespace.

    Users may create events where they create pods: none of them says anything about other namespaces.
    """
    found, decision = _NOTE.search(note), decision_in(note)
    if found is None or found["name"].partition("/")[0] != pod.namespace:
        return None
    whole = f"{found['unit_kind']}/{found['unit']}{_WHOLE}{decision}"
    key = whole if found["unit"] else pod.uid
    return PastEviction(workload=f"{found['kind']}/{found['name']}", key=key, at=at)


# --- marks ---------------------------------------------------------------------------------------


def marked_evictions(
    pods: Iterable[Pod], groups: Groups, owners: Owners, wall: float
) -> Iterator[tuple[PastEviction, Pod | None]]:
    """With the pods that still terminate.

    A group is marked just before its first pod is deleted, and keeps the mark until it runs again.
    """
    for pod in pods:
        decision = decision_in(shown_mark(pod))
        if decision and pod.metadata.deletion_timestamp is not None:
            at, whole = _since(pod.status.conditions, wall), _went_whole(pod, decision, groups)
            yield eviction_of(SentEviction(pod, decision, at, whole), groups, owners), pod
    for key, group in groups.pod_groups.items():
        mark, unit = shown_mark(group), groups.unit(key)
        if mark and unit is not None:
            at, counted = _since(group.status.conditions, wall), f"{unit[0]}{_WHOLE}{decision_in(mark)}"
            yield PastEviction(workload=root_name(groups, key), key=counted, at=at), None


def _went_whole(pod: Pod, decision: str, groups: Groups) -> bool:
    key = group_key(pod)
    group = groups.pod_groups.get(key) if key is not None else None
    return group is not None and decision_in(shown_mark(group)) == decision


def _since(conditions: Iterable[Condition], wall: float) -> float:
    times = (c.last_transition_time for c in conditions if c.type == MARK)
    return next((time.timestamp() for time in times if time is not None), wall)
