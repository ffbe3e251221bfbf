"""Preemption by kubelets: they stop other pods for a critical pod, each within its grace period."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from reprieve.cluster.admission.validation.resources import quality_class
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.api.values import part
from reprieve.model.json import Json
from reprieve.model.resources import CPU, MEMORY, Amounts
from reprieve_minicluster.control.delaying_queue import DelayingQueue
from reprieve_minicluster.control.object_guard import ObjectGuard, ObjectWork
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kubelet import pod_status
from reprieve_minicluster.kubelet.kubelet_pod import KubeletPod, KubeletTiming
from reprieve_minicluster.kubelet.node_resources import NodeResources, Shortage
from reprieve_minicluster.store import Key, Part, Store, parsed
from reprieve_minicluster.store.conditions import StatusCondition, set_condition_of

SYSTEM_CRITICAL = 2_000_000_000
_STATIC = ("kubernetes.io/config.mirror", "kubernetes.io/config.source")


@dataclass(frozen=True, slots=True)
class RankedPod:
    """A pod with its priority, its quality of service, and the resources that it holds."""

    key: Key
    priority: int
    is_critical: bool
    quality: str
    weight: Amounts

    def may_preempt(self, other: "RankedPod") -> bool:
        return (self.is_critical and not other.is_critical) or self.priority > other.priority


def ranked(key: Key, body: Json, weight: Amounts) -> RankedPod:
    spec, annotations = part(body, "spec"), part(body, "metadata", "annotations")
    priority = spec.get("priority")
    priority = priority if isinstance(priority, int) else 0
    source = annotations.get(_STATIC[1], "api")
    static = _STATIC[0] in annotations or source != "api"
    return RankedPod(key, priority, static or priority >= SYSTEM_CRITICAL, quality_class(spec), weight)


def victims_for(
    preemptor: RankedPod, others: Iterable[RankedPod], missing: Mapping[str, int]
) -> list[RankedPod] | None:
    """None when not even all candidates together would be enough."""
    candidates = sorted((o for o in others if preemptor.may_preempt(o)), key=lambda o: o.key)
    if _left(missing, candidates):
        return None
    best_effort, burstable, guaranteed = (
        [o for o in candidates if o.quality == quality]
        for quality in ("BestEffort", "Burstable", "Guaranteed")
    )
    of_guaranteed = _fewest(guaranteed, _left(missing, [*best_effort, *burstable]))
    of_burstable = _fewest(burstable, _left(missing, [*best_effort, *of_guaranteed]))
    of_best_effort = _fewest(best_effort, _left(missing, [*of_burstable, *of_guaranteed]))
    return [*of_best_effort, *of_burstable, *of_guaranteed]


def _left(missing: Mapping[str, int], gone: Iterable[RankedPod]) -> Amounts:
    """What is still missing without these pods."""
    left = dict(missing)
    for other in gone:
        for resource in left:
            left[resource] -= other.weight.get(resource, 0)
    return {resource: amount for resource, amount in left.items() if amount > 0}


def _fewest(pods: Sequence[RankedPod], missing: Amounts) -> list[RankedPod]:
    """Take the pod closest to what is missing until nothing is; of equally close ones, the smallest."""
    waiting, taken = list(pods), list[RankedPod]()
    while missing:
        nearest = min(waiting, key=lambda pod: (_distance(pod, missing), _size(pod)))
        waiting.remove(nearest)
        taken.append(nearest)
        missing = _left(missing, [nearest])
    return taken


def _distance(pod: RankedPod, missing: Amounts) -> float:
    """Squared relative shortfalls, so that every resource counts the same."""
    lacks = (max(0, amount - pod.weight.get(name, 0)) / amount for name, amount in missing.items())
    return sum(lack * lack for lack in lacks)


def _size(pod: RankedPod) -> tuple[int, int, Key]:
    return pod.weight.get(MEMORY, 0), pod.weight.get(CPU, 0), pod.key


# --- preempting -----------------------------------------------------------------------------------


_TARGET = StatusCondition(
    "DisruptionTarget", "True", "TerminationByKubelet", "Preempted by the kubelet to admit a critical pod"
)


class KubeletPreemption:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        timing: KubeletTiming,
        pods: Mapping[Key, KubeletPod],
        guard: ObjectGuard,
    ) -> None:
        self._guard = guard
        self._store = store
        self._clock = clock
        self._timing = timing
        self._pods = pods
        self._ending: dict[Key, str] = {}  # UIDs by key
        self._queue: DelayingQueue[Key, str] = DelayingQueue()
        self._promised: dict[Key, Amounts] = {}

    def is_ending(self, key: Key) -> bool:
        return key in self._ending

    def forget(self, key: Key) -> None:
        """Drop a pod that is gone, or a preemptor that has its resources or no longer needs them."""
        self._ending.pop(key, None)
        self._queue.remove(key)
        self._promised.pop(key, None)

    # --- victims ---------------------------------------------------------------------------------

    def make_room(self, preemptor: RankedPod, resources: NodeResources, lacks: Sequence[Shortage]) -> bool:
        """Whether the preemptor will fit. No pod is stopped while those that already terminate are enough."""
        if not preemptor.is_critical:
            return False
        missing = self._still_missing(preemptor.key, resources, lacks)
        victims = victims_for(preemptor, self._others(preemptor.key, resources), missing)
        if victims is None:
            return False
        self._promised[preemptor.key] = {lack.resource: lack.asked - lack.held for lack in lacks}
        for victim in victims:
            self._stop(victim.key)
        return True

    def _still_missing(self, key: Key, resources: NodeResources, lacks: Sequence[Shortage]) -> Amounts:
        """Resources of terminating pods count once: those promised to other preemptors are not available."""
        leaving = [weight for pod, weight in resources.pods.items() if self._is_leaving(pod)]
        promised = [self._promised.get(pod, {}) for pod in resources.pods if pod != key]
        missing = {
            lack.resource: lack.missing + _sum(lack.resource, promised) - _sum(lack.resource, leaving)
            for lack in lacks
        }
        return {resource: amount for resource, amount in missing.items() if amount > 0}

    def _is_leaving(self, key: Key) -> bool:
        pod = self._pods.get(key)
        return key in self._ending or (pod is not None and pod.is_leaving)

    def _others(self, preemptor: Key, resources: NodeResources) -> Iterator[RankedPod]:
        for key, weight in resources.pods.items():
            stored = self._store.find(key)
            if stored is not None and weight and key != preemptor and not self._is_leaving(key):
                yield ranked(key, parsed(stored), weight)

    # --- stopping --------------------------------------------------------------------------------

    def _stop(self, key: Key) -> None:
        """Set DisruptionTarget at once, and stop the pod when its grace period ends."""

        def mark(body: Json) -> Json:
            set_condition_of(body, _TARGET, self._clock())
            return body

        pod = self._pods[key]
        uid = pod.metadata.uid
        self._ending[key] = uid
        self._queue.add(key, uid, self._clock() + pod.drain_seconds() / self._timing.speed)
        with suppress(ApiError):  # the pod is gone already
            self._store.patch(key, mark, Part.STATUS, uid)

    def next_at(self) -> float | None:
        return self._queue.next_at()

    def stop_due(self) -> None:
        for key, uid in self._queue.due(self._clock()):
            self._guard.run(ObjectWork("report preempted", key), partial(self._report_preempted, key, uid))

    def _report_preempted(self, key: Key, uid: str) -> None:
        with suppress(ApiError):  # the pod is gone already
            now = self._clock()
            self._store.patch(key, lambda body: pod_status.preempted(body, now), Part.STATUS, uid)


def _sum(resource: str, weights: Sequence[Amounts]) -> int:
    return sum(weight.get(resource, 0) for weight in weights)
