"""Node failures by annotation, and taint-based eviction.

The annotation ``reprieve.dev/fail`` makes a node unready; without it the node recovers. The controller evicts
pods from a node with a NoExecute taint when their toleration ends. Kubelets collect pods of deleted nodes.
"""

from collections.abc import Iterator
from math import inf

from reprieve.cluster.api.timestamps import stamp
from reprieve.model.json import Json
from reprieve.model.selectors import tolerates
from reprieve_minicluster.controllers.api_writes import Delete, RequeueAt, Update, UpdateStatus, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import NodeFacts, PodFacts, Thing, TimedTaint
from reprieve_minicluster.kinds import section
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.conditions import StatusCondition

FAIL = "reprieve.dev/fail"
NOT_READY = "node.kubernetes.io/not-ready"

_NO_EXECUTE = "NoExecute"
_FAILED_REASON = "ToldToFail"
_EVICTED = StatusCondition(
    "DisruptionTarget", "True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"
)


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case NodeFacts():
            yield key_of(thing)
        case PodFacts() if _evicts_pods(cache, thing.spec.node_name):
            yield Key(NodeFacts.resource, "", thing.spec.node_name)


def _evicts_pods(cache: ControllerCache, name: str) -> bool:
    node = cache.of(NodeFacts).get("", name)
    return node is not None and any(taint.effect == _NO_EXECUTE for taint in node.spec.taints)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    node = cache.find(NodeFacts, key)
    if node is None:
        return
    yield from _readiness(key, node)
    if _wrong_taints(node):
        yield Update(
            key, node.metadata.uid, lambda body: _set_taints(body, FAIL in node.metadata.annotations, now)
        )
    yield from _evictions(cache, node, now)


# --- the node ------------------------------------------------------------------------------------


def _readiness(key: Key, node: NodeFacts) -> Iterator[Write]:
    reasons = {condition.reason for condition in node.status.conditions if condition.type == "Ready"}
    if FAIL in node.metadata.annotations and _FAILED_REASON not in reasons:
        failed = StatusCondition(
            "Ready",
            "False",
            _FAILED_REASON,
            "the annotation reprieve.dev/fail makes the node fail; remove it to let the node recover",
        )
        yield UpdateStatus(key, node.metadata.uid, conditions=(failed,))
    elif FAIL not in node.metadata.annotations and _FAILED_REASON in reasons:
        well = StatusCondition("Ready", "True", "KubeletReady", "the simulated kubelet is ready")
        yield UpdateStatus(key, node.metadata.uid, conditions=(well,))


def _wrong_taints(node: NodeFacts) -> bool:
    tainted = any(taint.key == NOT_READY for taint in node.spec.taints)
    undated = any(taint.effect == _NO_EXECUTE and taint.time_added is None for taint in node.spec.taints)
    return undated or tainted != (FAIL in node.metadata.annotations)


def _set_taints(body: Json, failed: bool, now: float) -> None:
    """Set or remove both not-ready taints. A NoExecute taint needs timeAdded: tolerations count from it."""
    spec = section(body, "spec")
    found = spec.get("taints")
    others = [t for t in found if isinstance(t, dict)] if isinstance(found, list) else []
    ours = [taint for taint in others if taint.get("key") == NOT_READY]
    taints = [taint for taint in others if taint not in ours]
    if failed:
        taints += ours or [{"key": NOT_READY, "effect": effect} for effect in ("NoSchedule", _NO_EXECUTE)]
    for taint in taints:
        if taint.get("effect") == _NO_EXECUTE:
            taint.setdefault("timeAdded", stamp(now))
    spec["taints"] = taints


# --- its pods ------------------------------------------------------------------------------------


def _evictions(cache: ControllerCache, node: NodeFacts, now: float) -> Iterator[Write]:
    taints = [taint for taint in node.spec.taints if taint.effect == _NO_EXECUTE]
    if not taints:
        return
    pods = [pod for pod in cache.of(PodFacts) if pod.spec.node_name == node.metadata.name and pod.is_active]
    for pod in sorted(pods, key=lambda pod: (pod.metadata.namespace, pod.metadata.name)):
        leaves_at = min(_tolerated_until(pod, taint) for taint in taints)
        if leaves_at <= now:
            yield UpdateStatus(key_of(pod), pod.metadata.uid, conditions=(_EVICTED,))
            yield Delete.of(pod)
    moments = [min(_tolerated_until(pod, taint) for taint in taints) for pod in pods]
    waiting = [moment for moment in moments if now < moment < inf]
    if waiting:
        yield RequeueAt(min(waiting))


def _tolerated_until(pod: PodFacts, taint: TimedTaint) -> float:
    """The shortest matching toleration counts; a taint without timeAdded does not evict yet."""
    seconds = [toleration.seconds for toleration in pod.spec.tolerations if tolerates(toleration, taint)]
    if not seconds:
        return -inf
    shortest = min(seconds)
    if taint.time_added is None:
        return inf
    return taint.time_added.timestamp() + shortest
