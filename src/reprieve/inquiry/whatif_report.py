"""What does a what-if answer to programs: JSON, and an exit code?

The JSON is versioned and stable. What people read is made in ``whatif_text``.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from reprieve.inquiry.whatif_records import SnapshotFacts, WhatIfAnswer, WhatIfOutcome, WhatIfReport
from reprieve.inquiry.whatif_v1alpha1 import answers_v1alpha1
from reprieve.model.json import Json
from reprieve.scheduler.decision_document import API_VERSION, placements_of, plain, stamp
from reprieve.scheduler.older_decisions import V1ALPHA1

MOST_NODES = 200  # of those that were excluded; the others are only counted
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


def answers_json(answers: Sequence[WhatIfAnswer], version: str = API_VERSION) -> Json:
    """One report; or a list, of several demands or of several policies."""
    if version == V1ALPHA1:
        return answers_v1alpha1(answers)
    reports = [report_json(report, answer) for answer in answers for report in answer.reports]
    if len(reports) == 1:
        return reports[0]
    return {"apiVersion": API_VERSION, "kind": "WhatIfReportList", "items": reports}


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
        "retryAt": stamp(report.retry_at) if report.retry_at is not None else None,
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
    return {
        "resourceVersion": snapshot.resource_version,
        "nodes": snapshot.nodes,
        "pods": snapshot.pods,
        "takenAt": stamp(snapshot.taken_at),
    }
