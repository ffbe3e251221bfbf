"""One version of an object and the next: which is the newer, and what the difference could mean to others."""

from collections.abc import Iterator

import msgspec

from reprieve.model.annotations import member_cost
from reprieve.model.conditions import resize_reason, run_started_at, scheduled_at
from reprieve.model.events import Change
from reprieve.model.footprint import Footprint
from reprieve.model.objects import (
    CompositePodGroup,
    KubernetesObject,
    Node,
    ObjectMeta,
    Pod,
    PodGroup,
    PriorityClass,
    ref_of,
)
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.resources import Amounts, Problems, node_capacity
from reprieve.model.shape import CompiledPod
from reprieve.preemption.preemption_priority import ANNOTATION as PREEMPTION_PRIORITY_CLASS

Changes = frozenset[Change]


def is_older(new: ObjectMeta, known: ObjectMeta) -> bool:
    """Resource versions rise, also from an object to its next namesake; a watch that went back in time
    shows lower ones."""
    if not (new.resource_version.isdecimal() and known.resource_version.isdecimal()):
        return False
    return int(new.resource_version) < int(known.resource_version)


def is_newer(new: ObjectMeta, known: KubernetesObject | None) -> bool:
    return known is None or known.metadata.resource_version != new.resource_version


def is_controlled_anew(old: KubernetesObject | None, new: KubernetesObject) -> bool:
    """Whether it belongs to another controller than before."""
    return new.metadata.owner_references != (() if old is None else old.metadata.owner_references)


def is_report(old: KubernetesObject | None, new: KubernetesObject) -> bool:
    """Whether a group shows nothing new but what was reported on it, which no decision reads."""
    if not (isinstance(old, PodGroup | CompositePodGroup) and isinstance(new, PodGroup | CompositePodGroup)):
        return False
    return _said_by(old) == _said_by(new)


def _said_by(group: PodGroup | CompositePodGroup) -> tuple[object, ...]:
    started = run_started_at(group) if isinstance(group, PodGroup) else None
    named = group.metadata.annotations.get(PREEMPTION_PRIORITY_CLASS)
    return group.metadata.uid, group.metadata.deletion_timestamp, group.spec, started, named


def capacity_of(node: Node) -> Amounts:
    return node_capacity(node, Problems(ref_of(node)))


def recompiled(pod: Pod, old: CompiledPod) -> CompiledPod:
    """Most updates report a pod's progress and change nothing that was compiled."""
    known = old.pod
    spec = msgspec.structs.replace(known.spec, node_name=pod.spec.node_name)
    if spec == pod.spec and _reported(known) == _reported(pod):
        return CompiledPod(msgspec.structs.replace(pod, spec=spec), old.weight, old.shape, old.problems)
    return compile_pod(pod)


def _reported(pod: Pod) -> tuple[object, ...]:
    """What of a pod besides its spec is compiled."""
    status = pod.status
    return (
        pod.metadata.labels,
        pod.metadata.owner_references,
        status.container_statuses,
        status.init_container_statuses,
        status.allocated_resources,
        status.resources,
        status.node_allocatable_resource_claim_statuses,
        resize_reason(pod),
    )


def facts_of(pod: Pod) -> tuple[object, ...]:
    """What of a pod besides its shape stands in columns and slots."""
    spec, leaving = pod.spec, pod.metadata.deletion_timestamp is not None
    clocks, cost = (pod.status.start_time, scheduled_at(pod)), member_cost(pod.metadata)
    return spec.priority, spec.priority_class_name, spec.scheduling_group, clocks, leaving, cost


def meaning(old: CompiledPod, new: CompiledPod) -> Changes:
    """What a change to a running pod could mean for others."""
    changes = set()
    if old.weight != new.weight:
        if _exceeds(old.weight, new.weight):
            changes.add(Change.POD_SHRANK)
        if _exceeds(new.weight, old.weight):
            changes.add(Change.POD_GREW)
    if old.shape.labels != new.shape.labels:
        changes.add(Change.POD_RELABELED)
    if is_controlled_anew(old.pod, new.pod):
        changes.add(Change.CONTROLLERS)
    if new.pod.metadata.deletion_timestamp is not None and old.pod.metadata.deletion_timestamp is None:
        changes.add(Change.POD_LEAVING)
    return frozenset(changes)


def says_the_same(old: PriorityClass, new: PriorityClass) -> bool:
    """Whether a class has the same value, policy and annotations as before."""
    renamed = msgspec.structs.replace(new, metadata=old.metadata)
    return renamed == old and new.metadata.annotations == old.metadata.annotations


def _exceeds(one: Footprint, other: Footprint) -> bool:
    """Whether it weighs more, as a scheduler counts or as a kubelet does while others want to be resized."""
    pairs = ((one.charged, other.charged), (one.held, other.held))
    return any(amount > less.get(name, 0) for more, less in pairs for name, amount in more.items())


def is_heartbeat(old: Node, new: Node) -> bool:
    """A report that changes nothing that is read."""
    return (
        old.spec == new.spec
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
        and old.status.allocatable == new.status.allocatable
        and old.status.images == new.status.images
        and old.status.declared_features == new.status.declared_features
    )


def node_changes(old: Node, new: Node, before: Amounts, after: Amounts) -> Iterator[Change]:
    if any(after[name] > before.get(name, 0) for name in after):
        yield Change.NODE_GREW
    if old.spec.unschedulable and not new.spec.unschedulable:
        yield Change.NODE_UNCORDONED
    if old.spec.taints != new.spec.taints:
        yield Change.NODE_TAINTS
    if old.metadata.labels != new.metadata.labels:
        yield Change.NODE_LABELS
    if old.status.declared_features != new.status.declared_features:
        yield Change.NODE_FEATURES
