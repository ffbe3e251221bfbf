"""Decisions in the JSON of reprieve.dev/v1alpha1, for programs that read it: `-o json=v1alpha1`.

It goes with the next release. Documents of v1alpha2 are made in ``scheduler.reporting.decision_document``.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from reprieve.model.effects import Target
from reprieve.model.formatting import amount, writable
from reprieve.model.json import Json
from reprieve.scheduler.reporting.decision import (
    Decision,
    Eviction,
    EvictionReason,
    Exceeded,
    Finding,
    Growth,
    Loser,
    Measured,
    Miss,
    Outcome,
    PlanQuality,
    Preemption,
    ProtectedBy,
    Spared,
    Victim,
    VictimsOnward,
)

API_VERSION = "reprieve.dev/v1alpha1"
_OF_LOSERS = ("cost", "bound", "proved", "gap")
_OUTCOMES = {
    Outcome.PLACED: "Fits",
    Outcome.PREEMPTS: "Preempts",
    Outcome.WAITING: "Waits",
    Outcome.IMPROVING: "Improves",
    Outcome.UNSCHEDULABLE: "Unschedulable",
    Outcome.FITS: "FitsInPlace",
    Outcome.ERROR: "Error",
}


def decision_v1alpha1(decision: Decision) -> Json:
    room = decision.preemption or Preemption()
    demand = decision.demand
    return {
        "apiVersion": API_VERSION,
        "kind": "Decision",
        "id": decision.id,
        "at": millisecond_stamp(decision.at),
        "outcome": _OUTCOMES[decision.outcome],
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
        "victims": [victim_json(victim) for victim in room.victims],
        "victimPods": room.pods,
        "victimNodes": dict(room.victim_nodes),
        "leavingPods": room.leaving,
        "budgets": [budget_json(budget) for budget in room.exceeded],
        "spared": [spared_json(spared) for spared in room.spared],
        "sparedUnits": room.units_spared,
        "nodes": [_loser_json(loser) for loser in room.losers],
        "plans": room.plans if room.domain else 0,
        "beyondBudgets": room.broken,
        "decidedBy": because_json(room.decided_by),
        "considered": decision.considered,
        "refused": [_finding_json(finding) for finding in decision.findings],
        "nearestMiss": miss_json(decision.miss),
        "eviction": _eviction_json(decision.eviction),
        "retryAt": millisecond_stamp(decision.retry_at) if decision.retry_at is not None else None,
        "unproved": because_json(decision.unproved),
        **quality_json(room.quality, room.onward),
    }


def plan_v1alpha1(
    stage: str, end: str | None, ended_at: float | None, used: Sequence[str], wasted: Sequence[str]
) -> Json:
    ended = millisecond_stamp(ended_at) if ended_at is not None else None
    return {
        "stage": stage,
        "end": str(end) if end is not None else None,
        "endedAt": ended,
        "used": list(used),
        "wasted": list(wasted),
    }


def quality_json(quality: PlanQuality | None, onward: VictimsOnward | None = None) -> Json:
    if quality is None:
        return dict.fromkeys(("cost", "bound", "proved", "gap", "effort", "saved", "cascade"))
    return {
        "cost": _whole(quality.cost),
        "bound": _whole(quality.bound),
        "proved": quality.proved,
        "gap": _whole(dict([quality.gap]) if quality.gap is not None else {}),
        "effort": quality.effort,
        "saved": _whole(quality.saved),
        "cascade": _onward_json(onward),
    }


def _onward_json(onward: VictimsOnward | None) -> Json | None:
    if onward is None:
        return None
    return {"fit": onward.fit, "preempt": onward.preempt, "nowhere": onward.nowhere}


def _whole(values: Measured) -> Json:
    return {name: int(value) if value is not None else None for name, value in values.items()}


def _key(pod: Target) -> str:
    return f"{pod.namespace}/{pod.name}" if pod.name else pod.uid


def _growth_json(growth: Growth | None) -> Json | None:
    if growth is None:
        return None
    resources = {
        name: {"has": amount(name, one.has), "wants": amount(name, one.wants)}
        for name, one in growth.resources.items()
    }
    beside = {"beside": list(growth.beside), "others": growth.others} if growth.others else {}
    return {"node": growth.node, "resources": resources, **beside}


def victim_json(victim: Victim, more: Json | None = None) -> Json:
    return {
        "namespace": victim.pod.namespace or None,
        "name": victim.pod.name or None,
        "uid": victim.pod.uid,
        "node": victim.node,
        "priority": victim.priority,
        **_own_priority_json(victim.own_priority),
        "unit": "Pod" if victim.unit.startswith("Pod/") else victim.unit.rstrip("/"),
        **(more or {}),
        "breaksBudget": victim.budgets[0] if victim.budgets else None,
        "because": because_json(victim.because),
    }


def budget_json(budget: Exceeded) -> Json:
    return {"name": budget.budget or None, "disruptionsAllowed": budget.allowed, "evictions": budget.going}


def spared_json(spared: Spared) -> Json:
    because = because_json(spared.because)
    return {
        "unit": spared.unit.rstrip("/"),
        "pods": spared.pods,
        "priority": spared.priority,
        **_own_priority_json(spared.own_priority),
        "because": because,
    }


def _own_priority_json(own: int | None) -> Json:
    """The priority with which a group was scheduled, if it has another one as a victim."""
    return {} if own is None else {"schedulingPriority": own}


def _loser_json(loser: Loser) -> Json:
    return {"name": loser.domain, "plan": plan_json(loser), "lostBy": because_json(loser.lost_by)}


def plan_json(loser: Loser) -> Json:
    """A plan that was not chosen; nothing about quality where disturbance is not measured."""
    plan: Json = {"victims": loser.pods, "highestPriority": loser.highest, "beyondBudgets": loser.broken}
    plan |= {"units": list(loser.units), "unitCount": loser.unit_count}
    if loser.quality is None:
        return plan
    return {**plan, **{k: v for k, v in quality_json(loser.quality).items() if k in _OF_LOSERS}}


def _finding_json(finding: Finding) -> Json:
    because = {"code": str(finding.reason.code), "text": finding.reason.text}
    return {
        "nodes": finding.nodes,
        "excludedBy": because,
        "evictionMayHelp": finding.curable,
        "examples": list(finding.examples),
    }


def miss_json(miss: Miss | None) -> Json | None:
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
        "because": because_json(miss.because),
    }


def _eviction_json(eviction: Eviction | None) -> Json | None:
    if eviction is None:
        return None
    return {
        "because": because_json(eviction.because),
        "nearestMiss": miss_json(eviction.at_best),
        "tolerating": [_tolerating_json(one) for one in eviction.protected if one.code == "Toleration"],
        "limited": [_limited_json(one) for one in eviction.protected if one.code == "EvictionLimit"],
    }


def _tolerating_json(one: ProtectedBy) -> Json:
    return {"priorityClass": one.by[0], "pods": one.pods, "firstAt": _stamp_of(one.first)}


def _limited_json(one: ProtectedBy) -> Json:
    return {"workload": one.by[0], "pods": one.pods, "until": _stamp_of(one.first)}


def _stamp_of(moment: float | None) -> str | None:
    return millisecond_stamp(moment) if moment is not None else None


def because_json(because: EvictionReason | None) -> Json | None:
    return None if because is None else {"code": str(because.code), "text": because.text}


def millisecond_stamp(moment: float) -> str:
    when = datetime.fromtimestamp(writable(moment), UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
