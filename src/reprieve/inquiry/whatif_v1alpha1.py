"""A what-if in the JSON of reprieve.dev/v1alpha1, for programs that read it: `-o json=v1alpha1`.

It goes with the next release. Documents of v1alpha2 are made in ``whatif_report``.
"""

from collections.abc import Sequence

from reprieve.inquiry.whatif_records import ExcludedNode, SnapshotFacts, WhatIfAnswer, WhatIfReport
from reprieve.model.formatting import amount
from reprieve.model.json import Json
from reprieve.report.v1alpha1 import API_VERSION, loser_quality_json, own_priority_json, quality_json, stamp
from reprieve.scheduler.decision import Because, Exceeded, Loser, Miss, Spared, Victim

_MOST_NODES = 200  # of those that were not chosen; the others are only counted


def answers_v1alpha1(answers: Sequence[WhatIfAnswer]) -> Json:
    """One report; or a list, of several demands or of several policies."""
    reports = [_report_json(report, answer) for answer in answers for report in answer.reports]
    if len(reports) == 1:
        return reports[0]
    return {"apiVersion": API_VERSION, "kind": "WhatIfReportList", "items": reports}


def _report_json(report: WhatIfReport, answer: WhatIfAnswer) -> Json:
    demand, room = report.demand, report.room
    nodes = [*map(_loser_json, room.losers), *map(_excluded_json, report.excluded)]
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
        "victims": [_victim_json(victim) for victim in report.victims],
        "budgets": [_budget_json(budget) for budget in report.exceeded],
        "spared": [_spared_json(spared) for spared in report.spared],
        "nodes": nodes[:_MOST_NODES],
        "nodesLeftOut": max(0, len(nodes) - _MOST_NODES),
        "decidedBy": _because_json(report.decided_by),
        **quality_json(room.quality, room.onward),
        "refusedBy": _because_json(report.refusal),
        "nearestMiss": _miss_json(report.miss),
        "nearestMissAfterPreemption": _miss_json(report.at_best),
        "retryAt": stamp(report.retry_at) if report.retry_at is not None else None,
        "notes": list(answer.notes),
        "snapshot": _snapshot_json(answer.snapshot),
    }


def _victim_json(victim: Victim) -> Json:
    return {
        "namespace": victim.pod.namespace,
        "name": victim.pod.name,
        "uid": victim.pod.uid,
        "node": victim.node,
        "priority": victim.priority,
        **own_priority_json(victim.own_priority),
        "unit": "Pod" if victim.unit.startswith("Pod/") else victim.unit,
        "controller": victim.controller or None,
        "breaksBudget": victim.budgets[0] if victim.budgets else None,
        "because": _because_json(victim.because),
    }


def _budget_json(budget: Exceeded) -> Json:
    return {"name": budget.budget, "disruptionsAllowed": budget.allowed, "evictions": budget.going}


def _spared_json(spared: Spared) -> Json:
    priorities = {"priority": spared.priority, **own_priority_json(spared.own_priority)}
    because = _because_json(spared.because)
    return {"unit": spared.unit, "pods": spared.pods, **priorities, "because": because}


def _excluded_json(node: ExcludedNode) -> Json:
    code = str(node.because.code)
    return {"name": node.name, "excludedBy": code, "because": _because_json(node.because)}


def _loser_json(loser: Loser) -> Json:
    plan: Json = {"victims": loser.pods, "highestPriority": loser.highest, "beyondBudgets": loser.broken}
    plan |= {"units": list(loser.units), **loser_quality_json(loser.quality)}
    because = _because_json(loser.lost_by)
    return {"name": loser.domain, "plan": plan, "lostBy": loser.lost_by.text, "because": because}


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
