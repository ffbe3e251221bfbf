"""Why was this pod or group preempted, or why does it still wait? The records of an answer.

Every statement says where it comes from: a decision of the scheduler, an event or a condition in the cluster,
objects as they are now, or a what-if on the cluster as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reprieve.cluster.api.event_contents import SeenEvent
from reprieve.inquiry.decision_list import unit_target
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.seen_events import events_about
from reprieve.model.effects import Target
from reprieve.model.objects import Pod, PodGroup, PriorityClass
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.decision import Outcome, Preemption, Victim
from reprieve.scheduler.handover import Stage

_NOT_EVICTED_YET = (Stage.NOMINATED.value, Stage.MARKING.value, Stage.COMMITTING.value)


class Source(StrEnum):
    DECISION = "Decision"
    EVENT = "Event"
    CONDITION = "Condition"
    OBJECT = "Object"  # as it is now
    WHAT_IF = "WhatIf"


class WhyState(StrEnum):
    PREEMPTED = "Preempted"
    PENDING = "Pending"
    RESIZE_DEFERRED = "ResizeDeferred"
    RUNNING = "Running"
    ENDED = "Ended"
    DECIDED = "Decided"  # a decision was asked about


@dataclass(frozen=True, slots=True)
class Statement:
    """``topic``: two or three words, for people. ``code``: for programs."""

    topic: str
    code: str
    text: str
    source: Source


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would have protected a victim, or what would let a pod run; ``how`` to get that."""

    code: str
    text: str
    how: str = ""


@dataclass(frozen=True, slots=True)
class WhyReport:
    """``remedies``: those of least effort first. ``decision``: which most statements are made from."""

    subject: Target
    state: WhyState
    headline: str
    statements: tuple[Statement, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    decision: KeptDecision | None = None
    notes: tuple[str, ...] = ()


class UnknownObjectError(Exception):
    """Nothing is known of what was asked about, as a sentence."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answer is made from. ``decisions``: the oldest first."""

    cluster: DecodedCluster
    decisions: tuple[KeptDecision, ...]
    now: float

    def pod(self, namespace: str, name: str) -> Pod | None:
        named = (pod for pod in self.cluster.pods() if _is(pod, namespace, name))
        return next(named, None)

    def pod_with_uid(self, uid: str) -> Pod | None:
        return next((pod for pod in self.cluster.pods() if uid and pod.metadata.uid == uid), None)

    def group(self, namespace: str, name: str) -> PodGroup | None:
        things = (one.object for one in self.cluster.seen)
        return next((t for t in things if isinstance(t, PodGroup) and _is(t, namespace, name)), None)

    def classes(self) -> list[PriorityClass]:
        """The lowest value first."""
        found = [one.object for one in self.cluster.seen if isinstance(one.object, PriorityClass)]
        return sorted(found, key=lambda known: (known.value, known.metadata.name))

    def events(self, subject: Target) -> list[SeenEvent]:
        return events_about(self.cluster, subject)

    def evictions_of(self, subject: Target) -> Iterator[tuple[KeptDecision, tuple[Victim, ...]]]:
        """Decisions that preempt this pod or group, the newest first, with its pods among the victims.

        A plan that ended before its first eviction evicted no pod.
        """
        for kept in reversed(self.decisions):
            if kept.decision.outcome is not Outcome.PREEMPTS or was_called_off(kept):
                continue
            room = kept.decision.preemption or Preemption()
            victims = tuple(victim for victim in room.victims if is_victim(victim, subject))
            if victims:
                yield kept, victims

    def last_decision_for(self, subject: Target) -> KeptDecision | None:
        """The newest decision in which it is the demand, or one of the pods of the demand."""
        for kept in reversed(self.decisions):
            decision = kept.decision
            if same(decision.demand, subject) or any(same(pod, subject) for pod, _ in decision.places):
                return kept
        return None


def was_called_off(kept: KeptDecision) -> bool:
    plan = kept.plan
    return plan is not None and plan.end is not None and plan.stage in _NOT_EVICTED_YET


def is_victim(victim: Victim, subject: Target) -> bool:
    return same(victim.pod, subject) or same(unit_target(victim.unit), subject)


def same(one: Target, other: Target) -> bool:
    """By UID if both are known, and by name otherwise: a name may have belonged to another object before."""
    if one.kind != other.kind:
        return False
    if one.uid and other.uid:
        return one.uid == other.uid
    return bool(one.name) and (one.namespace, one.name) == (other.namespace, other.name)


def _is(thing: Pod | PodGroup, namespace: str, name: str) -> bool:
    return thing.metadata.name == name and thing.metadata.namespace == namespace
