"""How does a report about exposure read: as tables, as names, and as JSON?"""

from collections.abc import Iterator
from datetime import UTC, datetime

from reprieve.inquiry.exposure import ExposedPod, ExposureReport, PreemptingClass
from reprieve.inquiry.whatif import WhatIfOutcome, WhatIfReport
from reprieve.model.conditions import NEVER
from reprieve.model.formatting import clock_time, counted, listed, writable
from reprieve.model.json import Json
from reprieve.model.workloads import shown_workload
from reprieve.preemption.eligibility import HIGHEST_PRIORITY, Protection
from reprieve.preemption.exposure import BudgetCharge
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, table
from reprieve.scheduler.reporting.decision import priority_text

API_VERSION = "reprieve.dev/v1alpha1"

_SHOWN = 2  # classes and budgets in the cell of a pod
_NONE = "-"


# --- for people ----------------------------------------------------------------------------------


def exposure_lines(
    report: ExposureReport, *, namespaces: bool = False, wide: bool = False, headers: bool = True
) -> list[TextLine]:
    """The pods, the most exposed first; then the priority classes, and what a demand would do.

    ``namespaces``: with a column for them. Without ``headers``, the rows of the pods alone.
    """
    cells = [_cells(pod, report, namespaces=namespaces, wide=wide) for pod in report.pods]
    heads = list(cells[0]) if cells else []
    numbers = [i for i, head in enumerate(heads) if head in _NUMBERS]
    pods = table(heads, [list(row.values()) for row in cells], numbers) if cells else []
    if not headers:
        return pods[1:]
    classes = _class_table(report) if report.classes and report.running else []
    sections = [section for section in (pods, [*_summary(report)], classes) if section]
    return [line for section in sections for line in (BLANK, *section)][1:]


def names(report: ExposureReport) -> list[str]:
    return [f"pod/{pod.name}" for pod in report.pods]


_NUMBERS = frozenset({"PRIORITY", "PREEMPTABLE FROM", "PODS STOPPED"})


def _cells(pod: ExposedPod, report: ExposureReport, *, namespaces: bool, wide: bool) -> dict[str, str]:
    """The columns of a pod in order, by their heads."""
    cells = {"NAMESPACE": pod.namespace} if namespaces else {}
    cells |= {
        "POD": pod.name,
        "PRIORITY": priority_text(pod.priority, pod.own_priority),
        "PREEMPTABLE FROM": _priority(pod.lowest),
        "BY CLASSES": listed(pod.preemptors, _SHOWN) or _NONE,
        "PROTECTED": _protected(pod, report.at),
        "BUDGET": listed([_budget(charge) for charge in pod.budgets], _SHOWN) or _NONE,
        "EVICTED WITH": _company(pod),
        "PODS STOPPED": str(pod.pods_stopped),
    }
    if report.at_priority is not None:
        cells[f"BY {report.at_priority}"] = _since(pod.open_from, report.at)
    if wide:
        named = [f"{pod.named_class} (preemption priority)"] if pod.named_class else []
        protectors = dict.fromkeys([*named, *(name for one in pod.protections for name in _protectors(one))])
        cells |= {"PROTECTED BY": ", ".join(protectors) or _NONE, "CLASS": pod.priority_class or _NONE}
        cells |= {"NODE": pod.node, "UID": pod.uid or _NONE}
    return cells


def _protectors(one: Protection) -> tuple[str, ...]:
    names = map(shown_workload, one.by)
    return tuple(f"{one.source} ({name})" for name in names) if one.source else tuple(names)


def _since(moment: float | None, now: float) -> str:
    if moment is None:
        return "never"
    return "now" if moment <= now else f"from {clock_time(moment, now)}"


def _priority(lowest: int | None) -> str:
    return "none" if lowest is None else str(lowest)


def _protected(pod: ExposedPod, now: float) -> str:
    """Until when a priority below the one that is shown may not preempt it, and which may then."""
    if pod.held_by_budget:
        return "by its budget"
    ends = (
        f"until {clock_time(level.since, now)}, then {_priority(level.priority)}" for level in pod.levels[1:]
    )
    forever = ["while it runs"] if any(one.until == NEVER for one in pod.protections) else []
    return ", ".join([*ends, *forever]) or _NONE


def _budget(charge: BudgetCharge) -> str:
    return f"{charge.name} ({charge.allowed} allowed)"


def _company(pod: ExposedPod) -> str:
    return _NONE if pod.unit == "Pod" else f"{pod.unit} ({counted(pod.unit_pods, 'pod')})"


def _summary(report: ExposureReport) -> Iterator[TextLine]:
    if report.demand is not None:
        yield from _demand_lines(report, report.demand)
    elif report.at_priority is not None:
        yield TextLine(_reach_text(report, report.at_priority))
    elif not report.pods:
        yield TextLine("No running pod is shown that preemption could evict.")
    for count, kind, reason in (
        (report.static, "static pod", ": the scheduler evicts no static pods"),
        (report.terminating, "terminating pod", ""),
    ):
        if count:
            verb = "is" if count == 1 else "are"
            yield TextLine(f"{counted(count, kind)} {verb} not listed{reason}.", LineStyle.FAINT)


