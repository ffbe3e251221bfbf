"""Why was this pod or group preempted, or why does it still wait? The records of an answer.

Every statement says where it comes from: a decision of the scheduler, an event or a condition in the cluster,
objects as they are now, or a what-if on the cluster as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reprieve.cluster.api.event_contents import SeenEvent
from reprieve.inquiry.decision_list import kept_document, unit_target
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.seen_events import events_about
from reprieve.model.effects import Target
from reprieve.model.formatting import counted, moment_text
from reprieve.model.json import Json
from reprieve.model.objects import Pod, PodGroup, PriorityClass
from reprieve.report.decisions import decision_lines
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, indented
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.reporting.decision import Outcome, Preemption, Victim
from reprieve.scheduler.reporting.decision_document import API_VERSION

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
    """Compares UIDs if both are known, and names otherwise: a name may have belonged to another object."""
    if one.kind != other.kind:
        return False
    if one.uid and other.uid:
        return one.uid == other.uid
    return bool(one.name) and (one.namespace, one.name) == (other.namespace, other.name)


def _is(thing: Pod | PodGroup, namespace: str, name: str) -> bool:
    return thing.metadata.name == name and thing.metadata.namespace == namespace


# --- for people ----------------------------------------------------------------------------------


_SOURCES = {
    Source.DECISION: "decision",
    Source.EVENT: "event",
    Source.CONDITION: "condition",
    Source.OBJECT: "cluster now",
    Source.WHAT_IF: "what-if now",
}
_TITLES = {
    WhyState.PREEMPTED: "What would have protected it:",
    WhyState.PENDING: "What would let it run, least effort first:",
    WhyState.RESIZE_DEFERRED: "What would let it grow, least effort first:",
}


def why_lines(report: WhyReport) -> list[TextLine]:
    """The statements, each with its source in brackets; then what can be done."""
    if report.state is WhyState.DECIDED and report.decision is not None:
        return [*decision_lines(report.decision.decision), *indented(_plan_lines(report.decision))]
    style = LineStyle.PLAIN if report.state is WhyState.RUNNING else LineStyle.BAD
    lines = [TextLine(report.headline, style)]
    if report.decision is not None:
        lines.append(TextLine(f"Decision {report.decision.decision.id}.", LineStyle.FAINT))
    if report.statements:
        width = max(len(statement.topic) for statement in report.statements)
        topics = ("", *(one.topic for one in report.statements))
        pairs = zip(topics, report.statements, strict=False)
        lines += [BLANK, *indented(_statement(one, before, width) for before, one in pairs)]
    if report.remedies:
        title = _TITLES.get(report.state, "What can be done:")
        lines += [BLANK, TextLine(title, LineStyle.HEADING), *indented(_numbered(report.remedies))]
    return lines


def _statement(statement: Statement, before: str, width: int) -> TextLine:
    """``before``: the topic of the line above, which is not repeated."""
    topic = statement.topic if statement.topic != before else ""
    return TextLine(f"{topic.ljust(width)}  {statement.text} [{_SOURCES[statement.source]}]")


def _numbered(remedies: tuple[Remedy, ...]) -> Iterator[TextLine]:
    for number, remedy in enumerate(remedies, start=1):
        yield TextLine(f"{number}. {remedy.text}")
        if remedy.how:
            yield TextLine(f"   How: {remedy.how}", LineStyle.FAINT)


def _plan_lines(kept: KeptDecision) -> Iterator[TextLine]:
    if kept.attempts > 1:
        yield TextLine(f"It was decided {kept.attempts} times in a row with this outcome; this is the last.")
    plan = kept.plan
    if plan is None:
        return
    yield BLANK
    if plan.end is None:
        yield TextLine(f"The plan is being carried out: {plan.stage}.")
    else:
        when = f" at {moment_text(plan.ended_at)}" if plan.ended_at is not None else ""
        yield TextLine(f"The plan ended{when}: {plan.end.value} (last stage: {plan.stage}).")
    if plan.used:
        yield TextLine(f"The preemptor used the room of {counted(len(plan.used), 'evicted pod')}.")
    if plan.wasted:
        text = f"{counted(len(plan.wasted), 'pod')} evicted in vain: the preemptor did not use the room."
        yield TextLine(text, LineStyle.BAD)


# --- for programs --------------------------------------------------------------------------------


def why_json(report: WhyReport, version: str = API_VERSION) -> Json:
    subject, decision = report.subject, report.decision
    kept = kept_document(decision, version=version) if decision is not None else None
    return {
        "apiVersion": version,
        "kind": "WhyReport",
        "subject": {
            "kind": subject.kind,
            "namespace": subject.namespace or None,
            "name": subject.name or None,
            "uid": subject.uid or None,
        },
        "state": str(report.state),
        "text": report.headline,
        "statements": [
            {"topic": one.topic, "code": one.code, "text": one.text, "source": str(one.source)}
            for one in report.statements
        ],
        "remedies": [{"code": one.code, "text": one.text, "how": one.how or None} for one in report.remedies],
        "decision": kept,
        "notes": list(report.notes),
    }
