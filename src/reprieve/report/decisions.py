"""A decision as lines for people and as JSON for programs.

Made from the decision alone, so that it reads the same when the objects it names are gone.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from math import isfinite

from reprieve.model.effects import Target
from reprieve.model.formatting import writable
from reprieve.model.json import Json
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, amount, counted, indented, listed, table
from reprieve.scheduler.decision import (
    Because,
    Decision,
    Eviction,
    Finding,
    Growth,
    Loser,
    Miss,
    Outcome,
    PlanQuality,
    Preemption,
    ProtectedBy,
    Spared,
    Victim,
    VictimsOnward,
    preempting_text,
    priority_text,
)

API_VERSION = "reprieve.dev/v1alpha1"

_PODS_SHOWN = 8
_IN_VAIN = "EvictedInVain"  # why nothing is evicted: an earlier preemption was of no use
OUTCOMES = {
    Outcome.PLACED: "Fits",
    Outcome.PREEMPTS: "Preempts",
    Outcome.WAITING: "Waits",
    Outcome.IMPROVING: "Improves",
    Outcome.UNSCHEDULABLE: "Unschedulable",
    Outcome.FITS: "FitsInPlace",
    Outcome.ERROR: "Error",
}


# --- for people ----------------------------------------------------------------------------------


def decision_lines(decision: Decision) -> list[TextLine]:
    """The outcome; the victims and spared units with reasons; the plans that were not chosen."""
    pods = f", {decision.pods} pods" if decision.pods > 1 else ""
    heading = f"{shown(decision.demand)} (priority {decision.priority}{pods}): decision {decision.id}"
    return [TextLine(heading, LineStyle.HEADING), *indented(_outcome(decision))]


def shown(target: Target) -> str:
    """An object by its name, or by its UID if the reader may not know the name."""
    return str(target) if target.name else f"{target.kind} with UID {target.uid}"


def shown_unit(unit: str) -> str:
    """A unit by its name; only its kind if the reader may not know the name."""
    kind, _, name = unit.partition("/")
    return unit if name else f"a {kind} of another namespace"


def _name(target: Target) -> str:
    return target.name or f"UID {target.uid}"


def _outcome(decision: Decision) -> Iterator[TextLine]:
    room = decision.preemption or Preemption()
    match decision.outcome:
        case Outcome.PLACED:
            yield TextLine(f"It fits without preemption: {_places(decision)}.", LineStyle.GOOD)
            if len(decision.places) < decision.pods:
                yield TextLine(f"{counted(decision.pods - len(decision.places), 'pod')} of it did not fit.")
        case Outcome.PREEMPTS | Outcome.WAITING:
            yield TextLine(_price(room), LineStyle.GOOD)
            yield TextLine(f"Then {_places(decision)}.", LineStyle.GOOD)
            yield from _preemption_lines(room)
        case Outcome.IMPROVING:
            yield TextLine(f"{decision.text[0].upper()}{decision.text[1:]}.")
            yield from _preemption_lines(room)
        case Outcome.UNSCHEDULABLE:
            yield from _refusal_lines(decision)
        case Outcome.ERROR:
            yield TextLine(f"No decision: {decision.text}.", LineStyle.BAD)
        case Outcome.FITS:
            yield TextLine(
                f"It fits without preemption: {_places(decision)}, once the kubelet acts.", LineStyle.GOOD
            )
    if decision.growth is not None and decision.growth.others:
        others = counted(decision.growth.others, "other member")
        first = listed(decision.growth.beside, _PODS_SHOWN)
        names = f": {first}" if decision.growth.others == len(decision.growth.beside) else ""
        yield TextLine(f"Decided in one go with {others} of its gang{names}.")
    if decision.unproved is not None:
        claim = "it needs these victims" if room.pods else "it does not fit"
        yield TextLine(f"That {claim} is {decision.unproved.text}.")
    if decision.retry_at is not None:
        what = _awaited(decision.eviction, decision.retry_at)
        yield TextLine(f"{what} at {_stamp(decision.retry_at)}; it is retried then.")


def _awaited(eviction: Eviction | None, moment: float) -> str:
    """What happens at the moment at which a refused demand is retried."""
    if eviction is not None and eviction.because.code == _IN_VAIN:
        return "It may preempt again"
    protected = eviction.protected if eviction is not None else ()
    ends = (one.ends for one in protected if one.ends and one.first is not None and one.first <= moment)
    what = next(ends, "")
    return f"{what[0].upper()}{what[1:]} ends" if what else "More pods may be evicted"


def _places(decision: Decision) -> str:
    if decision.growth is not None:
        return f"{_name(decision.demand)} gets {decision.growth.text} on {decision.growth.node}"
    placed = [f"{_name(pod)} goes to {node}" for pod, node in decision.places]
    return listed(placed, _PODS_SHOWN)


def _price(room: Preemption) -> str:
    verb = "is" if room.leaving == 1 else "are"
    if not room.pods:
        gone = f"It fits once {counted(room.leaving, 'terminating pod')} {verb} gone."
        return gone if room.leaving else "It fits in the room that is reserved for it."
    also = f"; {counted(room.leaving, 'pod')} {verb} terminating already" if room.leaving else ""
    return f"It fits after preemption: {preempting_text(room.giving_way)}{also}."


def _preemption_lines(room: Preemption) -> Iterator[TextLine]:
    if room.victims:
        yield BLANK
        rows = [_victim_row(victim) for victim in room.victims]
        yield from table(["VICTIM", "NODE", "PRIORITY", "EVICTED WITH", "BECAUSE"], rows, [2])
        yield from _more(room.pods - len(room.victims), "pod")
    for budget in room.exceeded:
        allowed = counted(budget.allowed, "eviction")
        name = f"PodDisruptionBudget {budget.budget}" if budget.budget else "A PodDisruptionBudget"
        text = f"{name} allows {allowed}; this plan has {budget.going}."
        yield TextLine(text, LineStyle.BAD)
    if room.spared:
        yield BLANK
        rows = [_spared_row(spared) for spared in room.spared]
        yield from table(["SPARED", "PODS", "PRIORITY", "BECAUSE"], rows, [1, 2])
        yield from _more(room.units_spared - len(room.spared), "unit")
    yield from _competition(room)
    yield from _quality_lines(room)


def _quality_lines(room: Preemption) -> Iterator[TextLine]:
    if room.quality is not None:
        yield BLANK
        yield from map(TextLine, quality_sentences(room.quality, room.onward))


def quality_sentences(quality: PlanQuality, onward: VictimsOnward | None) -> Iterator[str]:
    """What the plan costs by each criterion, what is known to be the least, and where its victims go."""
    yield f"Disturbance: {measured_text(quality.cost)}."
    if quality.proved:
        yield "Proved: no plan disturbs less."
    elif quality.bound:
        yield f"Not proved to be the least; no plan is below {measured_text(quality.bound)}."
    else:
        yield "Not proved to be the least."
    less = [(name, by) for name, by in quality.saved if by > 0]
    if less:
        yield f"PriorityCeiling would disturb more: {measured_text(less)}."
    if onward is not None and onward != VictimsOnward(0, 0, 0):
        yield _onward_text(onward)


def _onward_text(onward: VictimsOnward) -> str:
    counts = {
        "would fit": onward.fit,
        "would have to preempt others": onward.preempt,
        "would fit nowhere": onward.nowhere,
    }
    pods, found = sum(counts.values()), [(n, what) for what, n in counts.items() if n]
    if len(found) == 1:
        return f"If created again, {'the victim' if pods == 1 else f'the {pods} victims'} {found[0][1]}."
    return f"If created again, of {pods} victims {', '.join(f'{n} {what}' for n, what in found)}."


def measured_text(values: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {value:.10g}" if isfinite(value) else f"{name} -" for name, value in values)


def _competition(room: Preemption) -> Iterator[TextLine]:
    if room.losers and room.decided_by is not None:
        yield BLANK
        text = f"{room.domain} won over {counted(room.plans - 1, 'other plan')} by: {room.decided_by.text}."
        yield TextLine(text)
        rows = list(map(_loser_row, room.losers))
        header = ["NOT CHOSEN", "VICTIMS", "HIGHEST", "BUDGETS EXCEEDED BY", "LOST BY"]
        if any(loser.quality is not None for loser in room.losers):
            header += QUALITY_HEADER
            rows = [[*row, *quality_cells(o.quality)] for row, o in zip(rows, room.losers, strict=True)]
        yield from table(header, rows, [1, 2, 3])


QUALITY_HEADER = ("COST", "BOUND", "GAP", "PROVED")


def quality_cells(quality: PlanQuality | None) -> list[str]:
    """A row's part of a table of plans. Names of criteria stand with the cost."""
    if quality is None:
        return ["-"] * len(QUALITY_HEADER)
    bound = ", ".join(f"{value:.10g}" if isfinite(value) else "-" for _, value in quality.bound)
    gap = measured_text([quality.gap]) if quality.gap is not None else "-"
    return [measured_text(quality.cost), bound or "-", gap, "yes" if quality.proved else "no"]


