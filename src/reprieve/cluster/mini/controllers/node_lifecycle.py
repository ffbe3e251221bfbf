"""Nodes that are told to fail, and the pods that taints drive from a node.

The annotation ``reprieve.dev/fail`` makes a node unready; without it the node recovers. Pods leave a node
that has a NoExecute taint when their toleration ends. Pods of a node that is gone are collected elsewhere.
"""

from collections.abc import Iterator
from math import inf

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.mini.conditions import Condition
from reprieve.cluster.mini.controllers.mirror import NODES, PODS, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import Node, PodFacts, TimedTaint
from reprieve.cluster.mini.controllers.writes import Amend, LookAgain, Remove, Report, Write
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import section
from reprieve.model.json import Json
from reprieve.model.selectors import tolerates

FAIL = "reprieve.dev/fail"
NOT_READY = "node.kubernetes.io/not-ready"

_DRIVES_OUT = "NoExecute"
_OURS = "ToldToFail"
_EVICTED = Condition(
    "DisruptionTarget", "True", "DeletionByTaintManager", "the node has a taint it does not tolerate"
)


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case Node():
            yield key_in(NODES, thing)
        case PodFacts() if _drives_out(mirror, thing.spec.node_name):
            yield Key(NODES, "", thing.spec.node_name)


def _drives_out(mirror: Mirror, name: str) -> bool:
    node = mirror.nodes.get(Name("", name))
    return node is not None and any(taint.effect == _DRIVES_OUT for taint in node.spec.taints)


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    node = mirror.nodes.get(Name("", key.name))
    if node is None:
        return
    yield from _readiness(key, node)
    if _wrong_taints(node):
        yield Amend(key, node.metadata.uid, lambda body: _mark(body, FAIL in node.metadata.annotations, now))
    yield from _evictions(mirror, node, now)


# --- the node ------------------------------------------------------------------------------------


def _readiness(key: Key, node: Node) -> Iterator[Write]:
    reasons = {condition.reason for condition in node.status.conditions if condition.type == "Ready"}
    if FAIL in node.metadata.annotations and _OURS not in reasons:
        failed = Condition("Ready", "False", _OURS, "the node was told to fail")
        yield Report(key, node.metadata.uid, conditions=(failed,))
    elif FAIL not in node.metadata.annotations and _OURS in reasons:
        well = Condition("Ready", "True", "KubeletReady", "the simulated kubelet is ready")
        yield Report(key, node.metadata.uid, conditions=(well,))


def _wrong_taints(node: Node) -> bool:
    marked = any(taint.key == NOT_READY for taint in node.spec.taints)
    timeless = any(taint.effect == _DRIVES_OUT and taint.time_added is None for taint in node.spec.taints)
    return timeless or marked != (FAIL in node.metadata.annotations)


def _mark(body: Json, failed: bool, now: float) -> None:
    """One taint keeps pods away, the other drives them out. From when on, the taint itself must tell."""
    spec = section(body, "spec")
    found = spec.get("taints")
    others = [t for t in found if isinstance(t, dict)] if isinstance(found, list) else []
    ours = [taint for taint in others if taint.get("key") == NOT_READY]
    taints = [taint for taint in others if taint not in ours]
    if failed:
        taints += ours or [{"key": NOT_READY, "effect": effect} for effect in ("NoSchedule", _DRIVES_OUT)]
    for taint in taints:
        if taint.get("effect") == _DRIVES_OUT:
            taint.setdefault("timeAdded", stamp(now))
    spec["taints"] = taints


# --- its pods ------------------------------------------------------------------------------------


def _evictions(mirror: Mirror, node: Node, now: float) -> Iterator[Write]:
    taints = [taint for taint in node.spec.taints if taint.effect == _DRIVES_OUT]
    if not taints:
        return
    guests = [pod for pod in mirror.pods if pod.spec.node_name == node.metadata.name and pod.is_active]
    for pod in sorted(guests, key=lambda pod: (pod.metadata.namespace, pod.metadata.name)):
        leaves_at = min(_tolerated_until(pod, taint) for taint in taints)
        if leaves_at <= now:
            pod_key = key_in(PODS, pod)
            yield Report(pod_key, pod.metadata.uid, conditions=(_EVICTED,))
            yield Remove(pod_key, pod.metadata.uid)
    moments = [min(_tolerated_until(pod, taint) for taint in taints) for pod in guests]
    waiting = [moment for moment in moments if now < moment < inf]
    if waiting:
        yield LookAgain(min(waiting))


def _tolerated_until(pod: PodFacts, taint: TimedTaint) -> float:
    """The shortest of the tolerations that match counts; a taint of unknown age has just been added."""
    seconds = [toleration.seconds for toleration in pod.spec.tolerations if tolerates(toleration, taint)]
    if not seconds:
        return -inf
    shortest = min(seconds)
    if taint.time_added is None:
        return inf
    return taint.time_added.timestamp() + shortest
