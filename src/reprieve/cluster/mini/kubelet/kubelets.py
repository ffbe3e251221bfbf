"""Simulated kubelets for all nodes: pods start, run, end, drain and are cleaned up after.

Everything is derived from what the store shows and from a clock. Kubelets know nothing of schedulers, of
owners, or of why a pod was deleted.
"""

from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.conditions import StatusCondition, get_condition, set_condition, set_condition_of
from reprieve.cluster.mini.delaying_queue import DelayingQueue
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.kinds import Json, section
from reprieve.cluster.mini.kubelet import pod_status
from reprieve.cluster.mini.kubelet.kubelet_pod import RUN_SECONDS, KubeletPod, decoded_pod
from reprieve.cluster.mini.kubelet.node_preemption_policy import policy_of
from reprieve.cluster.mini.kubelet.node_resources import NodeResources, footprint_in, offered_in, weight_of
from reprieve.cluster.mini.kubelet.pod_resizes import PodResizes
from reprieve.cluster.mini.kubelet.preemption import KubeletPreemption
from reprieve.cluster.mini.kubelet.timing import DEFAULT_TIMING, KubeletTiming
from reprieve.cluster.mini.kubelet.victim_selection import ranked
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.cluster.mini.stored_objects import Key, Stored
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent


class Task(Enum):
    ADMIT = "look whether it fits"
    START = "report it running"
    FINISH = "its work is done"
    STOP = "it has drained"
    COLLECT = "its node is gone"