def _victim_row(victim: Victim) -> list[str]:
    alone = victim.unit.startswith("Pod/")
    name = f"{victim.pod.namespace}/{victim.pod.name}" if victim.pod.name else _name(victim.pod)
    unit = "-" if alone else shown_unit(victim.unit)
    priority = priority_text(victim.priority, victim.own_priority)
    return [name, victim.node, priority, unit, victim.because.text]


def _spared_row(spared: Spared) -> list[str]:
    priority = priority_text(spared.priority, spared.own_priority)
    return [shown_unit(spared.unit), str(spared.pods), priority, spared.because.text]


def _loser_row(loser: Loser) -> list[str]:
    highest = "-" if loser.highest is None else str(loser.highest)
    return [loser.domain, str(loser.pods), highest, str(loser.broken), loser.lost_by.text]


def _more(count: int, noun: str) -> Iterator[TextLine]:
    if count > 0:
        yield TextLine(f"and {counted(count, f'more {noun}')}", LineStyle.FAINT)


def _refusal_lines(decision: Decision) -> Iterator[TextLine]:
    if decision.growth is not None:
        yield TextLine(f"{decision.growth.node} has no room for {decision.growth.text}.", LineStyle.BAD)
    else:
        yield TextLine(_nowhere(decision.considered), LineStyle.BAD)
    if decision.miss is not None and decision.considered:
        yield TextLine(_miss_text(decision.miss, one=decision.demand.kind == "Pod"))
    if decision.eviction is not None and decision.considered:
        yield TextLine(f"Preemption cannot help: {decision.eviction.because.text}.")
    if decision.findings:
        yield BLANK
        rows = [_finding_row(finding, in_vain=decision.eviction is not None) for finding in decision.findings]
        yield from table(["NODES", "PREEMPTION", "WHY NOT"], rows, [0])


