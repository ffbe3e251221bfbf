"""Why does a pod or a group still wait for room? And a resize that its kubelet has deferred?

What the cluster and the scheduler say of it comes first, then a what-if on the cluster as it is now.
``ways_to_run`` searches what would let it run.
"""

from collections.abc import Iterator, Sequence

from reprieve.inquiry.trials import Asking, Trials, leaving_pods
from reprieve.inquiry.ways_to_run import NO_WAYS, ways_to_run
from reprieve.inquiry.whatif import WhatIfOutcome, WhatIfReport
from reprieve.inquiry.why import Evidence, Remedy, Source, Statement, WhyReport, WhyState
from reprieve.model.effects import Target
from reprieve.model.formatting import counted, listed, moment_text
from reprieve.model.objects import Condition, Pod
from reprieve.model.resizing import PENDING
from reprieve.report.decisions import shown
from reprieve.scheduler.decision import Decision, Miss, Outcome
from reprieve.scheduler.targets import pod_target

_SCHEDULED = "PodScheduled"
_FINDINGS_SHOWN = 4


def why_pending(
    target: Target,
    waiting: Sequence[Pod],
    evidence: Evidence,
    asking: Asking,
    before: tuple[Statement, ...] = (),
) -> WhyReport:
    """``waiting``: the pod, or the pods of the group. ``before``: what happened to it earlier."""
    told = (*_gates(waiting), *_nominations(waiting), *_said_so_far(target, waiting, evidence), *before)
    trials = Trials.of_waiting(target, waiting, evidence, asking)
    report = trials.now()
    if report is None:
        text = f"{shown(target)} waits for a node."
        return WhyReport(target, WhyState.PENDING, text, told, notes=trials.problems)
    waits = "waits for a node" if target.kind == "Pod" else "waits for nodes"
    ways = ways_to_run(trials, report)
    return WhyReport(
        target,
        WhyState.PENDING,
        f"{shown(target)} {_headline(report, waits)}.",
        (*told, *_found_now(report), *_no_way(ways)),
        (*_gate_remedies(waiting), *(way for way in ways if way.code not in NO_WAYS)),
        notes=_policy_note(asking),
    )


def why_deferred(pod: Pod, evidence: Evidence, asking: Asking) -> WhyReport:
    target = pod_target(pod)
    told = tuple(_conditions((pod,), PENDING, "Kubelet"))
    trials = Trials.of_resize(pod, evidence, asking)
    report = trials.now()
    if report is None:
        text = f"The resize of {shown(target)} on {pod.spec.node_name} is deferred."
        return WhyReport(target, WhyState.RESIZE_DEFERRED, text, told, notes=trials.problems)
    headline = _headline(report, f"waits for more room on {pod.spec.node_name}")
    return WhyReport(
        target,
        WhyState.RESIZE_DEFERRED,
        f"The resize of {shown(target)} {headline}.",
        (*told, *_decided_so_far(target, evidence), *_found_now(report)),
        ways_to_run(trials, report),
        notes=_policy_note(asking),
    )


def _policy_note(asking: Asking) -> tuple[str, ...]:
    return (f"What-ifs were decided with the policy {asking.policy}; --policy chooses another.",)


# --- what is known -------------------------------------------------------------------------------


def _gates(waiting: Sequence[Pod]) -> Iterator[Statement]:
    gates = sorted({gate.name for pod in waiting for gate in pod.spec.scheduling_gates})
    if gates:
        text = f"No scheduler looks at it before its scheduling gates are removed: {listed(gates)}."
        yield Statement("Gates", "SchedulingGated", text, Source.OBJECT)


def _gate_remedies(waiting: Sequence[Pod]) -> Iterator[Remedy]:
    gates = sorted({gate.name for pod in waiting for gate in pod.spec.scheduling_gates})
    if gates:
        how = "whatever set them must remove them from spec.schedulingGates"
        yield Remedy("RemoveGates", f"The scheduling gates {listed(gates)} are removed.", how)


def _nominations(waiting: Sequence[Pod]) -> Iterator[Statement]:
    nodes = sorted({pod.status.nominated_node_name for pod in waiting} - {""})
    if nodes:
        text = f"Room is reserved for it on {listed(nodes)} (status.nominatedNodeName)."
        yield Statement("Reserved", "Nominated", text, Source.OBJECT)


def _said_so_far(target: Target, waiting: Sequence[Pod], evidence: Evidence) -> Iterator[Statement]:
    """The scheduler's last decision; without one, the condition that a scheduler has set."""
    decided = [*_decided_so_far(target, evidence)]
    yield from decided or _conditions(waiting, _SCHEDULED, "Scheduler")