class Kubelets:
    def __init__(self, store: Store, clock: Clock, timing: KubeletTiming = DEFAULT_TIMING) -> None:
        self._store = store
        self._clock = clock
        self._timing = timing
        self._pods: dict[Key, KubeletPod] = {}
        self._resources: dict[str, NodeResources] = {}
        self._started: dict[Key, float] = {}
        self._queue: DelayingQueue[Key, Task] = DelayingQueue()
        self._held_up: dict[str, dict[Key, None]] = {}  # critical pods, until others have made room
        self._preemption = KubeletPreemption(store, clock, timing, self._pods)
        self._resizes = PodResizes(store, clock, timing, self._resources, self._preemption)
        self.informer = Informer(store, ("nodes", "pods"))

    def step(self) -> float | None:
        """Sees what changed and does what is due; says when it will have something to do next."""
        for change in self.informer.poll():
            if change.object.key.resource == "nodes":
                self._see_node(change)
            else:
                self._see_pod(change)
        for key, task in self._queue.due(self._clock()):
            self._do(key, task)
        self._preemption.end_due()
        self._resizes.enforce_due()
        self._resizes.serve()
        moments = (self._queue.next_at(), self._preemption.next_at(), self._resizes.next_at())
        return min((moment for moment in moments if moment is not None), default=None)

    # --- what changed ----------------------------------------------------------------------------

    def _see_node(self, change: WatchEvent) -> None:
        name = change.object.key.name
        resources = self._resources_of(name)
        was_there = resources.offered is not None
        if change.type is EventType.DELETED:
            resources.offered = None
        else:
            self._see_offer(name, resources, change.object)
        if was_there != (resources.offered is not None):
            for key in resources.pods:
                self._plan(key)

    def _see_offer(self, name: str, resources: NodeResources, node: Stored) -> None:
        resources.offered = offered_in(node.raw)
        body = parsed(node)
        self._resizes.follow(name, policy_of(body))
        self._resizes.touch(name)
        if get_condition(section(body, "status"), "Ready") is None:
            self._report_ready(node.key)

    def _report_ready(self, key: Key) -> None:
        """Once, when the node is new: simulated nodes do not fall ill, and need no heartbeat."""

        def ready(body: Json) -> Json:
            healthy = StatusCondition("Ready", "True", "KubeletReady", "the simulated kubelet is ready")
            set_condition(section(body, "status"), healthy, self._clock())
            return body

        with suppress(ApiError):  # it is gone already
            self._store.patch(key, ready, Part.STATUS)

    def _resources_of(self, node: str) -> NodeResources:
        return self._resources.setdefault(node, NodeResources())

    def _see_pod(self, change: WatchEvent) -> None:
        key = change.object.key
        pod = None if change.type is EventType.DELETED else decoded_pod(change.object.raw)
        known = self._pods.get(key)
        if known is not None and (pod is None or pod.metadata.uid != known.metadata.uid):
            self._forget(key, known)
            known = None
        if pod is None or not pod.spec.node_name:
            return
        generation = known.metadata.generation if known is not None else None
        self._pods[key] = pod
        self._seat(key, pod, change)
        if pod.metadata.generation != generation:
            self._look_at_resources(key, pod, change)
        self._plan(key)

    def _seat(self, key: Key, pod: KubeletPod, change: WatchEvent) -> None:
        node = pod.spec.node_name
        resources = self._resources_of(node)
        if pod.is_over:
            resources.charge(key, {})
            self._let_go(key, node)
            return
        if pod.is_running and not resources.pods.get(key):
            resources.charge(key, _weight(change.object))
        resources.pods.setdefault(key, {})
        if pod.is_leaving:
            self._resizes.forget(key, node)

    def _look_at_resources(self, key: Key, pod: KubeletPod, change: WatchEvent) -> None:
        """What was admitted may be asking for something else now."""
        node = pod.spec.node_name
        if self._resources_of(node).pods[key] and not pod.is_leaving:
            self._resizes.consider(key, node, change.before)

    def _forget(self, key: Key, pod: KubeletPod) -> None:
        del self._pods[key]
        self._resources_of(pod.spec.node_name).release(key)
        self._started.pop(key, None)
        self._queue.remove(key)
        self._held_up.get(pod.spec.node_name, {}).pop(key, None)
        self._let_go(key, pod.spec.node_name)

    def _let_go(self, key: Key, node: str) -> None:
        """Its room is free, and others may have been waiting for that."""
        self._preemption.forget(key)
        self._resizes.forget(key, node)
        self._resizes.touch(node)
        for waiting in self._held_up.pop(node, {}):
            self._plan(waiting)

    # --- what comes next -------------------------------------------------------------------------

    def _plan(self, key: Key) -> None:
        coming = self._next(key, self._pods[key])
        if coming is None:
            self._queue.remove(key)
        else:
            task, at = coming
            self._queue.add(key, task, at)

    def _next(self, key: Key, pod: KubeletPod) -> tuple[Task, float] | None:
        now, speed = self._clock(), self._timing.speed
        resources = self._resources_of(pod.spec.node_name)
        if resources.offered is None:
            return Task.COLLECT, now + self._timing.orphan_seconds / speed
        if pod.is_leaving:
            return Task.STOP, now + pod.drain_seconds() / speed
        if pod.is_over or key in self._held_up.get(pod.spec.node_name, {}):
            return None
        if pod.is_running:
            seconds = pod.seconds(RUN_SECONDS)
            return None if seconds is None else (Task.FINISH, self._start_of(key, pod) + seconds / speed)
        return (
            (Task.START, now + self._timing.start_seconds / speed)
            if resources.pods[key]
            else (Task.ADMIT, now)
        )

    def _start_of(self, key: Key, pod: KubeletPod) -> float:
        """As we remember it; what is written down is truncated to the second."""
        written = pod.status.start_time
        return self._started.get(key, written.timestamp() if written is not None else self._clock())

    # --- what is done ----------------------------------------------------------------------------

    def _do(self, key: Key, task: Task) -> None:
        pod = self._pods.get(key)
        if pod is None:
            return
        with suppress(ApiError):  # somebody was faster, and the next change shows what there is now
            match task:
                case Task.ADMIT:
                    self._admit(key, pod)
                case Task.START:
                    self._start(key, pod)
                case Task.FINISH:
                    self._write(key, pod, "Running", pod_status.succeeded)
                case Task.STOP:
                    self._remove(key, pod, pod_status.stopped)
                case Task.COLLECT:
                    self._remove(key, pod, _collected)

    def _admit(self, key: Key, pod: KubeletPod) -> None:
        stored = self._store.get(key)
        weight = footprint_in(stored.raw)
        if weight is None:
            self._reject(key, pod, "UnexpectedAdmissionError", "the kubelet cannot read the pod")
            return
        resources, asked = self._resources_of(pod.spec.node_name), weight_of(weight)
        lacks = list(resources.shortages(key, asked))
        if not lacks:
            resources.charge(key, asked)
            self._preemption.forget(key)
            if pod.metadata.generation > 1:  # kubelets that ran before may have been at it
                self._resizes.consider(key, pod.spec.node_name, None)
            self._plan(key)
        elif self._preemption.make_room(ranked(key, parsed(stored), asked), resources, lacks):
            self._held_up.setdefault(pod.spec.node_name, {})[key] = None
        else:
            self._reject(key, pod, lacks[0].reason, str(lacks[0]))

    def _reject(self, key: Key, pod: KubeletPod, reason: str, message: str) -> None:
        self._write(key, pod, "Pending", lambda body, now: pod_status.rejected(body, reason, message, now))

    def _start(self, key: Key, pod: KubeletPod) -> None:
        self._started[key] = self._clock()
        allocation = self._resizes.taken_by_start(key)
        self._write(key, pod, "Pending", lambda body, now: pod_status.running(body, allocation, now))
        if allocation is not None:
            self._resizes.recount(key, pod.spec.node_name)

    def _write(self, key: Key, pod: KubeletPod, phase: str, report: Callable[[Json, float], Json]) -> None:
        """Only if the pod is still where we believe it to be."""

        def change(body: Json) -> Json:
            expected = section(body, "status").get("phase") or "Pending"
            return report(body, self._clock()) if expected == phase else body

        self._store.patch(key, change, Part.STATUS, pod.metadata.uid)

    def _remove(self, key: Key, pod: KubeletPod, report: Callable[[Json, float], Json]) -> None:
        """A pod that others still hold by finalizers is at least seen to have ended."""
        uid = pod.metadata.uid
        if pod.metadata.finalizers and not pod.is_over:
            self._store.patch(key, lambda body: report(body, self._clock()), Part.STATUS, uid)
        self._store.delete(key, uid, grace=0)


def _weight(pod: Stored) -> dict[str, int]:
    weight = footprint_in(pod.raw)
    return weight_of(weight) if weight is not None else {}


def _collected(body: Json, now: float) -> Json:
    gone = StatusCondition(
        "DisruptionTarget", "True", "DeletionByPodGC", "the node of the pod no longer exists"
    )
    set_condition_of(body, gone, now)
    return pod_status.stopped(body, now)