def _nowhere(nodes: int) -> str:
    if nodes <= 1:
        return "It does not fit on the only node." if nodes else "There is no node."
    return f"It fits on none of {nodes} nodes."


def _miss_text(miss: Miss, *, one: bool) -> str:
    subject = "It" if one else f"Pod {_name(miss.pod)}"
    if miss.placed:
        subject = (
            f"{miss.placed} of the {miss.needed} pods that must start together fit; pod {_name(miss.pod)}"
        )
    if not miss.resource:
        return f"{subject} fits on no node: {miss.because.text}."
    lack = f"{amount(miss.resource, miss.short)} {miss.resource}"
    spread = f", the nearest of {counted(miss.nodes, 'node')} that lack it" if miss.nodes > 1 else ""
    kept = f", where {amount(miss.resource, miss.kept)} is reserved for nominated pods" if miss.kept else ""
    return f"{subject} lacks {lack} on {miss.node}{spread}{kept}."


def _finding_row(finding: Finding, *, in_vain: bool) -> list[str]:
    """``in_vain``: evictions could cure this reason on some node, but not enough of them may be made."""
    hope = "does not help" if in_vain else "may help"
    return [str(finding.nodes), hope if finding.curable else "cannot help", finding.reason.text]


# --- for programs --------------------------------------------------------------------------------


def decision_json(decision: Decision) -> Json:
    """A document whose fields are stable: those of a what-if report, and those of a decision."""
    room = decision.preemption or Preemption()
    demand = decision.demand
    return {
        "apiVersion": API_VERSION,
        "kind": "Decision",
        "id": decision.id,
        "at": _stamp(decision.at),
        "outcome": OUTCOMES[decision.outcome],
        "demand": {
            "kind": demand.kind,
            "namespace": demand.namespace or None,
            "name": demand.name or None,
            "uid": demand.uid,
            "priority": decision.priority,
            "pods": decision.pods,
        },
        "growth": _growth_json(decision.growth),
        "placements": {_key(pod): node for pod, node in decision.places},
        "domain": room.domain or None,
        "ceiling": room.ceiling,
        "victims": [_victim_json(victim) for victim in room.victims],
        "victimPods": room.pods,
        "victimNodes": dict(room.giving_way),
        "leavingPods": room.leaving,
        "budgets": [
            {"name": b.budget or None, "disruptionsAllowed": b.allowed, "evictions": b.going}
            for b in room.exceeded
        ],
        "spared": [_spared_json(spared) for spared in room.spared],
        "sparedUnits": room.units_spared,
        "nodes": [_loser_json(loser) for loser in room.losers],
        "plans": room.plans if room.domain else 0,
        "beyondBudgets": room.broken,
        "decidedBy": _because_json(room.decided_by),
        "considered": decision.considered,
        "refused": [_finding_json(finding) for finding in decision.findings],
        "nearestMiss": _miss_json(decision.miss),
        "eviction": _eviction_json(decision.eviction),
        "retryAt": _stamp(decision.retry_at) if decision.retry_at is not None else None,
        "unproved": _because_json(decision.unproved),
        **quality_json(room.quality, room.onward),
    }