def _reach_text(report: ExposureReport, priority: int) -> str:
    now = sum(pod.open_from is not None and pod.open_from <= report.at for pod in report.pods)
    later = len(report.pods) - now
    more = f", and {later} more when protections end" if later else ""
    return f"A demand of priority {priority} may preempt {now} of {counted(report.running, 'pod')} now{more}."


def _demand_lines(report: ExposureReport, demand: WhatIfReport) -> Iterator[TextLine]:
    where = listed(sorted({node for _, node in demand.placements}))
    subject = f"A pod of this shape and priority {demand.demand.priority}"
    match demand.outcome:
        case WhatIfOutcome.FITS:
            yield TextLine(f"{subject} fits on {where} without preemption.", LineStyle.GOOD)
        case WhatIfOutcome.PREEMPTS:
            shown = {pod.uid or (pod.namespace, pod.name) for pod in report.pods}
            taken = [v.pod for v in demand.victims if (v.pod.uid or (v.pod.namespace, v.pod.name)) in shown]
            victims = listed(sorted(f"{pod.namespace}/{pod.name}" for pod in taken))
            others = len(demand.victims) - len(taken)
            count = f"{len(taken)} of {counted(report.running, 'pod')}{f' ({victims})' if victims else ''}"
            beside = f", and {counted(others, 'pod')} not shown here" if others else ""
            yield TextLine(f"{subject} would run on {where} and preempt {count}{beside}.", LineStyle.BAD)
        case WhatIfOutcome.UNSCHEDULABLE:
            why = f": {demand.refusal.text}" if demand.refusal is not None else ""
            yield TextLine(f"{subject} fits nowhere, and preempts no pod{why}.")
        case WhatIfOutcome.UNKNOWN:
            because = demand.refusal.text if demand.refusal is not None else ""
            yield TextLine(f"Whether {subject[0].lower()}{subject[1:]} fits is unknown: {because}.")


def _class_table(report: ExposureReport) -> list[TextLine]:
    heads = ["PRIORITY CLASS", "VALUE", "PODS", "PENDING", "GROUPS", "MAY PREEMPT NOW", "AND LATER"]
    return table(heads, [_class_row(one) for one in reversed(report.classes)], [1, 2, 3, 4, 5, 6])


def _class_row(one: PreemptingClass) -> list[str]:
    reach = [str(one.now), str(one.later)] if one.preempts else ["never preempts", _NONE]
    name = one.name or "(no class)"
    shown = name if one.exists or not one.name else f"{name} (gone)"
    return [shown, str(one.value), str(one.pods), str(one.pending), str(one.groups), *reach]


# --- for programs --------------------------------------------------------------------------------


def exposure_json(report: ExposureReport, demand: Json | None = None) -> Json:
    """A document whose fields are stable. ``demand``: the report of its what-if, in JSON."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ExposureReport",
        "at": _stamp(report.at),
        "atPriority": report.at_priority,
        "runningPods": report.running,
        "staticPods": report.static,
        "terminatingPods": report.terminating,
        "pods": [_pod_json(pod) for pod in report.pods],
        "priorityClasses": [_class_json(one) for one in report.classes],
        "demand": demand,
        "notes": list(report.notes),
    }


def _pod_json(pod: ExposedPod) -> Json:
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "node": pod.node,
        "priority": pod.priority,
        **({"schedulingPriority": pod.own_priority} if pod.own_priority is not None else {}),
        **({"preemptionPriorityClass": pod.named_class} if pod.named_class else {}),
        "priorityClass": pod.priority_class or None,
        "unit": pod.unit,
        "unitPods": pod.unit_pods,
        "podsStopped": pod.pods_stopped,
        "preemptableFrom": [{"at": _stamp(level.since), "priority": level.priority} for level in pod.levels],
        "preemptableBy": list(pod.preemptors),
        "protections": [_protection_json(one) for one in pod.protections],
        "budgets": [_budget_json(charge) for charge in pod.budgets],
        "heldByBudget": pod.held_by_budget,
        "openFrom": None if pod.open_from is None else _stamp(pod.open_from),
    }


def _protection_json(one: Protection) -> Json:
    return {
        "code": one.code,
        "by": list(one.by),
        "reason": one.reason,
        "minimumPriority": one.from_priority if one.from_priority <= HIGHEST_PRIORITY else None,
        "until": None if one.until == NEVER else _stamp(one.until),
    }


def _budget_json(charge: BudgetCharge) -> Json:
    return {
        "name": f"{charge.namespace}/{charge.name}",
        "disruptionsAllowed": charge.allowed,
        "podsOfUnit": charge.charged,
        "exceeded": charge.is_exceeded,
    }


def _class_json(one: PreemptingClass) -> Json:
    return {
        "name": one.name or None,
        "value": one.value,
        "exists": one.exists,
        "preempts": one.preempts,
        "pods": one.pods,
        "pendingPods": one.pending,
        "podGroups": one.groups,
        "mayPreemptNow": one.now,
        "mayPreemptLater": one.later,
    }


def _stamp(moment: float) -> str:
    when = datetime.fromtimestamp(writable(moment), UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