def _decided_so_far(target: Target, evidence: Evidence) -> Iterator[Statement]:
    kept = evidence.last_decision_for(target)
    if kept is not None:
        times = f" (decided {kept.attempts} times)" if kept.attempts > 1 else ""
        text = f"{moment_text(kept.decision.at)}{times}: {kept.decision.text}."
        yield Statement("Scheduler", kept.decision.outcome.value, text, Source.DECISION)


def _conditions(pods: Sequence[Pod], kind: str, topic: str) -> Iterator[Statement]:
    conditions = (_condition(pod, kind) for pod in pods)
    found = next((one for one in conditions if one is not None), None)
    if found is not None:
        since = found.last_transition_time
        when = f"{moment_text(since.timestamp())}: " if since is not None else ""
        text = f"{when}{found.message or found.reason}"
        yield Statement(topic, found.reason or kind, f"{text.removesuffix('.')}.", Source.CONDITION)


def _condition(pod: Pod, kind: str) -> Condition | None:
    return next((c for c in pod.status.conditions if c.type == kind and c.reason), None)


# --- what the what-if finds ----------------------------------------------------------------------


def _headline(report: WhatIfReport, waits: str) -> str:
    nodes = listed(sorted({node for _, node in report.placements}))
    match report.outcome:
        case WhatIfOutcome.UNSCHEDULABLE if (
            report.refusal is not None and report.refusal.code == "NotDecided"
        ):
            return f"{waits}, and cannot be decided yet"
        case WhatIfOutcome.UNSCHEDULABLE:
            return f"{waits}: there is no room, and preemption does not help{_yet(report)}"
        case WhatIfOutcome.PREEMPTS:
            return f"{waits}: there is room on {nodes} once {_are(len(report.victims), 'pod')} preempted"
        case WhatIfOutcome.FITS:
            if leaving := leaving_pods(report):
                return f"{waits}: there is room on {nodes} once {_are(leaving, 'terminating pod')} gone"
            return f"{waits}: there is room on {nodes} now"


def _are(number: int, noun: str) -> str:
    return f"{counted(number, noun)} {'is' if number == 1 else 'are'}"


def _yet(report: WhatIfReport) -> str:
    return " yet" if report.retry_at is not None else ""


def _found_now(report: WhatIfReport) -> Iterator[Statement]:
    refused = [d for d in report.decisions if d.outcome in (Outcome.UNSCHEDULABLE, Outcome.ERROR)]
    if report.outcome is WhatIfOutcome.UNSCHEDULABLE and refused:
        yield from _findings(refused[-1])
        if report.miss is not None:
            yield _now("Nearest miss", report.miss.because.code, _miss(report.miss))
    if report.refusal is not None:
        topic = "Preemption" if refused else "Undecided"
        text = f"{'It cannot help: ' if refused else ''}{report.refusal.text}."
        yield _now(topic, report.refusal.code, text)
    if report.victims:
        named = [f"{v.pod.namespace}/{v.pod.name} (priority {v.priority}, {v.node})" for v in report.victims]
        yield _now("Victims", "Victims", f"{listed(named)}.")
    for budget in report.exceeded:
        text = f"PodDisruptionBudget {budget.budget} allows {budget.allowed}, and {budget.going} would go."
        yield _now("Budgets", "BudgetExceeded", text)


def _no_way(ways: Sequence[Remedy]) -> Iterator[Statement]:
    yield from (_now("Other ways", way.code, way.text) for way in ways if way.code in NO_WAYS)


def _findings(decision: Decision) -> Iterator[Statement]:
    if decision.growth is not None:
        text = f"{decision.growth.node} has no room for {decision.growth.text}."
        yield _now("Node", "NoRoom", text)
        return
    if not decision.considered:
        yield _now("Nodes", "NoNodes", "There is no node.")
    for finding in decision.findings[:_FINDINGS_SHOWN]:
        hope = "" if finding.curable else "; preemption cannot change that"
        yield _now("Nodes", str(finding.reason.code), f"{finding.reason.said_of(finding.nodes)}{hope}.")


def _miss(miss: Miss) -> str:
    placed = f"{miss.placed} of the {miss.needed} pods that it needs find a node; " if miss.placed else ""
    pod = f"for pod {miss.pod.name}, " if miss.needed > 1 else ""
    return f"{placed}{pod}{miss.because.text}."


def _now(topic: str, code: str, text: str) -> Statement:
    return Statement(topic, code, text, Source.WHAT_IF)