def quality_json(quality: PlanQuality | None, onward: VictimsOnward | None = None) -> Json:
    if quality is None:
        return dict.fromkeys(("cost", "bound", "proved", "gap", "effort", "saved", "cascade"))
    return {
        "cost": _values_json(quality.cost),
        "bound": _values_json(quality.bound),
        "proved": quality.proved,
        "gap": _values_json([quality.gap] if quality.gap is not None else []),
        "effort": quality.effort,
        "saved": _values_json(quality.saved),
        "cascade": _onward_json(onward),
    }


def _onward_json(onward: VictimsOnward | None) -> Json | None:
    if onward is None:
        return None
    return {"fit": onward.fit, "preempt": onward.preempt, "nowhere": onward.nowhere}


def _values_json(values: Iterable[tuple[str, float]]) -> Json:
    """Without victims, there is no highest priority."""
    return {str(name): int(value) if isfinite(value) else None for name, value in values}


def _key(pod: Target) -> str:
    return f"{pod.namespace}/{pod.name}" if pod.name else pod.uid


def _growth_json(growth: Growth | None) -> Json | None:
    if growth is None:
        return None
    resources = {
        name: {"has": amount(name, has), "wants": amount(name, wants)}
        for name, has, wants in growth.resources
    }
    beside = {"beside": list(growth.beside), "others": growth.others} if growth.others else {}
    return {"node": growth.node, "resources": resources, **beside}


def _victim_json(victim: Victim) -> Json:
    return {
        "namespace": victim.pod.namespace or None,
        "name": victim.pod.name or None,
        "uid": victim.pod.uid,
        "node": victim.node,
        "priority": victim.priority,
        **own_priority_json(victim.own_priority),
        "unit": "Pod" if victim.unit.startswith("Pod/") else victim.unit.rstrip("/"),
        "breaksBudget": victim.budgets[0] if victim.budgets else None,
        "because": _because_json(victim.because),
    }


def _spared_json(spared: Spared) -> Json:
    because = _because_json(spared.because)
    return {
        "unit": spared.unit.rstrip("/"),
        "pods": spared.pods,
        "priority": spared.priority,
        **own_priority_json(spared.own_priority),
        "because": because,
    }


def own_priority_json(own: int | None) -> Json:
    """Where a group has another priority as a victim than the one with which it was scheduled."""
    return {} if own is None else {"schedulingPriority": own}


def _loser_json(loser: Loser) -> Json:
    plan: Json = {"victims": loser.pods, "highestPriority": loser.highest, "beyondBudgets": loser.broken}
    plan |= {"units": list(loser.units), "unitCount": loser.unit_count, **loser_quality_json(loser.quality)}
    return {"name": loser.domain, "plan": plan, "lostBy": _because_json(loser.lost_by)}


def loser_quality_json(quality: PlanQuality | None) -> Json:
    """Of a plan that was not chosen; nothing where disturbance is not measured."""
    if quality is None:
        return {}
    return {key: value for key, value in quality_json(quality).items() if key in _OF_LOSERS}


_OF_LOSERS = ("cost", "bound", "proved", "gap")


def _finding_json(finding: Finding) -> Json:
    because = {"code": str(finding.reason.code), "text": finding.reason.text}
    return {
        "nodes": finding.nodes,
        "excludedBy": because,
        "evictionMayHelp": finding.curable,
        "examples": list(finding.examples),
    }


def _miss_json(miss: Miss | None) -> Json | None:
    if miss is None:
        return None
    return {
        "pod": _key(miss.pod),
        "placedBefore": miss.placed,
        "needed": miss.needed,
        "node": miss.node or None,
        "resource": miss.resource or None,
        "short": amount(miss.resource, miss.short) if miss.resource else None,
        "nodes": miss.nodes,
        "kept": amount(miss.resource, miss.kept) if miss.kept else None,
        "because": _because_json(miss.because),
    }


def _eviction_json(eviction: Eviction | None) -> Json | None:
    if eviction is None:
        return None
    return {
        "because": _because_json(eviction.because),
        "nearestMiss": _miss_json(eviction.at_best),
        "protected": [_protected_json(one) for one in eviction.protected],
    }


def _protected_json(one: ProtectedBy) -> Json:
    first = _stamp(one.first) if one.first is not None else None
    named = {"code": one.code, "by": list(one.by), "pods": one.pods, "which": one.which}
    return {**named, "firstAt": first, "ends": one.ends}


def _because_json(because: Because | None) -> Json | None:
    return None if because is None else {"code": str(because.code), "text": because.text}


def _stamp(moment: float) -> str:
    when = datetime.fromtimestamp(writable(moment), UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
