"""Which answer does a question why get? It depends on what is known of the object: gone, waiting, running.

A pod that runs and one of the same name that was preempted before are told apart by their UIDs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reprieve.inquiry.object_names import ObjectName, namespace_hint, namespaces_with, nearest_hint
from reprieve.inquiry.preemption_priority_statements import preemption_priority_statements
from reprieve.inquiry.protection_statements import protection_statements
from reprieve.inquiry.seen_events import PREEMPTED
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.why import (
    Evidence,
    Source,
    Statement,
    UnknownObjectError,
    WhyReport,
    WhyState,
)
from reprieve.inquiry.why_pending import why_deferred, why_pending
from reprieve.inquiry.why_victim import preempted_by_decision, preempted_by_events
from reprieve.model.effects import Target
from reprieve.model.formatting import counted
from reprieve.model.groups import GroupKey, group_key, groups_table, key_of
from reprieve.model.objects import CompositePodGroup, Pod, PodGroup
from reprieve.model.resizing import is_deferred
from reprieve.report.decisions import shown
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.decision import Preemption
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.targets import group_target, pod_target

_ENDED = ("Succeeded", "Failed")


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
    if pod.status.phase in _ENDED:
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
    waiting = [pod for pod in members if not pod.spec.node_name and pod.status.phase not in _ENDED]
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
    """That it was preempted with a group around it."""
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
    """That a pod of the same name was preempted before, and which decision explains it."""
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
