"""Simulated kubelets of all nodes: they admit, start, resize, preempt and stop pods.

Everything derives from the store and a clock. Kubelets know nothing of schedulers, of owners, or of why a pod
was deleted. They also collect the pods of deleted nodes.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum
from functools import partial

from reprieve.cluster.admission.features import ALL_FEATURES, Features
from reprieve.cluster.api.timestamps import Clock
from reprieve.model.json import Json
from reprieve_minicluster.control.control_loop import earliest
from reprieve_minicluster.control.delaying_queue import DelayingQueue
from reprieve_minicluster.control.object_guard import ObjectWork, object_guard
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import peek, section
from reprieve_minicluster.kubelet import pod_status
from reprieve_minicluster.kubelet.kubelet_pod import (
    DEFAULT_TIMING,
    RUN_SECONDS,
    STOP_SECONDS,
    KubeletPod,
    KubeletTiming,
    decoded_pod,
)
from reprieve_minicluster.kubelet.node_resources import (
    NodeResources,
    footprint_in,
    offered_anew,
    offered_in,
    weight_of,
)
from reprieve_minicluster.kubelet.node_status import DECLARED_FEATURES, NodeHeartbeats, addresses_of, reported
from reprieve_minicluster.kubelet.pod_resizes import PodResizes, policy_of
from reprieve_minicluster.kubelet.preemption import KubeletPreemption, ranked
from reprieve_minicluster.store import EventType, Informer, Key, Part, Store, Stored, WatchEvent, parsed
from reprieve_minicluster.store.conditions import (
    StatusCondition,
    get_condition,
    set_condition,
    set_condition_of,
)

__all__ = ["DEFAULT_TIMING", "RUN_SECONDS", "STOP_SECONDS", "KubeletTiming", "Kubelets"]


_TASKS_PER_STEP = 300  # then the rest of the cluster gets its turn


class Task(Enum):
    ADMIT = "check whether it fits"
    START = "report it running"
    FINISH = "report it succeeded"
    STOP = "its containers have stopped"
    COLLECT = "its node is gone"


class Kubelets:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        timing: KubeletTiming = DEFAULT_TIMING,
        features: Features = ALL_FEATURES,
    ) -> None:
        self._store = store
        self._clock = clock
        self._timing = timing
        self._reads_policy = features.in_place_pod_vertical_scaling_scheduler_preemption
        self._pods: dict[Key, KubeletPod] = {}
        self._resources: dict[str, NodeResources] = {}
        self._started: dict[Key, float] = {}
        self._queue: DelayingQueue[Key, Task] = DelayingQueue()
        self._waiting_critical: dict[
            str, dict[Key, None]
        ] = {}  # critical pods by node, until their victims are gone
        self._guard = object_guard(store, "kubelets")
        self._preemption = KubeletPreemption(store, clock, timing, self._pods, self._guard)
        self._resizes = PodResizes(store, timing, self._resources, self._preemption, self._guard)
        self._heartbeats = NodeHeartbeats(store, clock, timing.heartbeat_seconds)
        self.informer = Informer(store, ("nodes", "pods"))

    def close(self) -> None:
        self.informer.close()

    def step(self) -> float | None:
        """Read changes and run due tasks; returns when the next task is due."""
        for change in self.informer.poll():
            see = self._see_node if change.object.key.resource == "nodes" else self._see_pod
            work = ObjectWork("observe", change.object.key)
            self._guard.run(work, partial(see, change), at_once=change.type is EventType.DELETED)
        for key, task in self._queue.due(self._clock(), _TASKS_PER_STEP):
            self._guard.run(ObjectWork(task.name.lower(), key), partial(self._run, key, task))
        self._heartbeats.beat_if_due(self._nodes)
        self._preemption.stop_due()
        self._resizes.enforce_due()
        self._guard.retry_due()
        self._resizes.serve()
        return earliest(
            self._queue.next_at(),
            self._preemption.next_at(),
            self._resizes.next_at(),
            self._guard.next_at(),
            self._heartbeats.next_at(),
        )

    # --- changes ---------------------------------------------------------------------------------

    def _see_node(self, change: WatchEvent) -> None:
        name = change.object.key.name
        resources = self._resources_of(name)
        existed = resources.offered is not None
        if change.type is EventType.DELETED:
            resources.offered = None
        else:
            self._see_capacity(name, resources, change)
        if existed != (resources.offered is not None):
            self._plan_all(resources.pods)

    def _see_capacity(self, name: str, resources: NodeResources, change: WatchEvent) -> None:
        node = change.object
        resources.offered = offered_in(node.raw)
        body = parsed(node)
        if self._reads_policy:
            self._resizes.follow(name, policy_of(body))
        self._resizes.touch(name)
        status = section(body, "status")
        if get_condition(status, "Ready") is None:
            self._report_ready(node.key)
        before = parsed(change.before) if change.before is not None else {}
        offered = offered_anew(status, peek(before, "status"))
        if offered is not None:
            self._report_offered(node.key, offered)

    def _report_offered(self, key: Key, allocatable: Json) -> None:
        def reported(body: Json) -> Json:
            section(body, "status")["allocatable"] = allocatable
            return body

        with suppress(ApiError):  # the node is gone already
            self._store.patch(key, reported, Part.STATUS)

    def _report_ready(self, key: Key) -> None:
        """Report a new node as ready, once."""

        def ready(body: Json) -> Json:
            healthy = StatusCondition("Ready", "True", "KubeletReady", "the simulated kubelet is ready")
            status = section(body, "status")
            set_condition(status, healthy, self._clock())
            status.setdefault("addresses", addresses_of(key.name))
            status.setdefault("declaredFeatures", list(DECLARED_FEATURES))
            return reported(body, self._clock())

        with suppress(ApiError):  # the node is gone already
            self._store.patch(key, ready, Part.STATUS)

    def _nodes(self) -> list[str]:
        return [name for name, one in self._resources.items() if one.offered is not None]

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
        self._charge(key, pod, change)
        if pod.metadata.generation != generation:
            self._check_resize(key, pod, change)
        self._plan(key)

    def _charge(self, key: Key, pod: KubeletPod, change: WatchEvent) -> None:
        node = pod.spec.node_name
        resources = self._resources_of(node)
        if pod.is_over:
            resources.charge(key, {})
            self._release(key, node)
            return
        if pod.is_running and not resources.pods.get(key):
            resources.charge(key, _weight(change.object))
        resources.pods.setdefault(key, {})
        if pod.is_leaving:
            self._resizes.forget(key, node)

    def _check_resize(self, key: Key, pod: KubeletPod, change: WatchEvent) -> None:
        """The spec of an admitted pod changed: it may request a resize."""
        node = pod.spec.node_name
        if self._resources_of(node).pods[key] and not pod.is_leaving:
            self._resizes.consider(key, node, change.before)

    def _forget(self, key: Key, pod: KubeletPod) -> None:
        del self._pods[key]
        self._resources_of(pod.spec.node_name).release(key)
        self._started.pop(key, None)
        self._queue.remove(key)
        self._waiting_critical.get(pod.spec.node_name, {}).pop(key, None)
        self._release(key, pod.spec.node_name)

    def _release(self, key: Key, node: str) -> None:
        """Free its resources, and retry critical pods and resizes that wait for them."""
        self._preemption.forget(key)
        self._resizes.forget(key, node)
        self._resizes.touch(node)
        self._plan_all(self._waiting_critical.pop(node, {}))

    # --- next task -------------------------------------------------------------------------------

    def _plan_all(self, keys: Iterable[Key]) -> None:
        for key in list(keys):
            self._guard.run(ObjectWork("plan", key), partial(self._plan, key))

    def _plan(self, key: Key) -> None:
        pod = self._pods.get(key)
        coming = self._next(key, pod) if pod is not None else None
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
        if pod.is_over or key in self._waiting_critical.get(pod.spec.node_name, {}):
            return None
        if pod.is_running:
            seconds = pod.seconds(RUN_SECONDS)
            if seconds is None and pod.is_of_job:
                seconds = self._timing.job_seconds
            return None if seconds is None else (Task.FINISH, self._start_of(key, pod) + seconds / speed)
        return (
            (Task.START, now + self._timing.start_seconds / speed)
            if resources.pods[key]
            else (Task.ADMIT, now)
        )

    def _start_of(self, key: Key, pod: KubeletPod) -> float:
        """The exact start time if known; the one in the status is truncated to seconds."""
        written = pod.status.start_time
        return self._started.get(key, written.timestamp() if written is not None else self._clock())

    # --- tasks -----------------------------------------------------------------------------------

    def _run(self, key: Key, task: Task) -> None:
        pod = self._pods.get(key)
        if pod is None:
            return
        with suppress(ApiError):  # a concurrent write won; the next change shows its result
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
            self._reject(key, pod, "UnexpectedAdmissionError", "the kubelet cannot decode the pod")
            return
        resources, asked = self._resources_of(pod.spec.node_name), weight_of(weight)
        lacks = list(resources.shortages(key, asked))
        if not lacks:
            resources.charge(key, asked)
            self._preemption.forget(key)
            if pod.metadata.generation > 1:  # a resize may be in progress from an earlier run
                self._resizes.consider(key, pod.spec.node_name, None)
            self._plan(key)
        elif self._preemption.make_room(ranked(key, parsed(stored), asked), resources, lacks):
            self._waiting_critical.setdefault(pod.spec.node_name, {})[key] = None
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
        """Write a report only if the pod is still in the phase that the task expects."""

        def change(body: Json) -> Json:
            expected = section(body, "status").get("phase") or "Pending"
            return report(body, self._clock()) if expected == phase else body

        self._store.patch(key, change, Part.STATUS, pod.metadata.uid)

    def _remove(self, key: Key, pod: KubeletPod, report: Callable[[Json, float], Json]) -> None:
        """Report the end of a pod first if finalizers will keep it."""
        uid = pod.metadata.uid
        if pod.metadata.finalizers and not pod.is_over:
            self._store.patch(key, lambda body: report(body, self._clock()), Part.STATUS, uid)
        self._store.delete(key, uid, grace=0)


def _weight(pod: Stored) -> dict[str, int]:
    weight = footprint_in(pod.raw)
    return weight_of(weight) if weight is not None else {}


def _collected(body: Json, now: float) -> Json:
    gone = StatusCondition("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists")
    set_condition_of(body, gone, now)
    return pod_status.stopped(body, now)
