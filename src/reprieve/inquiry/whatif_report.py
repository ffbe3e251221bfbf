"""What does a what-if answer to programs: JSON, and an exit code?

The JSON is versioned and stable. What people read is made in ``whatif_text``.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from reprieve.inquiry.whatif import (
    NodeVerdict,
    SnapshotFacts,
    WhatIfAnswer,
    WhatIfOutcome,
    WhatIfReport,
)
from reprieve.model.formatting import amount, writable
from reprieve.model.json import Json
from reprieve.report.decisions import loser_quality_json, own_priority_json, quality_json
from reprieve.scheduler.decision import Because, Exceeded, Miss, Spared, Victim

API_VERSION = "reprieve.dev/v1alpha1"
MOST_NODES = 200  # of those that were not chosen; the others are only counted
FITS, PREEMPTS, BREAKS_BUDGET, PARTIAL, CANNOT_FIT = 0, 10, 11, 12, 20


# --- exit codes ----------------------------------------------------------------------------------


def exit_code(answer: WhatIfAnswer) -> int:
    """The worst of several. From a part of the pods nothing better follows than that it may fit."""
    worst = max(map(_code, answer.reports), default=FITS)
    return max(worst, PARTIAL) if answer.snapshot.is_partial else worst


def _code(report: WhatIfReport) -> int:
    match report.outcome:
        case WhatIfOutcome.FITS:
            return FITS
        case WhatIfOutcome.PREEMPTS:
            return BREAKS_BUDGET if report.breaks_budget else PREEMPTS
        case WhatIfOutcome.UNSCHEDULABLE:
            return CANNOT_FIT


# --- JSON ----------------------------------------------------------------------------------------


def answers_json(answers: Sequence[WhatIfAnswer]) -> Json:
    """One report; or a list, of several demands or of several policies."""
    reports = [report_json(report, answer) for answer in answers for report in answer.reports]
    if len(reports) == 1:
        return reports[0]
    return {"apiVersion": API_VERSION, "kind": "WhatIfReportList", "items": reports}


def report_json(report: WhatIfReport, answer: WhatIfAnswer) -> Json:
    demand, controllers = report.demand, dict(report.controllers)
    return {
        "apiVersion": API_VERSION,
        "kind": "WhatIfReport",
        "outcome": str(report.outcome),
        "policy": answer.policy,
        "partial": answer.snapshot.is_partial,
        "seen": _seen_json(answer.snapshot),
        "demand": {
            "kind": demand.kind,
            "namespace": demand.namespace,
            "name": demand.name,
            "priority": demand.priority,
            "pods": demand.pods,
            "resize": report.resize,
        },
        "placements": {f"{pod.namespace}/{pod.name}": node for pod, node in report.placements},
        "waiting": [f"{pod.namespace}/{pod.name}" for pod in report.waiting],
        "victims": [_victim_json(victim, controllers.get(victim.pod)) for victim in report.victims],
        "budgets": [_budget_json(budget) for budget in report.exceeded],
        "spared": [_spared_json(spared) for spared in report.spared],
        "nodes": [_node_json(node) for node in report.nodes[:MOST_NODES]],
        "nodesLeftOut": max(0, len(report.nodes) - MOST_NODES),
        "decidedBy": _because_json(report.decided_by),
        **quality_json(report.quality, report.onward),
        "refusedBy": _because_json(report.refusal),
        "nearestMiss": _miss_json(report.miss),
        "nearestMissAfterPreemption": _miss_json(report.at_best),
        "retryAt": stamp(report.retry_at) if report.retry_at is not None else None,
        "notes": list(answer.notes),
        "snapshot": _snapshot_json(answer.snapshot),
    }


def _victim_json(victim: Victim, controller: str | None) -> Json:
    return {
        "namespace": victim.pod.namespace,
        "name": victim.pod.name,
        "uid": victim.pod.uid,
        "node": victim.node,
        "priority": victim.priority,
        **own_priority_json(victim.own_priority),
        "unit": "Pod" if victim.unit.startswith("Pod/") else victim.unit,
        "controller": controller,
        "breaksBudget": victim.budgets[0] if victim.budgets else None,
        "because": _because_json(victim.because),
    }


def _budget_json(budget: Exceeded) -> Json:
    return {"name": budget.budget, "disruptionsAllowed": budget.allowed, "evictions": budget.going}


def _spared_json(spared: Spared) -> Json:
    priorities = {"priority": spared.priority, **own_priority_json(spared.own_priority)}
    because = _because_json(spared.because)
    return {"unit": spared.unit, "pods": spared.pods, **priorities, "because": because}


def _node_json(node: NodeVerdict) -> Json:
    if node.excluded_by is not None:
        code = str(node.excluded_by.code)
        return {"name": node.name, "excludedBy": code, "because": _because_json(node.excluded_by)}
    plan: Json = {"victims": node.pods, "highestPriority": node.highest, "beyondBudgets": node.broken}
    plan |= {"units": list(node.units), **loser_quality_json(node.quality)}
    lost_by = node.lost_by.text if node.lost_by is not None else ""
    return {"name": node.name, "plan": plan, "lostBy": lost_by, "because": _because_json(node.lost_by)}


def _miss_json(miss: Miss | None) -> Json | None:
    if miss is None:
        return None
    return {
        "pod": f"{miss.pod.namespace}/{miss.pod.name}",
        "placedBefore": miss.placed,
        "needed": miss.needed,
        "node": miss.node or None,
        "resource": miss.resource or None,
        "short": amount(miss.resource, miss.short) if miss.resource else None,
        "nodes": miss.nodes,
        "because": _because_json(miss.because),
    }


def _because_json(because: Because | None) -> Json | None:
    return None if because is None else {"code": str(because.code), "text": because.text}


def _seen_json(snapshot: SnapshotFacts) -> Json:
    """``namespaces``: null if the pods of all of them were read."""
    namespaces = snapshot.pods_read_in
    return {"namespaces": None if namespaces is None else list(namespaces)}


def _snapshot_json(snapshot: SnapshotFacts) -> Json:
    return {
        "resourceVersion": snapshot.resource_version,
        "nodes": snapshot.nodes,
        "pods": snapshot.pods,
        "takenAt": stamp(snapshot.taken_at),
    }


def stamp(moment: float) -> str:
    when = datetime.fromtimestamp(writable(moment), UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
