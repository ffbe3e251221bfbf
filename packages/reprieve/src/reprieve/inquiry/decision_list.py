"""Recent decisions as one document and as a table: which pods were preempted lately, for what, and where?

``DecisionList`` is what `/debug/decisions` serves and what `reprieve decisions -o json` prints. Where the
decisions come from is not known here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from reprieve.cluster.api import timestamps
from reprieve.inquiry.object_names import is_named
from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.report.decisions import cost_text, gap_text, shown
from reprieve.report.hidden_names import MayGet, may_get_all, without_hidden_names
from reprieve.report.text_layout import TextLine, listed, table
from reprieve.report.v1alpha1 import decision_v1alpha1, plan_v1alpha1
from reprieve.runtime.recent_decisions import KeptDecision, PlanCourse
from reprieve.scheduler.reporting.decision import Decision, Outcome, PlanQuality, Preemption
from reprieve.scheduler.reporting.decision_document import (
    API_VERSION,
    decision_of,
    document_of,
    exact_stamp,
    moment_of,
    plain,
)
from reprieve.scheduler.reporting.older_decisions import V1ALPHA1

LIST_KIND = "DecisionList"
_HEADER = ("TIME", "ID", "PREEMPTOR", "OUTCOME", "VICTIMS", "NODE")
_WIDE = ("PRIORITY", "SPARED", "BUDGETS EXCEEDED BY", "DISTURBANCE", "BECAUSE")
_OUTCOMES = {
    Outcome.PLACED: "placed",
    Outcome.PREEMPTS: "preempts",
    Outcome.WAITING: "waits",
    Outcome.IMPROVING: "improves its plan",
    Outcome.UNSCHEDULABLE: "unschedulable",
    Outcome.FITS: "fits in place",
    Outcome.ERROR: "error",
}
_NODES_SHOWN = 2
_VICTIMS_SHOWN = 2


# --- documents -----------------------------------------------------------------------------------


def kept_document(kept: KeptDecision, may_get: MayGet = may_get_all, version: str = API_VERSION) -> Json:
    """A Decision, with what became of its plan; names that the reader may not get are left out."""
    decision, plan = without_hidden_names(kept.decision, may_get), kept.plan
    if version == V1ALPHA1:
        course = plan_v1alpha1(plan.stage, plan.end, plan.ended_at, plan.used, plan.wasted) if plan else None
        return {**decision_v1alpha1(decision), "attempts": kept.attempts, "plan": course}
    return {**document_of(decision), "attempts": kept.attempts, "plan": _written(plan)}


def _written(plan: PlanCourse | None) -> Json | None:
    if plan is None:
        return None
    written, ended_at = plain(plan), plan.ended_at
    reached = {stage: exact_stamp(moment) for stage, moment in plan.reached.items()}
    return {**written, "endedAt": exact_stamp(ended_at) if ended_at is not None else None, "reached": reached}


def list_document(items: Sequence[Json], revision: int = 0, version: str = API_VERSION) -> Json:
    """``revision``: of the scheduler's memory; a reader gives it back to get only what is new."""
    metadata = {"resourceVersion": str(revision)} if revision else {}
    return {"apiVersion": version, "kind": LIST_KIND, "metadata": metadata, "items": list(items)}


@dataclass(frozen=True, slots=True)
class ReadDecisions:
    """``unreadable``: how many documents could not be read."""

    decisions: tuple[KeptDecision, ...]
    unreadable: int = 0


def read_decisions(documents: Iterable[Json]) -> ReadDecisions:
    """Decisions from documents as ``kept_document`` writes them, in any version."""
    found: list[KeptDecision] = []
    unreadable = 0
    for document in documents:
        try:
            plan = _plan(document.get("plan"))
            attempts = msgspec.convert(document.get("attempts", 1), int)
            found.append(KeptDecision(decision_of(document), plan, attempts))
        except (AttributeError, ValueError):
            unreadable += 1
    return ReadDecisions(tuple(found), unreadable)


