"""What does a what-if answer to programs: JSON, and an exit code?

The JSON is versioned and stable: today's, and the version before for one more release. What people read is
made in ``whatif_text``.
"""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from reprieve.inquiry.whatif import ExcludedNode, SnapshotFacts, WhatIfAnswer, WhatIfOutcome, WhatIfReport
from reprieve.model.json import Json
from reprieve.report import v1alpha1
from reprieve.scheduler.reporting.decision import Loser, Miss
from reprieve.scheduler.reporting.decision_document import API_VERSION, exact_stamp, placements_of, plain
from reprieve.scheduler.reporting.older_decisions import V1ALPHA1

MOST_NODES = 200  # of those that were excluded; the others are only counted
FITS, PREEMPTS, BREAKS_BUDGET, PARTIAL, CANNOT_FIT, UNKNOWN, CHANGED = 0, 10, 11, 12, 20, 21, 30


# --- exit codes ----------------------------------------------------------------------------------


def exit_code(answer: WhatIfAnswer) -> int:
    """The worst of several. From a part of the pods nothing better follows than that it may fit."""
    worst = max(map(_code, answer.reports), default=FITS)
    return max(worst, PARTIAL) if answer.reports and answer.snapshot.is_partial else worst


def _code(report: WhatIfReport) -> int:
    match report.outcome:
        case WhatIfOutcome.FITS:
            return FITS
        case WhatIfOutcome.PREEMPTS:
            return BREAKS_BUDGET if report.breaks_budget else PREEMPTS
        case WhatIfOutcome.UNSCHEDULABLE:
            return CANNOT_FIT
        case WhatIfOutcome.UNKNOWN:
            return UNKNOWN


# --- does it still hold? -------------------------------------------------------------------------


def digest_of(answer: WhatIfAnswer) -> str:
    """The same for answers with the same outcomes, placements and victims, whatever else the cluster does."""
    said = sorted(map(_digested, answer.reports))
    return blake2b(msgspec.json.encode(said), digest_size=8).hexdigest()


def _digested(report: WhatIfReport) -> list[object]:
    demand = report.demand
    places = sorted((pod.namespace, pod.name, node) for pod, node in report.placements)
    victims = sorted((victim.pod.namespace, victim.pod.name) for victim in report.victims)
    return [demand.kind, demand.namespace, demand.name, report.resize, report.outcome, places, victims]


# --- JSON ----------------------------------------------------------------------------------------


def answers_json(answers: Sequence[WhatIfAnswer], version: str = API_VERSION) -> Json:
    """A report; of several demands or several policies, and where nothing needs a node, a list of reports."""
    written = _report_v1alpha1 if version == V1ALPHA1 else report_json
    reports = [written(report, answer) for answer in answers for report in answer.reports]
    if len(reports) == 1:
        return reports[0]
    notes = (
        {} if reports else {"notes": [*dict.fromkeys(note for answer in answers for note in answer.notes)]}
    )
    return {"apiVersion": version, "kind": "WhatIfReportList", "items": reports, **notes}


def report_json(report: WhatIfReport, answer: WhatIfAnswer) -> Json:
    """The record, without its decisions: what they say together is in ``preemption``."""
    shown = report.excluded[:MOST_NODES]
    written = plain(replace(report, decisions=(), excluded=shown))
    del written["decisions"]
    if report.preemption is not None:
        written["preemption"]["choice"] = report.preemption.choice_text
    return {
        "apiVersion": API_VERSION,
        "kind": "WhatIfReport",
        **written,
        "placements": placements_of(report.placements),
        "excludedLeftOut": len(report.excluded) - len(shown),
        "retryAt": exact_stamp(report.retry_at) if report.retry_at is not None else None,
        "digest": digest_of(answer),
        "startsAt": exact_stamp(report.starts_at) if report.starts_at is not None else None,
        "policy": answer.policy,
        "partial": answer.snapshot.is_partial,
        "seen": seen_json(answer.snapshot),
        "notes": list(answer.notes),
        "snapshot": snapshot_json(answer.snapshot),
    }


def seen_json(snapshot: SnapshotFacts) -> Json:
    """``namespaces``: null if the pods of all of them were read."""
    namespaces = snapshot.pods_read_in
    return {"namespaces": None if namespaces is None else list(namespaces)}


def snapshot_json(snapshot: SnapshotFacts) -> Json:
    """``takenAt``: null if the files do not say."""
    return {
        "resourceVersion": snapshot.resource_version,
        "nodes": snapshot.nodes,
        "pods": snapshot.pods,
        "takenAt": exact_stamp(snapshot.taken_at) if snapshot.is_dated else None,
    }


# --- JSON of v1alpha1, which goes with the next release -------------------------------------------


def _report_v1alpha1(report: WhatIfReport, answer: WhatIfAnswer) -> Json:
    demand, room = report.demand, report.room
    nodes = [*map(_other_plan_json, room.losers), *map(_excluded_json, report.excluded)]
    return {
        "apiVersion": V1ALPHA1,
        "kind": "WhatIfReport",
        "outcome": str(report.outcome),
        "policy": answer.policy,
        "partial": answer.snapshot.is_partial,
        "seen": seen_json(answer.snapshot),
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
        "victims": [
            v1alpha1.victim_json(victim, {"controller": victim.controller or None})
            for victim in report.victims
        ],
        "budgets": [v1alpha1.budget_json(budget) for budget in report.room.exceeded],
        "spared": [v1alpha1.spared_json(spared) for spared in report.room.spared],
        "nodes": nodes[:MOST_NODES],
        "nodesLeftOut": max(0, len(nodes) - MOST_NODES),
        "decidedBy": v1alpha1.because_json(report.room.decided_by),
        **v1alpha1.quality_json(room.quality, room.onward),
        "refusedBy": v1alpha1.because_json(report.refusal),
        "nearestMiss": _miss_without_kept(report.miss),
        "nearestMissAfterPreemption": _miss_without_kept(report.at_best),
        "retryAt": v1alpha1.millisecond_stamp(report.retry_at) if report.retry_at is not None else None,
        "notes": list(answer.notes),
        "snapshot": {
            **snapshot_json(answer.snapshot),
            "takenAt": v1alpha1.millisecond_stamp(answer.snapshot.taken_at),
        },
    }


def _excluded_json(node: ExcludedNode) -> Json:
    code = str(node.because.code)
    return {"name": node.name, "excludedBy": code, "because": v1alpha1.because_json(node.because)}


def _other_plan_json(loser: Loser) -> Json:
    plan = {key: value for key, value in v1alpha1.plan_json(loser).items() if key != "unitCount"}
    because = v1alpha1.because_json(loser.lost_by)
    return {"name": loser.domain, "plan": plan, "lostBy": loser.lost_by.text, "because": because}


def _miss_without_kept(miss: Miss | None) -> Json | None:
    found = v1alpha1.miss_json(miss)
    return {key: value for key, value in found.items() if key != "kept"} if found is not None else None
