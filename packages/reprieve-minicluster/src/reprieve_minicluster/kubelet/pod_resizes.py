"""In-place resizes: which of them a kubelet allocates, in which order, and when they become actual.

The status of a pod has its allocation, so a restarted kubelet continues a resize.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from reprieve.cluster.api.codec import Decoded, decode_pod
from reprieve.cluster.api.values import part, text_in, texts
from reprieve.model.conditions import DEFERRED, IN_PROGRESS, INFEASIBLE, PENDING, PREEMPTION_DISABLED
from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.footprint import Footprint
from reprieve.model.json import Json
from reprieve.model.resources import CPU, MEMORY, Amounts
from reprieve_minicluster.control.delaying_queue import DelayingQueue
from reprieve_minicluster.control.object_guard import ObjectGuard, ObjectWork
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import peek, section
from reprieve_minicluster.kubelet.kubelet_pod import KubeletTiming
from reprieve_minicluster.kubelet.node_resources import (
    NodeResources,
    Shortage,
    footprint_in,
    footprint_of,
    weight_of,
)
from reprieve_minicluster.kubelet.pod_status import (
    Allocation,
    desired,
    enforce,
    grant,
    granted,
    is_reported,
    needs_restart,
)
from reprieve_minicluster.kubelet.preemption import KubeletPreemption, RankedPod, ranked
from reprieve_minicluster.store import Key, Part, Store, Stored, parsed
from reprieve_minicluster.store.conditions import (
    StatusCondition,
    clear_condition,
    get_condition,
    set_condition,
)
from reprieve_minicluster.store.scheduler_calls import announce


@dataclass(frozen=True, slots=True)
class NodePreemptionPolicy:
    """``owners``: the keys that disable preemption. One is enough; it is enabled when there is none."""

    owners: tuple[str, ...] = ()
    reason: str = ""

    def condition(self, node: str, generation: int) -> StatusCondition:
        message = f"node {node} disables preemption for resizes: {', '.join(self.owners)}"
        return StatusCondition(PREEMPTION_DISABLED, "True", self.reason, message, generation)


def policy_of(node: Json) -> NodePreemptionPolicy:
    spec = part(node, "spec")
    newer = tuple(texts(part(spec, "podPreemptionPolicy"), "disableResizePreemption"))
    older = tuple(texts(part(spec, "preemptionPolicy"), "disablePodResizePreemption"))
    owners = tuple(dict.fromkeys((*newer, *older)))
    reason = "PreemptionDisabledByNodePolicy" if newer else "PreemptionDisabled" if older else ""
    return NodePreemptionPolicy(owners, reason)


# --- resizes --------------------------------------------------------------------------------------


_MEASURED = (CPU, MEMORY)
Rank = tuple[bool, int, bool, str, Key]


@dataclass(frozen=True, slots=True)
class ResizeRequest:
    """A pod with a spec that differs from its allocation."""

    key: Key
    body: Json
    weight: Footprint
    wanted: Allocation
    has: Allocation

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def generation(self) -> int:
        return int(self.body["metadata"].get("generation", 0))

    @property
    def grows(self) -> bool:
        weight = self.weight
        return any(weight.desired.get(n, 0) > weight.allocated.get(n, 0) for n in _MEASURED)

    def target(self) -> Amounts:
        """What the node must provide during the resize: the largest of desired, allocated and actual."""
        desired, held = self.weight.desired, self.weight.held
        return {name: max(desired.get(name, 0), held.get(name, 0)) for name in {*desired, *held}}

    def ranked(self) -> RankedPod:
        return ranked(self.key, self.body, self.weight.held)

    def rank(self) -> Rank:
        """Resizes that do not grow first; then by priority, quality of service, and time of waiting."""
        pod = self.ranked()
        pending = get_condition(peek(self.body, "status"), PENDING) or {}
        since = text_in(pending, "lastTransitionTime") or "never"  # sorts behind every time
        return self.grows, -pod.priority, pod.quality != "Guaranteed", since, self.key


class PodResizes:
    """Call ``serve`` after changes: it retries the waiting resizes of the nodes that were touched."""

    def __init__(
        self,
        store: Store,
        timing: KubeletTiming,
        resources: Mapping[str, NodeResources],
        preemption: KubeletPreemption,
        guard: ObjectGuard,
    ) -> None:
        self._guard = guard
        self._store = store
        self._clock = store.clock
        self._timing = timing
        self._resources = resources
        self._preemption = preemption
        self._policies: dict[str, NodePreemptionPolicy] = {}
        self._waiting: dict[str, dict[Key, None]] = {}
        self._touched: dict[str, None] = {}
        self._reserved: set[str] = set()  # nodes that preempt pods for a resize
        # Allocations that are not actual yet, with limits: the status has no field for allocated limits.
        self._granted: dict[Key, Allocation] = {}
        self._queue: DelayingQueue[Key, str] = DelayingQueue()

    # --- changes ---------------------------------------------------------------------------------

    def touch(self, node: str) -> None:
        """A pod stopped or shrank, or the node changed: waiting resizes may fit now."""
        if self._waiting.get(node):
            self._touched[node] = None

    def follow(self, node: str, policy: NodePreemptionPolicy) -> None:
        if self._policy(node) != policy:
            self._policies[node] = policy
            self.touch(node)

    def consider(self, key: Key, node: str, before: Stored | None) -> None:
        """Check a pod after a change of its spec, or when it is first seen."""
        stored = self._store.find(key)
        if stored is None:
            return
        body = parsed(stored)
        if not is_reported(body) and before is not None:
            stored = self._report_first(stored, desired(parsed(before)))
            body = parsed(stored)
        status = peek(body, "status")
        if not self._has(key, body).agrees_with(desired(body)) or get_condition(status, PENDING):
            self._waiting.setdefault(node, {})[key] = None
            self._touched[node] = None
        if get_condition(status, IN_PROGRESS) and key not in self._granted:
            self._granted[key] = granted(body)
            self._queue.add(key, node, self._clock() + self._timing.resize_seconds / self._timing.speed)

    def forget(self, key: Key, node: str) -> None:
        self._waiting.get(node, {}).pop(key, None)
        self._granted.pop(key, None)
        self._queue.remove(key)

    def taken_by_start(self, key: Key) -> Allocation | None:
        """The allocation of a pod that is about to start: it starts with it, so no resize is left to
        enforce."""
        self._queue.remove(key)
        return self._granted.pop(key, None)

    def recount(self, key: Key, node: str) -> None:
        """Charge a pod again: it may hold less than before."""
        self._charge(self._resources[node], self._store.get(key))
        self.touch(node)

    def _has(self, key: Key, body: Json) -> Allocation:
        return self._granted.get(key) or granted(body)

    def _report_first(self, stored: Stored, had: Allocation) -> Stored:
        """A pod that another kubelet started has the resources of its spec before the change."""

        def report(body: Json) -> Json:
            grant(body, had)
            enforce(body, had, self._clock())
            return body

        return self._store.patch(stored.key, report, Part.STATUS, stored.uid)

    # --- allocating ------------------------------------------------------------------------------

    def serve(self) -> None:
        touched, self._touched = self._touched, {}
        for node in touched:
            resources = self._resources.get(node)
            if resources is not None and resources.offered is not None:
                self._serve(node, resources)

    def _serve(self, node: str, resources: NodeResources) -> None:
        self._reserved.discard(node)
        for key in sorted(self._waiting.get(node, {}), key=self._rank):
            self._guard.run(ObjectWork("resize", key), partial(self._serve_one, key, node, resources))

    def _rank(self, key: Key) -> tuple[bool, Rank | None]:
        """A pod that cannot be ranked comes last, where it fails again, under guard."""
        try:
            request = self._request(key)
        except Exception:
            return True, None
        return request is None, request.rank() if request is not None else None

    def _request(self, key: Key) -> ResizeRequest | None:
        stored = self._store.find(key)
        read = decode_pod(stored.raw) if stored is not None else None
        if stored is None or not isinstance(read, Decoded) or self._preemption.is_ending(key):
            return None
        body = parsed(stored)
        return ResizeRequest(key, body, footprint_of(read.object), desired(body), self._has(key, body))

    def _serve_one(self, key: Key, node: str, resources: NodeResources) -> None:
        request = self._request(key) if key in self._waiting.get(node, {}) else None
        if request is None:
            return
        with suppress(ApiError):  # the pod is gone; the next change shows it
            if self._settle(request, node, resources, node in self._reserved):
                self._reserved.add(node)

    def _settle(self, request: ResizeRequest, node: str, resources: NodeResources, reserved: bool) -> bool:
        """Whether it preempts pods: later resizes must not take the resources that this frees."""
        infeasible = _infeasible(request, resources)
        lacks = list(resources.shortages(request.key, request.target()))
        if request.wanted.agrees_with(request.has):
            self._waiting[node].pop(request.key)
            self._preemption.forget(request.key)
            self._write(request, _resolved)
        elif infeasible:
            self._wait(request, INFEASIBLE, infeasible, NodePreemptionPolicy(), node)
        elif not lacks and not (reserved and request.grows):
            self._grant(request, node, resources)
        elif lacks and self._preempts_for(request, node, resources, lacks):
            self._write(request, _resolved)  # not Deferred: the scheduler must not preempt for it as well
            return True
        else:
            why = str(lacks[0]) if lacks else "the node is preempting pods for a critical pod first"
            self._wait(request, DEFERRED, why, self._policy(node), node)
        return False

    def _policy(self, node: str) -> NodePreemptionPolicy:
        return self._policies.get(node, NodePreemptionPolicy())

    def _preempts_for(
        self, request: ResizeRequest, node: str, resources: NodeResources, lacks: Sequence[Shortage]
    ) -> bool:
        allowed = not self._policy(node).owners
        return allowed and self._preemption.make_room(request.ranked(), resources, lacks)

    def _wait(
        self, request: ResizeRequest, reason: str, why: str, policy: NodePreemptionPolicy, node: str
    ) -> None:
        pending = StatusCondition(PENDING, "True", reason, why, request.generation)
        disabled = policy.condition(node, request.generation) if policy.owners else None
        old = get_condition(peek(request.body, "status"), PENDING) or {}
        self._preemption.forget(request.key)
        self._write(request, lambda status, now: _pend(status, pending, disabled, now))
        if (old.get("reason"), old.get("observedGeneration")) != (reason, request.generation):
            self._announce(request.key, request.uid, Tone.WARNING, f"Resize{reason}", why)

    def _grant(self, request: ResizeRequest, node: str, resources: NodeResources) -> None:
        def report(status: Json, now: float) -> None:
            _resolved(status, now)
            # Clear it first: the new condition must not keep the transition time of an earlier one.
            clear_condition(status, IN_PROGRESS)
            in_progress = StatusCondition(IN_PROGRESS, "True", observed_generation=request.generation)
            set_condition(status, in_progress, now)

        seconds = self._timing.resize_seconds
        if needs_restart(request.body, request.wanted):
            seconds += self._timing.start_seconds
        self._waiting[node].pop(request.key)
        self._preemption.forget(request.key)
        self._granted[request.key] = request.wanted
        stored = self._write(request, report, request.wanted)
        self._charge(resources, stored)
        self._queue.add(request.key, node, self._clock() + seconds / self._timing.speed)
        self._announce(
            request.key,
            request.uid,
            Tone.NORMAL,
            "ResizeStarted",
            "the kubelet has allocated the requested resources",
        )

    def _write(
        self, request: ResizeRequest, report: Callable[[Json, float], None], grants: Allocation | None = None
    ) -> Stored:
        def change(body: Json) -> Json:
            status = section(body, "status")
            if grants is not None:
                grant(body, grants)
            report(status, self._clock())
            status["observedGeneration"] = request.generation
            return body

        return self._store.patch(request.key, change, Part.STATUS, request.uid)

    def _charge(self, resources: NodeResources, stored: Stored) -> None:
        weight = footprint_in(stored.raw)
        if weight is not None and resources.pods.get(stored.key):
            resources.charge(stored.key, weight_of(weight))

    def _announce(self, key: Key, uid: str, tone: Tone, reason: str, note: str) -> None:
        target = Target("Pod", key.namespace, key.name, uid)
        announce(self._store, Announce(target, tone, reason, "Resize", note), self._clock(), "kubelet")

    # --- enforcing -------------------------------------------------------------------------------

    def next_at(self) -> float | None:
        return self._queue.next_at()

    def enforce_due(self) -> None:
        for key, node in self._queue.due(self._clock()):
            allocation = self._granted.pop(key, None)
            if allocation is not None:
                work = partial(self._enforce_if_there, key, node, allocation)
                self._guard.run(ObjectWork("enforce the resize of", key), work)

    def _enforce_if_there(self, key: Key, node: str, allocation: Allocation) -> None:
        with suppress(ApiError):  # the pod is gone; the next change shows it
            self._enforce(key, node, allocation)

    def _enforce(self, key: Key, node: str, allocation: Allocation) -> None:
        def change(body: Json) -> Json:
            enforce(body, allocation, self._clock())
            clear_condition(section(body, "status"), IN_PROGRESS)
            return body

        stored = self._store.patch(key, change, Part.STATUS)
        self.recount(key, node)
        self._announce(
            key, stored.uid, Tone.NORMAL, "ResizeCompleted", "the allocated resources are in effect"
        )


def _infeasible(request: ResizeRequest, resources: NodeResources) -> str:
    """Why the resize cannot fit even on an empty node; empty if it could."""
    offered = resources.offered or {}
    for name in _MEASURED:
        wanted = request.weight.desired.get(name, 0)
        if wanted > offered.get(name, 0) and wanted > request.weight.allocated.get(name, 0):
            return str(Shortage(name, wanted, 0, offered.get(name, 0)))
    return ""


def _resolved(status: Json, now: float) -> None:
    for kind in (PENDING, PREEMPTION_DISABLED):
        clear_condition(status, kind)


def _pend(status: Json, pending: StatusCondition, disabled: StatusCondition | None, now: float) -> None:
    """A new reason restarts the transition time."""
    old = get_condition(status, PENDING)
    if old is not None and old.get("reason") != pending.reason:
        clear_condition(status, PENDING)
    set_condition(status, pending, now)
    if disabled is None:
        clear_condition(status, PREEMPTION_DISABLED)
    else:
        set_condition(status, disabled, now)