def _plan(written: Json | None) -> PlanCourse | None:
    if written is None:
        return None
    reached = {stage: moment_of(text) for stage, text in written.get("reached", {}).items()}
    ended_at = moment_of(written["endedAt"]) if written.get("endedAt") is not None else None
    return msgspec.convert({**written, "endedAt": ended_at, "reached": reached}, PlanCourse)


# --- which of them -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """``since``: a moment. The others match a name, `NAMESPACE/NAME` or a UID; empty: any."""

    since: float | None = None
    victim: str = ""
    preemptor: str = ""
    node: str = ""

    def matches(self, decision: Decision) -> bool:
        return (
            (self.since is None or decision.at >= self.since)
            and (not self.victim or _has_victim(decision, self.victim))
            and (not self.preemptor or _has_preemptor(decision, self.preemptor))
            and (not self.node or self.node in nodes_of(decision))
        )


def _has_victim(decision: Decision, text: str) -> bool:
    return any(
        is_named(victim.pod, text) or is_named(unit_target(victim.unit), text)
        for victim in (decision.preemption or Preemption()).victims
    )


def _has_preemptor(decision: Decision, text: str) -> bool:
    return is_named(decision.demand, text) or any(is_named(pod, text) for pod, _ in decision.places)


def unit_target(unit: str) -> Target:
    """A unit as an object: `PodGroup/team-a/train`. Its UID is not known."""
    kind, _, name = unit.partition("/")
    namespace, _, name = name.partition("/")
    return Target(kind, namespace, name, "")


def nodes_of(decision: Decision) -> list[str]:
    """The nodes on which the demand gets room, and those that lose pods for it."""
    room = decision.preemption or Preemption()
    return sorted({*decision.nodes, *room.victim_nodes})


# --- for people ----------------------------------------------------------------------------------


def decision_table(
    decisions: Sequence[KeptDecision], *, header: bool = True, wide: bool = False
) -> list[TextLine]:
    rows = [[*_row(kept), *(_more(kept) if wide else ())] for kept in decisions]
    lines = table([*_HEADER, *(_WIDE if wide else ())], rows)
    return lines if header else lines[1:]


def _more(kept: KeptDecision) -> list[str]:
    decision, room = kept.decision, kept.decision.preemption or Preemption()
    why = decision.eviction.because.text if decision.eviction is not None else "-"
    choice = room.choice_text if room.pods else why
    disturbance = _disturbance(room.quality) if room.quality is not None else "-"
    spared = room.spared_text if room.units_spared else "-"
    return [str(decision.priority), spared, str(room.broken), disturbance, choice]


def _disturbance(quality: PlanQuality) -> str:
    gap = f"gap {gap_text(quality)}" if quality.gap is not None else "not proved"
    return f"{cost_text(quality)} ({'proved' if quality.proved else gap})"


def _row(kept: KeptDecision) -> list[str]:
    decision = kept.decision
    return [
        timestamps.stamp(decision.at),
        decision.id,
        shown(decision.demand),
        outcome_text(kept),
        _victims(decision),
        listed(nodes_of(decision), _NODES_SHOWN) or "-",
    ]


def outcome_text(kept: KeptDecision) -> str:
    """What was decided, and of a plan, how far it got."""
    room = kept.decision.preemption
    needs_no_victim = kept.decision.outcome is Outcome.PREEMPTS and (room is None or not room.pods)
    text = _OUTCOMES[Outcome.WAITING if needs_no_victim else kept.decision.outcome]
    if kept.plan is not None:
        return f"{text} ({kept.plan.end.value if kept.plan.end is not None else kept.plan.stage})"
    return f"{text} ({kept.attempts} times)" if kept.attempts > 1 else text


def _victims(decision: Decision) -> str:
    room = decision.preemption
    if room is None or not room.pods:
        return "-"
    named = [
        f"{victim.pod.namespace}/{victim.pod.name}" if victim.pod.name else f"UID {victim.pod.uid}"
        for victim in room.victims[:_VICTIMS_SHOWN]
    ]
    more = room.pods - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 and named else "")
