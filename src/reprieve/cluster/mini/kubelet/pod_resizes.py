"""Resizes in place: which of them a kubelet grants, in which order, and when they are enforced.

What a pod was granted stands in its status, so that nothing is lost when kubelets begin anew. How pods come
and go is not known here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from reprieve.cluster.api.codec import Decoded, decode_pod
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.api.values import Json, text_in
from reprieve.cluster.mini.conditions import StatusCondition, clear_condition, get_condition, set_condition
from reprieve.cluster.mini.delaying_queue import DelayingQueue
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kinds import peek, section
from reprieve.cluster.mini.kubelet.allocation import (
    Allocation,
    desired,
    enforce,
    grant,
    granted,
    is_reported,
    needs_restart,
)
from reprieve.cluster.mini.kubelet.node_preemption_policy import NodePreemptionPolicy
from reprieve.cluster.mini.kubelet.node_resources import (
    NodeResources,
    Shortage,
    footprint_in,
    footprint_of,
    weight_of,
)
from reprieve.cluster.mini.kubelet.preemption import KubeletPreemption
from reprieve.cluster.mini.kubelet.timing import KubeletTiming
from reprieve.cluster.mini.kubelet.victim_selection import RankedPod, ranked
from reprieve.cluster.mini.scheduler_calls import announce
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.cluster.mini.stored_objects import Key, Stored
from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.footprint import Footprint
from reprieve.model.resizing import DEFERRED, IN_PROGRESS, INFEASIBLE, PENDING, PREEMPTION_DISABLED
from reprieve.model.resources import CPU, MEMORY, Amounts

_MEASURED = (CPU, MEMORY)
Rank = tuple[bool, int, bool, str, Key]


@dataclass(frozen=True, slots=True)
class ResizeRequest:
    """A pod whose spec and grant differ."""

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
        """What the node must bear while the resize is enforced: the largest of all readings."""
        desired, held = self.weight.desired, self.weight.held
        return {name: max(desired.get(name, 0), held.get(name, 0)) for name in {*desired, *held}}

    def standing(self) -> RankedPod:
        return ranked(self.key, self.body, self.weight.held)

    def rank(self) -> Rank:
        """What does not grow first, then by priority, quality of service, and since when it waits."""
        standing = self.standing()
        pending = get_condition(peek(self.body, "status"), PENDING) or {}
        since = text_in(pending, "lastTransitionTime") or "never"  # sorts behind every time
        return self.grows, -standing.priority, standing.quality != "Guaranteed", since, self.key


class PodResizes:
    """``serve`` after anything changed that could matter to a node: it looks at all who wait there."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        timing: KubeletTiming,
        resources: Mapping[str, NodeResources],
        preemption: KubeletPreemption,
    ) -> None:
        self._store = store
        self._clock = clock
        self._timing = timing
        self._resources = resources
        self._preemption = preemption
        self._policies: dict[str, NodePreemptionPolicy] = {}
        self._waiting: dict[str, dict[Key, None]] = {}
        self._touched: dict[str, None] = {}
        # What was granted and is not enforced yet, limits included: the status has no place for those.
        self._granted: dict[Key, Allocation] = {}
        self._queue: DelayingQueue[Key, str] = DelayingQueue()

    # --- what may matter -------------------------------------------------------------------------

    def touch(self, node: str) -> None:
        """Somebody left or shrank, or the node changed: who waits there may have better luck."""
        if self._waiting.get(node):
            self._touched[node] = None

    def follow(self, node: str, policy: NodePreemptionPolicy) -> None:
        if self._policy(node) != policy:
            self._policies[node] = policy
            self.touch(node)

    def consider(self, key: Key, node: str, before: Stored | None) -> None:
        """A pod whose spec may have changed, or that is seen for the first time."""
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
        """What was granted to a pod before it runs: it starts with that, and nothing is left to enforce."""
        self._queue.remove(key)
        return self._granted.pop(key, None)

    def recount(self, key: Key, node: str) -> None:
        """What a pod holds may be less than before."""
        self._charge(self._resources[node], self._store.get(key))
        self.touch(node)

    def _has(self, key: Key, body: Json) -> Allocation:
        return self._granted.get(key) or granted(body)

    def _report_first(self, stored: Stored, had: Allocation) -> Stored:
        """A pod that no kubelet of ours has started has what its spec said before it was changed."""

        def report(body: Json) -> Json:
            grant(body, had)
            enforce(body, had, self._clock())
            return body

        return self._store.patch(stored.key, report, Part.STATUS, stored.uid)

    # --- granting --------------------------------------------------------------------------------

    def serve(self) -> None:
        touched, self._touched = self._touched, {}
        for node in touched:
            resources = self._resources.get(node)
            if resources is not None and resources.offered is not None:
                self._serve(node, resources)

    def _serve(self, node: str, resources: NodeResources) -> None:
        reserved = False
        for request in sorted(self._requests(node), key=ResizeRequest.rank):
            with suppress(ApiError):  # it is gone, and the next change shows it
                reserved = self._settle(request, node, resources, reserved) or reserved

    def _requests(self, node: str) -> Iterator[ResizeRequest]:
        for key in self._waiting.get(node, {}):
            stored = self._store.find(key)
            read = decode_pod(stored.raw) if stored is not None else None
            if stored is None or not isinstance(read, Decoded) or self._preemption.is_ending(key):
                continue
            body = parsed(stored)
            yield ResizeRequest(key, body, footprint_of(read.object), desired(body), self._has(key, body))

    def _settle(self, request: ResizeRequest, node: str, resources: NodeResources, reserved: bool) -> bool:
        """Whether room is being made for it: nobody who comes after it may take that, then."""
        impossible = _impossible(request, resources)
        lacks = list(resources.shortages(request.key, request.target()))
        if request.wanted.agrees_with(request.has):
            self._waiting[node].pop(request.key)
            self._preemption.forget(request.key)
            self._write(request, _resolved)
        elif impossible:
            self._wait(request, INFEASIBLE, impossible, NodePreemptionPolicy(), node)
        elif not lacks and not (reserved and request.grows):
            self._grant(request, node, resources)
        elif lacks and self._makes_room(request, node, resources, lacks):
            self._write(request, _resolved)  # nobody else is to make room for it
            return True
        else:
            why = str(lacks[0]) if lacks else "the node makes room for a critical pod first"
            self._wait(request, DEFERRED, why, self._policy(node), node)
        return False

    def _policy(self, node: str) -> NodePreemptionPolicy:
        return self._policies.get(node, NodePreemptionPolicy())

    def _makes_room(
        self, request: ResizeRequest, node: str, resources: NodeResources, lacks: Sequence[Shortage]
    ) -> bool:
        allowed = not self._policy(node).owners
        return allowed and self._preemption.make_room(request.standing(), resources, lacks)

    def _wait(
        self, request: ResizeRequest, reason: str, why: str, policy: NodePreemptionPolicy, node: str
    ) -> None:
        pending = StatusCondition(PENDING, "True", reason, why, request.generation)
        disabled = policy.condition(node, request.generation) if policy.owners else None
        old = get_condition(peek(request.body, "status"), PENDING) or {}
        self._preemption.forget(request.key)
        self._write(request, lambda status, now: _pend(status, pending, disabled, now))
        if (old.get("reason"), old.get("observedGeneration")) != (reason, request.generation):
            self._tell(request.key, request.uid, Tone.WARNING, f"Resize{reason}", why)

    def _grant(self, request: ResizeRequest, node: str, resources: NodeResources) -> None:
        def report(status: Json, now: float) -> None:
            _resolved(status, now)
            # A condition of an earlier generation must not be taken for this one's.
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
        self._tell(
            request.key, request.uid, Tone.NORMAL, "ResizeStarted", "the node grants what the pod asks for"
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

    def _tell(self, key: Key, uid: str, tone: Tone, reason: str, note: str) -> None:
        target = Target("Pod", key.namespace, key.name, uid)
        announce(self._store, Announce(target, tone, reason, "Resize", note), self._clock(), "kubelet")

    # --- enforcing -------------------------------------------------------------------------------

    def next_at(self) -> float | None:
        return self._queue.next_at()

    def enforce_due(self) -> None:
        for key, node in self._queue.due(self._clock()):
            allocation = self._granted.pop(key, None)
            if allocation is not None:
                with suppress(ApiError):
                    self._enforce(key, node, allocation)

    def _enforce(self, key: Key, node: str, allocation: Allocation) -> None:
        def change(body: Json) -> Json:
            enforce(body, allocation, self._clock())
            clear_condition(section(body, "status"), IN_PROGRESS)
            return body

        stored = self._store.patch(key, change, Part.STATUS)
        self.recount(key, node)
        self._tell(key, stored.uid, Tone.NORMAL, "ResizeCompleted", "the pod has what it was granted")


def _impossible(request: ResizeRequest, resources: NodeResources) -> str:
    """Why no departure of others could ever help."""
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
    """Another reason is another wait, and its time begins anew."""
    old = get_condition(status, PENDING)
    if old is not None and old.get("reason") != pending.reason:
        clear_condition(status, PENDING)
    set_condition(status, pending, now)
    if disabled is None:
        clear_condition(status, PREEMPTION_DISABLED)
    else:
        set_condition(status, disabled, now)
