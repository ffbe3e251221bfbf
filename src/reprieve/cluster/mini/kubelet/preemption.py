"""Preemption by kubelets: they stop other pods for a critical pod, each within its grace period."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.conditions import StatusCondition, set_condition_of
from reprieve.cluster.mini.delaying_queue import DelayingQueue
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kubelet import pod_status
from reprieve.cluster.mini.kubelet.kubelet_pod import KubeletPod
from reprieve.cluster.mini.kubelet.node_resources import NodeResources, Shortage
from reprieve.cluster.mini.kubelet.timing import KubeletTiming
from reprieve.cluster.mini.kubelet.victim_selection import RankedPod, ranked, victims_for
from reprieve.cluster.mini.object_guard import ObjectGuard, ObjectWork
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.json import Json
from reprieve.model.resources import Amounts

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
