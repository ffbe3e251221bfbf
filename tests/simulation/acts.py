"""What can happen to a simulated cluster behind the scheduler's back."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from tests.minicluster.faulty_cluster import FaultyCluster, WatchFault

from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.objects import Pod, group_of
from reprieve.scheduler.plans.handover import is_marked, shown_mark
from reprieve_minicluster.store import Key, Part, Store, parsed
from reprieve_minicluster.store.scheduler_calls import bind
from reprieve_minicluster.virtual_time import clock
from tests.simulation.invariants import pods_in, waiting_in
from tests.simulation.objects import pod, pod_spec


@dataclass(frozen=True, slots=True)
class Apply:
    objects: tuple[Json, ...]

    async def happen(self, cluster: FaultyCluster) -> None:
        cluster.apply(self.objects)

    def __str__(self) -> str:
        names = (f"{thing['kind']} {thing['metadata']['name']}" for thing in self.objects)
        return f"Apply {', '.join(names)}"


# --- nodes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoseNode:
    """It vanishes with everything on it, and comes back."""

    name: str
    seconds: float

    async def happen(self, cluster: FaultyCluster) -> None:
        lost = parsed(cluster.store.get(_node(self.name)))
        cluster.delete("Node", "", self.name)
        await asyncio.sleep(self.seconds)
        meta = {name: value for name, value in lost["metadata"].items() if name in ("name", "labels")}
        cluster.apply([{**lost, "metadata": meta}])


@dataclass(frozen=True, slots=True)
class Cordon:
    name: str
    seconds: float

    async def happen(self, cluster: FaultyCluster) -> None:
        _write(cluster.store, _node(self.name), unschedulable=True)
        await asyncio.sleep(self.seconds)
        _write(cluster.store, _node(self.name), unschedulable=False)


@dataclass(frozen=True, slots=True)
class Taint:
    name: str
    seconds: float

    async def happen(self, cluster: FaultyCluster) -> None:
        _write(cluster.store, _node(self.name), taints=[{"key": "example.com/ill", "effect": "NoSchedule"}])
        await asyncio.sleep(self.seconds)
        _write(cluster.store, _node(self.name), taints=[])


@dataclass(frozen=True, slots=True)
class Grow:
    """No node shrinks: what runs there would not fit any more, through no fault of the scheduler."""

    name: str
    cpu: int

    async def happen(self, cluster: FaultyCluster) -> None:
        cluster.store.patch(_node(self.name), self._grown, Part.STATUS)

    def _grown(self, body: Json) -> Json:
        offered = body["status"]["allocatable"]
        offered["cpu"] = str(max(int(offered["cpu"]), self.cpu))
        return body


# --- pods ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeletePod:
    """One of those that are there, by its place in the list."""

    which: int
    grace: int | None

    async def happen(self, cluster: FaultyCluster) -> None:
        key = _one_of(pods_in(cluster.store), self.which)
        if key is not None:
            cluster.store.delete(key, grace=self.grace)


@dataclass(frozen=True, slots=True)
class ReplacePod:
    """A pod makes room for a namesake at once."""

    name: str
    cpu: str

    async def happen(self, cluster: FaultyCluster) -> None:
        if cluster.store.delete(_pod(self.name), grace=0) is None:  # nothing holds it back
            cluster.apply([pod(self.name, pod_spec(self.cpu))])


@dataclass(frozen=True, slots=True)
class ReplaceVictim:
    """The next pod that is marked makes room for a namesake before it can be evicted."""

    seconds: float  # how long to wait for one
    cpu: str

    async def happen(self, cluster: FaultyCluster) -> None:
        async for pods in _looks(cluster.store, self.seconds, 0.1):
            marked = [victim.metadata.name for victim in pods if is_marked(victim)]
            if marked:
                await ReplacePod(marked[0], self.cpu).happen(cluster)
                return


@dataclass(frozen=True, slots=True)
class SpoilPod:
    """What a waiting pod asks for cannot be read for a while."""

    which: int
    seconds: float

    async def happen(self, cluster: FaultyCluster) -> None:
        key = _one_of(waiting_in(cluster.store), self.which)
        if key is not None:
            sound = _write(cluster.store, key, tolerations=3)
            await asyncio.sleep(self.seconds)
            _write(cluster.store, key, tolerations=sound.get("tolerations", []))


@dataclass(frozen=True, slots=True)
class Resize:
    """A pod that runs is to have more, or less, or what it has; while one resize waits another may come."""

    which: int
    cpu: str

    async def happen(self, cluster: FaultyCluster) -> None:
        running = [p for p in pods_in(cluster.store) if p.spec.node_name and p.status.phase == "Running"]
        key = _one_of(running, self.which)
        if key is not None:
            cluster.store.patch(key, self._resized, Part.MAIN)

    def _resized(self, body: Json) -> Json:
        body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = self.cpu
        return body


@dataclass(frozen=True, slots=True)
class ForbidResizes:
    """This node forbids preemption for resizes, for a while."""

    name: str
    seconds: float

    async def happen(self, cluster: FaultyCluster) -> None:
        policy = {"disableResizePreemption": ["example.com/autoscaler"]}
        _write(cluster.store, _node(self.name), podPreemptionPolicy=policy)
        await asyncio.sleep(self.seconds)
        _write(cluster.store, _node(self.name), podPreemptionPolicy={})


@dataclass(frozen=True, slots=True)
class OpenGate:
    name: str

    async def happen(self, cluster: FaultyCluster) -> None:
        _write(cluster.store, _pod(self.name), schedulingGates=[])


@dataclass(frozen=True, slots=True)
class BindElsewhere:
    """Another client binds a waiting pod to a node of its choice."""

    which: int
    node: str

    async def happen(self, cluster: FaultyCluster) -> None:
        key = _one_of(waiting_in(cluster.store), self.which)
        if key is not None:
            target = Target("Pod", key.namespace, key.name, cluster.store.get(key).uid)
            bind(cluster.store, target, self.node, clock())


@dataclass(frozen=True, slots=True)
class Detain:
    """A finalizer delays the deletion of a pod for a while."""

    which: int
    seconds: float

    async def happen(self, cluster: FaultyCluster) -> None:
        key = _one_of(pods_in(cluster.store), self.which)
        if key is not None:
            _set_finalizers(cluster.store, key, ["example.com/detained"])
            await asyncio.sleep(self.seconds)
            _set_finalizers(cluster.store, key, [])


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """A pod joins the next group of which pods are marked, or are going: with a node, or without one."""

    seconds: float  # how long to wait for one
    going: bool  # until one of them is being deleted
    node: str

    async def happen(self, cluster: FaultyCluster) -> None:
        async for pods in _looks(cluster.store, self.seconds):
            marked = [victim for victim in pods if shown_mark(victim) and group_of(victim)]
            if self.going:
                marked = [victim for victim in marked if victim.metadata.deletion_timestamp is not None]
            if marked:
                name, priority = group_of(marked[0]), marked[0].spec.priority
                where = {"nodeName": self.node} if self.node else {}
                spec = pod_spec("1", priority=priority, schedulingGroup={"podGroupName": name}, **where)
                if cluster.store.find(_pod(f"{name}-late")) is None:
                    cluster.apply([pod(f"{name}-late", spec)])
                return


@dataclass(frozen=True, slots=True)
class LoseTree:
    """A group around others is deleted when a pod of the tree is marked, or is going; later it is back."""

    group: Json
    wait: float  # how long to wait for that
    going: bool
    seconds: float

    async def happen(self, cluster: FaultyCluster) -> None:
        tree = self.group["spec"]["workloadRef"]["workloadName"]
        async for pods in _looks(cluster.store, self.wait):
            marked = [one for one in pods if shown_mark(one) and group_of(one).startswith(f"{tree}-")]
            if any(one.metadata.deletion_timestamp is not None for one in marked) or (
                marked and not self.going
            ):
                break
        cluster.delete(self.group["kind"], "default", self.group["metadata"]["name"])
        await asyncio.sleep(self.seconds)
        cluster.apply([self.group])


@dataclass(frozen=True, slots=True)
class DeletePreemptor:
    """The pod that waits for victims is deleted: when the first is marked, or when the first is going."""

    seconds: float  # how long to wait for that
    going: bool

    async def happen(self, cluster: FaultyCluster) -> None:
        async for pods in _looks(cluster.store, self.seconds):
            marked = [victim for victim in pods if shown_mark(victim)]
            if self.going:
                marked = [victim for victim in marked if victim.metadata.deletion_timestamp is not None]
            nominated = [p.metadata.name for p in pods if p.status.nominated_node_name]
            if marked and nominated:
                cluster.store.delete(_pod(nominated[0]), grace=0)
                return


@dataclass(frozen=True, slots=True)
class ShrinkBudget:
    """A budget allows nothing more as soon as a pod is marked, for a while."""

    name: str
    wait: float
    seconds: float

    async def happen(self, cluster: FaultyCluster) -> None:
        async for pods in _looks(cluster.store, self.wait):
            if any(map(shown_mark, pods)):
                break
        budget = Key("poddisruptionbudgets.policy", "default", self.name)
        before = _write(cluster.store, budget, minAvailable=100)
        await asyncio.sleep(self.seconds)
        _write(cluster.store, budget, minAvailable=before["minAvailable"])


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Its pods wait for another one then, if they wait at all."""

    name: str
    kind: str = "PodGroup"

    async def happen(self, cluster: FaultyCluster) -> None:
        cluster.delete(self.kind, "default", self.name)


