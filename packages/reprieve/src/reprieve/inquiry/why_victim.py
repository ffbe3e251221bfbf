"""Why was a pod or a group preempted: by what, by which rule, at what cost, and what would have protected it?

From the decision of the scheduler if it is known, and otherwise from the event and the condition that
kube-scheduler leaves on a victim.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reprieve.cluster.api.event_contents import SeenEvent
from reprieve.inquiry.decision_list import unit_target
from reprieve.inquiry.protections import protections_against
from reprieve.inquiry.seen_events import EventPreemption, preemption_in
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.why import Evidence, Source, Statement, WhyReport, WhyState, same
from reprieve.model.effects import Target
from reprieve.model.formatting import counted, lasted, listed, moment_text
from reprieve.model.groups import group_key
from reprieve.model.objects import Pod
from reprieve.report.decisions import choice_sentences, quality_sentences, shown, shown_unit
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.plans.eviction_notes import PREEMPTED
from reprieve.scheduler.reporting.decision import Decision, PlanQuality, Preemption, Victim, priority_text
from reprieve.scheduler.targets import group_target, pod_target

MARK, _BY_SCHEDULER = "DisruptionTarget", "PreemptionByScheduler"
_SPARED_SHOWN = 3
_LOSERS_SHOWN = 3
_REASONS = {"RoomNeeded": "Its room was needed", "GoesWithItsGroup": "Its group was needed"}
_STARTS = ("Started", "Scheduled")


# --- from a decision -----------------------------------------------------------------------------


def preempted_by_decision(
    subject: Target, kept: KeptDecision, victims: Sequence[Victim], evidence: Evidence, asking: Asking
) -> WhyReport:
    """``victims``: the subject, or its pods. Its UID, if it was not known, is that of the victim."""
    decision, first = kept.decision, victims[0]
    known = first.pod if same(first.pod, subject) else subject
    where = listed(sorted({victim.node for victim in victims}))
    return WhyReport(
        known,
        WhyState.PREEMPTED,
        f"{shown(known)} was preempted on {where} at {moment_text(decision.at)}.",
        (
            *_from_decision(known, kept, victims),
            *_lost(known, kept, victims, evidence),
            *_group_left(known, decision.at, evidence),
            *replacement_of(known, decision.at, evidence),
        ),
        protections_against(decision.priority, known, first, evidence, asking),
        kept,
    )


def _from_decision(subject: Target, kept: KeptDecision, victims: Sequence[Victim]) -> Iterator[Statement]:
    decision, first = kept.decision, victims[0]
    room = decision.preemption or Preemption()
    yield _said("Preemptor", "Preemptor", _preemptor(decision, first))
    yield _said("Reason", first.because.code, _reason(subject, victims))
    code, rule = _rule(room)
    if rule:
        yield _said("Rule", code, rule)
    if room.quality is not None:
        code = "Proved" if room.quality.proved else _proved_code(room.quality)
        text = " ".join(quality_sentences(room.quality, room.onward))
        yield _said("Disturbance", code, text.removeprefix("Disturbance: "))
    if room.spared:
        yield _said("Spared", "Spared", _spared(room))
    yield _said("Budgets", *_budgets(room, victims))


def _proved_code(quality: PlanQuality) -> str:
    return "ProvedInPart" if quality.proved_through else "NotProved"


def _said(topic: str, code: str, text: str) -> Statement:
    return Statement(topic, code, text, Source.DECISION)


def _preemptor(decision: Decision, victim: Victim) -> str:
    grows = f", which asks for {decision.growth.text}" if decision.growth is not None else ""
    pods = f", {counted(decision.pods, 'pod')}" if decision.pods > 1 else ""
    alone = victim.unit.startswith("Pod/")
    whose = "the victim's is" if alone else f"that of {shown_unit(victim.unit)} is"
    own = f" as a victim, and {victim.own_priority} otherwise" if victim.own_priority is not None else ""
    priorities = f"Its priority is {decision.priority}, {whose} {victim.priority}{own}."
    return f"{shown(decision.demand)}{pods}{grows}. {priorities}"


def _reason(subject: Target, victims: Sequence[Victim]) -> str:
    first = victims[0]
    text = f"{_REASONS.get(first.because.code, 'It kept the preemptor out')}: {first.because.text}"
    if first.unit.startswith("Pod/") or first.because.code == "GoesWithItsGroup":
        return f"{text}."
    if same(unit_target(first.unit), subject):
        return f"{text}; a group is evicted whole or not at all ({counted(len(victims), 'pod')})."
    return f"{text}; {shown_unit(first.unit)} is evicted whole or not at all."


def _rule(room: Preemption) -> tuple[str, str]:
    ceiling = (
        f"No pod or group above priority {room.ceiling} had to be considered."
        if room.ceiling is not None
        else ""
    )
    text = " ".join(filter(None, (*choice_sentences(room.domain, room), ceiling)))
    if room.decided_by is None:
        code = "NoOtherPossible" if room.exhaustive else "NoOtherCompared"
        return code, text
    losers = [
        f"{loser.domain} would cost {counted(loser.pods, 'pod')}"
        + (f" of priority {loser.highest} or less" if loser.highest is not None else "")
        for loser in room.losers[:_LOSERS_SHOWN]
    ]
    return room.decided_by.code, f"{text} {'; '.join(losers)}." if losers else text


def _spared(room: Preemption) -> str:
    units = [
        f"{shown_unit(one.unit)} (priority {priority_text(one.priority, one.own_priority)}): "
        f"{one.because.text}"
        for one in room.spared[:_SPARED_SHOWN]
    ]
    more = room.units_spared - len(units)
    return "; ".join(units) + (f"; and {more} more: {room.spared_text} in all." if more > 0 else ".")


def _budgets(room: Preemption, victims: Sequence[Victim]) -> tuple[str, str]:
    exceeded = {budget.budget: budget for budget in room.exceeded}
    broken = sorted({name for victim in victims for name in victim.budgets})
    if not broken:
        return "NoBudgetExceeded", "Its eviction exceeded no PodDisruptionBudget."
    sentences = []
    for name in broken:
        known = exceeded.get(name)
        counts = f", which allowed {known.allowed} and lost {known.going}" if known is not None else ""
        sentences.append(f"PodDisruptionBudget {name or 'of its namespace'}{counts}")
    return "BudgetExceeded", f"Its eviction exceeded {'; '.join(sentences)}: no plan without that was found."


def _lost(
    subject: Target, kept: KeptDecision, victims: Sequence[Victim], evidence: Evidence
) -> Iterator[Statement]:
    room = kept.decision.preemption or Preemption()
    text = (
        "It was the only victim." if room.pods == 1 else f"{counted(room.pods, 'pod')} were evicted in all."
    )
    yield _said("Lost", "PodsEvicted", text)
    yield from _ran_for(subject, kept.decision.at, evidence)
    if kept.plan is None:
        return
    uids, plan = {victim.pod.uid for victim in victims}, kept.plan
    if uids & set(plan.wasted):
        end = f" (the plan ended with {plan.end.value})" if plan.end is not None else ""
        yield _said("Outcome", "EvictedInVain", f"In vain: the preemptor did not use the room{end}.")
    elif uids & set(plan.used):
        yield _said("Outcome", "RoomUsed", "The preemptor runs in the room that it left.")
    elif plan.end is None:
        yield _said("Outcome", "InProgress", f"The plan is being carried out: {plan.stage}.")


def _ran_for(subject: Target, until: float, evidence: Evidence) -> Iterator[Statement]:
    """The pod says when it started, or an event does if the pod is gone."""
    pod = evidence.pod_with_uid(subject.uid)
    if pod is not None and pod.status.start_time is not None:
        seconds = until - pod.status.start_time.timestamp()
        yield Statement("Lost", "RanFor", f"It had run for {lasted(seconds)}.", Source.OBJECT)
        return
    starts = [e for e in evidence.events(subject) if e.reason in _STARTS and 0 < e.at <= until]
    if starts:
        text = f"It had run for {lasted(until - starts[0].at)}."
        yield Statement("Lost", "RanFor", text, Source.EVENT)


def _group_left(subject: Target, since: float, evidence: Evidence) -> Iterator[Statement]:
    """Whether its gang has enough pods left. A pod that is gone belonged to the group of its replacement."""
    pods = [pod for pod in evidence.cluster.pods() if _is_it_or_after(pod, subject, since)]
    key = next((group_key(pod) for pod in pods if group_key(pod) is not None), None)
    if subject.kind == "PodGroup":
        key = (subject.namespace, subject.name)
    group = evidence.group(*key) if key is not None else None
    if group is None or group.spec.gang is None:
        return
    members = [pod for pod in evidence.cluster.pods() if group_key(pod) == key]
    running = sum(bool(pod.spec.node_name) and pod.metadata.deletion_timestamp is None for pod in members)
    needed = group.spec.gang.min_count
    code = "GroupBroken" if running < needed else "GroupWhole"
    text = f"{shown(group_target(group))} runs {running} of the {needed} pods it needs."
    yield Statement("Group", code, text, Source.OBJECT)


def _is_it_or_after(pod: Pod, subject: Target, since: float) -> bool:
    return (bool(subject.uid) and pod.metadata.uid == subject.uid) or _may_replace(pod, subject, since)


# --- from events ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sighting:
    """What is left of a preemption in a cluster where no decision is known."""

    event: SeenEvent | None
    said: EventPreemption | None
    pod: Pod | None  # still there, with the mark of a victim


def preempted_by_events(subject: Target, evidence: Evidence, asking: Asking) -> WhyReport | None:
    """None if nothing says that it was preempted."""
    found = _sighting(subject, evidence)
    if found is None:
        return None
    at = found.event.at if found.event is not None else 0.0
    known = found.event.about if found.event is not None else subject
    node = found.said.node if found.said is not None else ""
    where = f" on {node}" if node else ""
    when = f" at {moment_text(at)}" if at else ""
    preemptor = _seen_preemptor(found, evidence)
    priority = preemptor.spec.priority if preemptor is not None else None
    return WhyReport(
        known,
        WhyState.PREEMPTED,
        f"{shown(known)} was preempted{where}{when}.",
        (
            *_from_event(found, preemptor),
            *_ran_for(known, at, evidence),
            *_group_left(known, at, evidence),
            *replacement_of(known, at, evidence),
        ),
        protections_against(priority, known, None, evidence, asking) if priority is not None else (),
        notes=(_what_is_missing(found),),
    )


def _sighting(subject: Target, evidence: Evidence) -> _Sighting | None:
    events = [event for event in evidence.events(subject) if event.reason == PREEMPTED]
    pod = evidence.pod(subject.namespace, subject.name) if subject.kind == "Pod" else None
    marked = pod if pod is not None and _mark(pod) else None
    if not events and marked is None:
        return None
    event = events[-1] if events else None
    return _Sighting(event, preemption_in(event) if event is not None else None, marked)


def _mark(pod: Pod) -> str:
    """The message of the condition that a scheduler sets on a victim before it deletes it."""
    marks = (c for c in pod.status.conditions if c.type == MARK and c.status == "True")
    return next((c.message or c.reason for c in marks if c.reason == _BY_SCHEDULER), "")


def _seen_preemptor(found: _Sighting, evidence: Evidence) -> Pod | None:
    target = found.said.preemptor if found.said is not None else None
    if target is None or target.kind != "Pod":
        return None
    return evidence.pod_with_uid(target.uid) or evidence.pod(target.namespace, target.name)


def _from_event(found: _Sighting, preemptor: Pod | None) -> Iterator[Statement]:
    if found.event is not None:
        yield Statement("Event", PREEMPTED, f"{found.event.text}.", Source.EVENT)
    if found.pod is not None:
        yield Statement("Condition", MARK, f"{_mark(found.pod)}.", Source.CONDITION)
    if preemptor is not None:
        where = f" on {preemptor.spec.node_name}" if preemptor.spec.node_name else ", which still waits"
        text = f"{shown(pod_target(preemptor))}{where}. Its priority is {preemptor.spec.priority or 0}."
        yield Statement("Preemptor", "Preemptor", text, Source.OBJECT)
    elif found.said is not None and found.said.preemptor is not None:
        text = f"{shown(found.said.preemptor)} is gone, or you may not read it."
        yield Statement("Preemptor", "PreemptorUnknown", text, Source.OBJECT)


def _what_is_missing(found: _Sighting) -> str:
    decision = found.said.decision if found.said is not None else ""
    if decision:
        return (
            f"Decision {decision} has the rule that chose this victim and what was spared: read it from the "
            "scheduler with --server URL, or from its journal with --journal DIR."
        )
    return (
        "No decision of Reprieve is known for it. kube-scheduler keeps neither the rule that chose a victim "
        "nor what it spared; `reprieve whatif --policy Upstream` shows both before something is submitted."
    )


# --- what came after it --------------------------------------------------------------------------


def replacement_of(subject: Target, since: float, evidence: Evidence) -> Iterator[Statement]:
    """A pod of the same name, or newer pods of a controller whose name the pod's begins with."""
    if subject.kind != "Pod" or not subject.name:
        return
    newer = [pod for pod in evidence.cluster.pods() if _may_replace(pod, subject, since)]
    if not newer:
        yield Statement(
            "Replacement", "NoReplacement", "No newer pod of its controller was found.", Source.OBJECT
        )
        return
    newer.sort(key=lambda pod: (pod.metadata.name != subject.name, _created(pod), pod.metadata.name))
    pods = listed([_where(pod) for pod in newer], 2)
    yield Statement("Replacement", "Replacement", f"{pods}.", Source.OBJECT)


def _may_replace(pod: Pod, subject: Target, since: float) -> bool:
    meta = pod.metadata
    if meta.namespace != subject.namespace or meta.uid == subject.uid:
        return False
    if meta.name == subject.name:
        return True
    # Timestamps have whole seconds.
    owners = [owner.name for owner in meta.owner_references if owner.controller]
    return _created(pod) + 1.0 > since and any(subject.name.startswith(f"{owner}-") for owner in owners)


def _created(pod: Pod) -> float:
    created = pod.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0


def _where(pod: Pod) -> str:
    name = f"Pod {pod.metadata.namespace}/{pod.metadata.name}"
    if pod.spec.node_name:
        return f"{name} is {(pod.status.phase or 'bound').lower()} on {pod.spec.node_name}"
    nominated = pod.status.nominated_node_name
    return f"{name} waits for room on {nominated}" if nominated else f"{name} waits for a node"
