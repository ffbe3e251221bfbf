"""Which answer does a question why get? It depends on what is known of the object: gone, waiting, running.

A pod that runs and one of the same name that was preempted before are told apart by their UIDs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reprieve.inquiry.asked_demands import waits
from reprieve.inquiry.object_names import ObjectName, namespace_hint, namespaces_with, nearest_hint
from reprieve.inquiry.protections import preemption_priority_statements, protection_statements
from reprieve.inquiry.trials import Asking, Trials, leaving_pods
from reprieve.inquiry.ways_to_run import NO_WAYS, ways_to_run
from reprieve.inquiry.whatif import WhatIfOutcome, WhatIfReport
from reprieve.inquiry.why import (
    Evidence,
    Remedy,
    Source,
    Statement,
    UnknownObjectError,
    WhyReport,
    WhyState,
)
from reprieve.inquiry.why_victim import preempted_by_decision, preempted_by_events
from reprieve.model.conditions import PENDING, is_deferred
from reprieve.model.effects import Target
from reprieve.model.formatting import counted, listed, moment_text
from reprieve.model.groups import GroupKey, group_key, groups_table, key_of
from reprieve.model.objects import CompositePodGroup, Condition, Pod, PodGroup, runs
from reprieve.report.decisions import shown
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.plans.eviction_notes import PREEMPTED
from reprieve.scheduler.reporting.decision import Decision, Miss, Outcome, Preemption
from reprieve.scheduler.targets import group_target, pod_target

# --- what waits ----------------------------------------------------------------------------------


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
        case WhatIfOutcome.UNKNOWN:
            return f"{waits}: whether it fits is unknown"
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
    for budget in report.room.exceeded:
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


# --- which answer --------------------------------------------------------------------------------


def why_decision(decision_id: str, decisions: Sequence[KeptDecision]) -> WhyReport:
    """The whole decision. Raises UnknownObjectError."""
    kept = next((kept for kept in reversed(decisions) if kept.decision.id == decision_id), None)
    if kept is None:
        raise UnknownObjectError(
            f"decision {decision_id} is not known: decisions that only place a pod are not kept, and old "
            "ones are only in the journal, which --journal DIR reads"
        )
    return WhyReport(kept.decision.demand, WhyState.DECIDED, kept.decision.text, decision=kept)


def why_object(name: ObjectName, evidence: Evidence, asking: Asking) -> WhyReport:
    """Raises UnknownObjectError."""
    pod = evidence.pod(name.namespace, name.name) if name.kind in ("Pod", "") else None
    if pod is not None:
        return _why_pod(pod, evidence, asking)
    group = evidence.group(name.namespace, name.name) if name.kind in ("PodGroup", "") else None
    if group is not None:
        return _why_group(*_scheduled_with(group, evidence, asking), evidence, asking)
    if name.kind == "CompositePodGroup":
        groups = groups_table(one.object for one in evidence.cluster.seen)
        root = groups.composites.get((name.namespace, name.name))
        if root is not None:
            return _why_group(
                group_target(root), _pods_of(groups.beneath(key_of(root)), evidence), evidence, asking
            )
    for kind in (name.kind,) if name.kind else ("Pod", "PodGroup"):
        found = _why_gone(Target(kind, name.namespace, name.name, ""), evidence, asking)
        if found is not None:
            return found
    raise UnknownObjectError(_unknown(name, evidence))


def _unknown(name: ObjectName, evidence: Evidence) -> str:
    """A victim that is gone may be meant, too: then only decisions know its namespace."""
    rooms = (kept.decision.preemption or Preemption() for kept in evidence.decisions)
    victims = (victim.pod for room in rooms for victim in room.victims)
    gone = {pod.namespace for pod in victims if pod.name == name.name and pod.kind == (name.kind or "Pod")}
    things = [one.object for one in evidence.cluster.seen]
    hint = namespace_hint(namespaces_with(name, things) or gone) or nearest_hint(name, things)
    return f"{name} is not known: it is not in the cluster, and no decision or event names it{hint}"


def _why_pod(pod: Pod, evidence: Evidence, asking: Asking) -> WhyReport:
    target = pod_target(pod)
    by_name = Target("Pod", target.namespace, target.name, "")
    if pod.metadata.deletion_timestamp is not None:
        found = _why_gone(target, evidence, asking)
        if found is not None:
            return found
    if not runs(pod):
        return _why_gone(by_name, evidence, asking) or _running(
            target, f"{pod.status.phase}", evidence, WhyState.ENDED
        )
    key = group_key(pod)
    group = evidence.group(*key) if key is not None else None
    if not pod.spec.node_name and group is not None:
        return _why_group(*_scheduled_with(group, evidence, asking), evidence, asking, of=target)
    if not pod.spec.node_name:
        return why_pending(target, (pod,), evidence, asking, before=_earlier(target, evidence))
    if is_deferred(pod):
        return why_deferred(pod, evidence, asking)
    found = _why_gone(by_name, evidence, asking) or _running(
        target, f"running on {pod.spec.node_name}", evidence, WhyState.RUNNING
    )
    return replace(found, statements=(*found.statements, *_protected(pod, evidence, asking)))


def _protected(pod: Pod, evidence: Evidence, asking: Asking) -> Iterator[Statement]:
    yield from preemption_priority_statements(pod, evidence, asking)
    yield from protection_statements(pod, evidence, asking)


def _members(group: PodGroup, evidence: Evidence) -> list[Pod]:
    key = (group.metadata.namespace, group.metadata.name)
    return [pod for pod in evidence.cluster.pods() if group_key(pod) == key]


def _scheduled_with(group: PodGroup, evidence: Evidence, asking: Asking) -> tuple[Target, list[Pod]]:
    """The group and its pods; or, if pods of it wait, the tree that they are scheduled with."""
    members, groups = _members(group, evidence), groups_table(one.object for one in evidence.cluster.seen)
    keys = (asking.settings.demand_of_pod(pod, groups) for pod in members if not pod.spec.node_name)
    key = next((key for key in keys if key.kind is DemandKind.TREE), None)
    root = groups.composites.get(key.object) if key is not None else None
    if root is None:
        return group_target(group), members
    return group_target(root), _pods_of(groups.leaves(key_of(root)), evidence)


def _pods_of(groups: Iterable[GroupKey], evidence: Evidence) -> list[Pod]:
    inside = {*groups}
    return [pod for pod in evidence.cluster.pods() if group_key(pod) in inside]


def _why_group(
    target: Target,
    members: Sequence[Pod],
    evidence: Evidence,
    asking: Asking,
    of: Target | None = None,
) -> WhyReport:
    """``of``: the pod that was asked about; pods of a group are scheduled with it."""
    waiting = [pod for pod in members if waits(pod)]
    if waiting:
        whole = f"all of {shown(target)}" if target.kind == "CompositePodGroup" else "its group"
        part = f"{shown(of)} is scheduled with {whole}." if of is not None else ""
        told = (Statement("Group", "PartOfGroup", part, Source.OBJECT),) if part else ()
        return why_pending(
            target, waiting, evidence, asking, before=(*told, *_earlier(of or target, evidence))
        )
    found = _why_gone(Target(target.kind, target.namespace, target.name, ""), evidence, asking)
    found = found or _why_tree_gone(target, evidence, asking)
    text = f"running with {counted(len(members), 'pod')}" if members else "without pods"
    found = found or _running(target, text, evidence, WhyState.RUNNING)
    protected = _protected(members[0], evidence, asking) if members else ()
    return replace(found, statements=(*found.statements, *protected))


def _why_gone(target: Target, evidence: Evidence, asking: Asking) -> WhyReport | None:
    for kept, victims in evidence.evictions_of(target):
        return preempted_by_decision(target, kept, victims, evidence, asking)
    return preempted_by_events(target, evidence, asking)


def _why_tree_gone(group: Target, evidence: Evidence, asking: Asking) -> WhyReport | None:
    """Explain that the group was preempted with a group around it."""
    groups = groups_table(one.object for one in evidence.cluster.seen)
    key = (group.namespace, group.name) if group.kind == "PodGroup" else None
    for _, around in groups.chain(key):
        if isinstance(around, CompositePodGroup):
            tree = group_target(around)
            found = _why_gone(Target(tree.kind, tree.namespace, tree.name, ""), evidence, asking)
            if found is not None:
                text = f"{shown(group)} is a part of it."
                part = Statement("Group", "PartOfGroup", text, Source.OBJECT)
                return replace(found, statements=(part, *found.statements))
    return None


def _earlier(target: Target, evidence: Evidence) -> tuple[Statement, ...]:
    """Say that a pod of the same name was preempted before, and which decision explains it."""
    by_name = Target(target.kind, target.namespace, target.name, "")
    for kept, _ in evidence.evictions_of(by_name):
        text = (
            f"It was preempted before, by {shown(kept.decision.demand)}: `reprieve why {kept.decision.id}`."
        )
        return (Statement("Before", "PreemptedBefore", text, Source.DECISION),)
    if any(event.reason == PREEMPTED for event in evidence.events(by_name)):
        text = "A pod of this name was preempted before."
        return (Statement("Before", "PreemptedBefore", text, Source.EVENT),)
    return ()


def _running(target: Target, what: str, evidence: Evidence, state: WhyState) -> WhyReport:
    kept = evidence.last_decision_for(target)
    statements = [
        Statement(
            "Preempted",
            "NotPreempted",
            "No known decision or event says that it was preempted.",
            Source.OBJECT,
        )
    ]
    if kept is not None and kept.decision.preemption is not None and kept.decision.preemption.pods:
        room: Preemption = kept.decision.preemption
        was = "was" if room.pods == 1 else "were"
        text = f"{counted(room.pods, 'pod')} {was} evicted for it: `reprieve why {kept.decision.id}`."
        statements.append(Statement("Preemptor", "PreemptedOthers", text, Source.DECISION))
    return WhyReport(target, state, f"{shown(target)} is {what.lower()}.", tuple(statements))