# --- the scheduler and its connection ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Disconnect:
    fault: WatchFault

    async def happen(self, cluster: FaultyCluster) -> None:
        cluster.disconnect(self.fault)


@dataclass(frozen=True, slots=True)
class Restart:
    """The scheduler dies in the middle of whatever it does, and is started again."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RestartServer:
    """The API server is down for a while, and has lost its watches."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SetClock:
    """The clock of the scheduler's machine is set forward, or back."""

    seconds: float


OnCluster = (
    Apply
    | LoseNode
    | Cordon
    | Taint
    | Grow
    | DeletePod
    | ReplacePod
    | ReplaceVictim
    | SpoilPod
    | Resize
    | ForbidResizes
    | OpenGate
    | BindElsewhere
    | Detain
    | JoinGroup
    | LoseTree
    | DeletePreemptor
    | ShrinkBudget
    | DeleteGroup
    | Disconnect
)
Act = OnCluster | Restart | RestartServer | SetClock


# --- reading and writing -------------------------------------------------------------------------


async def _looks(store: Store, seconds: float, every: float = 0.05) -> AsyncIterator[list[Pod]]:
    """The pods, again and again for a while: not when nothing has been written since the last look."""
    end, seen = clock() + seconds, -1
    while clock() < end:
        if store.version != seen:
            seen = store.version
            yield pods_in(store)
        await asyncio.sleep(every)


def _pod(name: str) -> Key:
    return Key("pods", "default", name)


def _node(name: str) -> Key:
    return Key("nodes", "", name)


def _one_of(pods: list[Pod], which: int) -> Key | None:
    if not pods:
        return None
    meta = pods[which % len(pods)].metadata
    return Key("pods", meta.namespace, meta.name)


def _set_finalizers(store: Store, key: Key, finalizers: list[str]) -> None:
    def detained(body: Json) -> Json:
        return {**body, "metadata": {**body["metadata"], "finalizers": finalizers}}

    store.patch(key, detained, Part.MAIN)


def _write(store: Store, key: Key, **spec: object) -> Json:
    """Changes fields of an object's spec; gives the spec as it was."""
    before: Json = parsed(store.get(key))["spec"]
    store.patch(key, lambda body: {**body, "spec": {**body["spec"], **spec}}, Part.MAIN)
    return before
