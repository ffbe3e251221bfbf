"""What does the page show of one node, group or pod? A row each, made from the object alone.

Functions of one object.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from reprieve.model.conditions import MARK
from reprieve.model.footprint import footprint
from reprieve.model.objects import CompositePodGroup, Condition, Node, Pod, PodGroup, ref_of, runs
from reprieve.model.resources import Problems, node_capacity
from reprieve.scheduler.plans.handover import MARK_REASON

_ZONE = "topology.kubernetes.io/zone"
# By which label a node's pool is known; the first that it has counts.
_POOLS = (
    "reprieve.dev/pool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "node.kubernetes.io/instance-type",
)
_LONGEST_REASON = 500  # characters


class PodState(IntEnum):
    PENDING = 0
    RUNNING = 1  # it has a node
    TERMINATING = 2
    MARKED = 3  # as a victim, and not deleted yet
    DONE = 4


class NodeRow(NamedTuple):
    """``allocatable``: by resource, in the units of resource columns. ``taints``: as kubectl writes them."""

    name: str
    pool: str
    zone: str
    ready: bool
    cordoned: bool
    allocatable: Mapping[str, int]
    taints: tuple[str, ...] = ()


class GroupRow(NamedTuple):
    """``whole``: its pods are evicted together. ``priority``: None if it has none of its own."""

    key: str
    priority: int | None
    min_count: int
    whole: bool
    parent: str | None


class PodRow(NamedTuple):
    """``group``, ``node`` and ``nominated``: empty if it has none. ``reason``: why it is pending."""

    key: str
    uid: str
    node: str
    priority: int
    group: str
    requests: Mapping[str, int]
    state: PodState
    nominated: str
    reason: str


def name_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def composite_key(namespace: str, name: str) -> str:
    """A PodGroup may have the name of the CompositePodGroup around it."""
    return f"CompositePodGroup {namespace}/{name}"


def namespace_of_key(key: str) -> str:
    """The namespace of a pod or group, by its key."""
    return key.rpartition(" ")[2].partition("/")[0]


def node_row(node: Node) -> NodeRow:
    labels = node.metadata.labels
    pool = next((labels[label] for label in _POOLS if labels.get(label)), "")
    return NodeRow(
        node.metadata.name,
        pool or _stem(node.metadata.name),
        labels.get(_ZONE, ""),
        _is_ready(node),
        node.spec.unschedulable,
        node_capacity(node, Problems(ref_of(node))),
        tuple(map(str, node.spec.taints)),
    )


def _stem(name: str) -> str:
    """The stem of gpu-12 is gpu: nodes without labels are mostly numbered."""
    stem = name.rstrip("0123456789")
    return stem.rstrip("-") or name


def _is_ready(node: Node) -> bool:
    """A node that reports nothing of itself counts as ready, as it does for placement."""
    return all(
        condition.status == "True" for condition in node.status.conditions if condition.type == "Ready"
    )


def group_row(group: PodGroup | CompositePodGroup) -> GroupRow:
    meta, spec = group.metadata, group.spec
    make_key = composite_key if isinstance(group, CompositePodGroup) else name_key
    return GroupRow(
        make_key(meta.namespace, meta.name),
        spec.priority,
        spec.gang.min_count if spec.gang is not None else 0,
        spec.disrupted_whole,
        composite_key(meta.namespace, spec.parent) if spec.parent else None,
    )


def pod_row(pod: Pod) -> PodRow:
    meta, spec = pod.metadata, pod.spec
    group = spec.scheduling_group
    state = _state(pod)
    return PodRow(
        name_key(meta.namespace, meta.name),
        meta.uid,
        spec.node_name,
        spec.priority or 0,
        name_key(meta.namespace, group.pod_group_name) if group is not None and group.pod_group_name else "",
        footprint(pod, Problems(ref_of(pod))).charged,
        state,
        pod.status.nominated_node_name,
        _reason(pod) if state is PodState.PENDING else "",
    )


def _state(pod: Pod) -> PodState:
    if not runs(pod):
        return PodState.DONE
    if pod.metadata.deletion_timestamp is not None:
        return PodState.TERMINATING
    if not pod.spec.node_name:
        return PodState.PENDING
    return PodState.MARKED if any(map(_is_mark, pod.status.conditions)) else PodState.RUNNING


def _is_mark(condition: Condition) -> bool:
    return condition.type == MARK and condition.status == "True" and condition.reason == MARK_REASON


def _reason(pod: Pod) -> str:
    if pod.spec.scheduling_gates:
        return f"scheduling gates: {', '.join(gate.name for gate in pod.spec.scheduling_gates)}"
    scheduled = (c for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "False")
    return next((c.message or c.reason for c in scheduled), "")[:_LONGEST_REASON]
