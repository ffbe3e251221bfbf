"""What any cluster must do, as checks that run against whichever is given.

A check is told how to make a cluster, and is helped by an operator who creates and deletes objects behind the
scheduler's back. It must hold on a cluster that others use, too: it looks at its own objects only.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self

from reprieve.cluster.port import Answer, Cluster, Refused, Sight, Succeeded
from reprieve.model.effects import (
    Announce,
    Bind,
    BindVolume,
    Effect,
    Evict,
    Nominate,
    SelectNode,
    SetCondition,
    Target,
    Tone,
    WriteStatus,
)
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.json import Json
from reprieve.model.objects import Condition, KubernetesObject, Pod

PATIENCE = 30.0  # seconds until something that must happen is held not to happen


class BrokenContractError(AssertionError):
    """A cluster that does not do what every cluster must."""


def expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise BrokenContractError(sentence)


class Operator(Protocol):
    """Somebody with rights to everything, who acts at once."""

    async def create(self, body: Json) -> Json:
        """The object as it was stored."""

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        """Without grace."""

    async def read(self, kind: str, namespace: str, name: str) -> Json | None: ...

    async def list(self, kind: str, namespace: str) -> list[Json]: ...

    async def disconnect(self) -> None:
        """Breaks every open watch."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A cluster, its operator, and a namespace that is empty; cluster-scoped names begin with its name."""

    cluster: Cluster
    operator: Operator
    namespace: str

    async def pod(self, name: str) -> Target:
        spec = {"schedulerName": "reprieve", "containers": [{"name": "main", "image": "example/app:1"}]}
        return await self._made("v1", "Pod", name, {"spec": spec})

    async def node(self, name: str) -> Target:
        allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        return await self._made("v1", "Node", self.scoped(name), {"status": {"allocatable": allocatable}})

    async def claim(self, name: str) -> Target:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.scoped("waiting"),
            "resources": {"requests": {"storage": "1Gi"}},
        }
        return await self._made("v1", "PersistentVolumeClaim", name, {"spec": spec})

    async def volume(self, name: str) -> Target:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.scoped("waiting"),
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/tmp/reprieve"},
        }
        return await self._made("v1", "PersistentVolume", self.scoped(name), {"spec": spec})

    def scoped(self, name: str) -> str:
        return f"{self.namespace}-{name}"

    async def _made(self, api_version: str, kind: str, name: str, rest: Json) -> Target:
        namespaced = kind in ("Pod", "PersistentVolumeClaim")
        meta = {"name": name, "namespace": self.namespace} if namespaced else {"name": name}
        body = {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}
        made = await self.operator.create(body)
        return Target(kind, self.namespace if namespaced else "", name, made["metadata"]["uid"])

    async def remove(self, target: Target) -> None:
        await self.operator.delete(target.kind, target.namespace, target.name)

    async def must_succeed(self, effect: Effect | WriteStatus) -> None:
        answer = await self.cluster.perform(effect)
        expect(isinstance(answer, Succeeded), f"{effect} must succeed, and ended as {answer}")

    async def must_be_refused(self, effect: Effect) -> None:
        """For good: the same request cannot succeed later."""
        answer: Answer = await self.cluster.perform(effect)
        expect(isinstance(answer, Refused), f"{effect} must be refused, and ended as {answer}")
        again = isinstance(answer, Refused) and answer.again
        expect(not again, f"{effect} was refused as if it were worth repeating: {answer}")

    async def must_be_missing(self, effect: Effect) -> None:
        answer = await self.cluster.perform(effect)
        missing = isinstance(answer, Refused) and answer.missing and not answer.again
        expect(missing, f"{effect} is meant for somebody who is gone, and ended as {answer}")


Maker = Callable[[], AbstractAsyncContextManager[Stage]]


# --- looking -------------------------------------------------------------------------------------


def target_of(sight: Sight) -> Target | None:
    match sight:
        case Gone(target) | Unread(target, _):
            return target
        case Seen(thing):
            meta = thing.metadata
            return Target(type(thing).__name__, meta.namespace, meta.name, meta.uid)
        case Synced():
            return None


class Viewer:
    """Somebody who watches and remembers."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._sights: list[Sight] = []
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        await self.until(self.synced, "the watch must say when everything was seen")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        async for sight in self._stage.cluster.watch():
            async with self._news:
                self._sights.append(sight)
                self._news.notify_all()

    async def until(self, holds: Callable[[], object], sentence: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE), self._news:
                await self._news.wait_for(holds)
        except TimeoutError:
            raise BrokenContractError(sentence) from self._failure()

    def _failure(self) -> BaseException | None:
        """Why the watch ended, if it did."""
        return self._task.exception() if self._task is not None and self._task.done() else None

    def synced(self) -> bool:
        return Synced() in self._sights

    def about(self, target: Target) -> list[Sight]:
        """Everything seen of whoever had this name."""
        named = (target.kind, target.namespace, target.name)
        return [
            s
            for s in self._sights
            if (t := target_of(s)) is not None and (t.kind, t.namespace, t.name) == named
        ]

    def before_sync(self, target: Target) -> bool:
        first = self._sights[: self._sights.index(Synced())]
        return any(target_of(sight) == target for sight in first)

    def pods(self, target: Target) -> Iterator[Pod]:
        for sight in self.about(target):
            if isinstance(sight, Seen) and isinstance(sight.object, Pod):
                yield sight.object

    def sees(self, target: Target) -> bool:
        return any(target_of(sight) == target for sight in self.about(target))

    def has_lost(self, target: Target) -> bool:
        return Gone(target) in self._sights

    def picture(self, namespace: str) -> dict[tuple[str, str], KubernetesObject]:
        """What there is in a namespace, as far as was seen."""
        there: dict[tuple[str, str], KubernetesObject] = {}
        for sight in self._sights:
            target = target_of(sight)
            if target is None or target.namespace != namespace:
                continue
            if isinstance(sight, Seen):
                there[target.kind, target.name] = sight.object
            else:
                there.pop((target.kind, target.name), None)
        return there

    def check_order(self, target: Target) -> None:
        versions = [int(pod.metadata.resource_version) for pod in self.pods(target)]
        expect(
            versions == sorted(set(versions)), f"{target} must never be shown as it was before: {versions}"
        )


# --- the checks ----------------------------------------------------------------------------------


async def shows_what_there_is_then_what_changes(stage: Stage) -> None:
    node, early = await stage.node("node"), await stage.pod("early")
    async with Viewer(stage) as viewer:
        for target in (node, early):
            expect(viewer.before_sync(target), f"{target} existed, and must be shown before Synced")
        late = await stage.pod("late")
        await viewer.until(lambda: viewer.sees(late), f"{late} was created, and must be shown")
        expect(not viewer.before_sync(late), f"{late} was created after Synced")


async def shows_changes_in_order(stage: Stage) -> None:
    pod = await stage.pod("pod")
    async with Viewer(stage) as viewer:
        for message in "abcde":
            await stage.must_succeed(_unschedulable(pod, message))
        await viewer.until(
            lambda: _messages(viewer, pod)[-1:] == ["e"], f"the last condition of {pod} must be shown"
        )
        expect(_messages(viewer, pod) == sorted(_messages(viewer, pod)), "changes must be shown in order")
        viewer.check_order(pod)


async def tells_whom_it_lost(stage: Stage) -> None:
    first = await stage.pod("pod")
    async with Viewer(stage) as viewer:
        await stage.remove(first)
        second = await stage.pod("pod")
        await viewer.until(lambda: viewer.sees(second), f"the new {second} must be shown")
        expect(viewer.has_lost(first), f"the old {first} must be shown as gone, with its own uid")
        seen = [target_of(sight) for sight in viewer.about(first)]
        expect(seen.index(second) > 0 and seen[-1] == second, "a namesake is shown after the old one went")


async def binds_a_pod(stage: Stage) -> None:
    node, pod = await stage.node("node"), await stage.pod("pod")
    async with Viewer(stage) as viewer:
        await stage.must_succeed(Bind(pod, node.name))
        await viewer.until(
            lambda: any(p.spec.node_name == node.name for p in viewer.pods(pod)), f"{pod} must get its node"
        )
        *_, bound = viewer.pods(pod)
        scheduled = any(c.type == "PodScheduled" and c.status == "True" for c in bound.status.conditions)
        expect(scheduled, f"{pod} was bound and must have the condition PodScheduled")


async def binds_a_pod_only_once(stage: Stage) -> None:
    node, other, pod = await stage.node("node"), await stage.node("other"), await stage.pod("pod")
    await stage.must_succeed(Bind(pod, node.name))
    await stage.must_be_refused(Bind(pod, other.name))
    await stage.must_succeed(Bind(pod, node.name))
    stored = await stage.operator.read("Pod", pod.namespace, pod.name)
    expect(stored is not None and stored["spec"]["nodeName"] == node.name, f"{pod} must stay where it is")


async def binds_nobody_else(stage: Stage) -> None:
    node, pod = await stage.node("node"), await stage.pod("pod")
    stranger = Target(pod.kind, pod.namespace, pod.name, "00000000-0000-0000-0000-000000000000")
    await stage.must_be_refused(Bind(stranger, node.name))
    stored = await stage.operator.read("Pod", pod.namespace, pod.name)
    expect(stored is not None and not stored["spec"].get("nodeName"), f"{pod} was not meant")


async def binds_nobody_who_is_gone(stage: Stage) -> None:
    node, pod = await stage.node("node"), await stage.pod("pod")
    await stage.remove(pod)
    namesake = await stage.pod("pod")
    for effect in (Bind(pod, node.name), _unschedulable(pod, "gone"), Nominate(pod, node.name)):
        await stage.must_be_missing(effect)
    await stage.remove(namesake)
    await stage.must_be_missing(_unschedulable(pod, "gone"))
    await stage.must_succeed(Evict(pod))


async def writes_conditions(stage: Stage) -> None:
    pod = await stage.pod("pod")
    async with Viewer(stage) as viewer:
        for message in ("too full", "too full", "still too full"):
            await stage.must_succeed(_unschedulable(pod, message))
        await viewer.until(
            lambda: _messages(viewer, pod)[-1:] == ["still too full"], f"the condition of {pod} must be shown"
        )
        *_, last = viewer.pods(pod)
        found = [c for c in last.status.conditions if c.type == "PodScheduled"]
        expect(len(found) == 1, f"{pod} must have one condition of a type, and has {len(found)}")
        expect(
            (found[0].status, found[0].reason) == ("False", "Unschedulable"), f"wrong condition {found[0]}"
        )
        generation = last.metadata.generation
        expect(found[0].observed_generation == generation, f"{found[0]} must tell of generation {generation}")


async def tells_when_a_condition_turned(stage: Stage) -> None:
    pod = await stage.pod("pod")
    async with Viewer(stage) as viewer:
        times = [
            await _time_written(stage, viewer, SetCondition(pod, "Contract", status, "Checked", message))
            for status, message in (("False", "a"), ("False", "b"), ("True", "c"))
        ]
    expect(times[0] == times[1], f"the condition of {pod} did not turn, and must keep its time: {times}")
    expect(times[1] != times[2], f"the condition of {pod} turned, and must tell when: {times}")


async def _time_written(stage: Stage, viewer: Viewer, effect: SetCondition) -> datetime | None:
    """The time of a condition after it was written; a little later, since times are whole seconds."""

    def written() -> list[Condition]:
        *_, last = viewer.pods(effect.target)
        return [c for c in last.status.conditions if c.message == effect.message]

    await stage.must_succeed(effect)
    await viewer.until(written, f"the condition {effect.type} of {effect.target} must be shown")
    await asyncio.sleep(1.1)
    return written()[0].last_transition_time


async def writes_a_status_at_once(stage: Stage) -> None:
    node, pod = await stage.node("node"), await stage.pod("pod")
    async with Viewer(stage) as viewer:
        parts = (Nominate(pod, node.name), _unschedulable(pod, "full"))
        await stage.must_succeed(WriteStatus(pod, parts))
        await viewer.until(lambda: _messages(viewer, pod) == ["full"], f"the status of {pod} must be shown")
        *_, last = viewer.pods(pod)
        expect(last.status.nominated_node_name == node.name, f"{pod} must be nominated in the same write")
        await stage.must_succeed(WriteStatus(pod, (Nominate(pod, ""), _unschedulable(pod, "fuller"))))
        await viewer.until(lambda: _messages(viewer, pod)[-1:] == ["fuller"], f"{pod} must change")
        *_, last = viewer.pods(pod)
        expect(not last.status.nominated_node_name, f"the nomination of {pod} must be cleared")


async def stores_announcements(stage: Stage) -> None:
    pod = await stage.pod("pod")
    await stage.must_succeed(Announce(pod, Tone.WARNING, "FailedScheduling", "Scheduling", "no room"))
    events = await stage.operator.list("Event", stage.namespace)
    told = [
        (e["type"], e["reason"], e["action"], e["message"])
        for e in events
        if e["involvedObject"].get("uid") == pod.uid
    ]
    expected = ("Warning", "FailedScheduling", "Scheduling", "no room")
    expect(expected in told, f"an event about {pod} must be stored; there are {told}")


async def promises_volumes(stage: Stage) -> None:
    volume, claim, other = await stage.volume("v"), await stage.claim("claim"), await stage.claim("other")
    await stage.must_succeed(BindVolume(volume, claim))
    await stage.must_succeed(BindVolume(volume, claim))
    await stage.must_be_refused(BindVolume(volume, other))
    stored = await stage.operator.read("PersistentVolume", "", volume.name)
    promised = (stored or {}).get("spec", {}).get("claimRef", {})
    expect(promised.get("uid") == claim.uid, f"{volume} must be promised to {claim}: {promised}")


async def asks_for_volumes(stage: Stage) -> None:
    node, claim = await stage.node("node"), await stage.claim("claim")
    await stage.must_succeed(SelectNode(claim, node.name))
    await stage.must_succeed(SelectNode(claim, node.name))
    stored = await stage.operator.read("PersistentVolumeClaim", claim.namespace, claim.name)
    chosen = (stored or {})["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node")
    expect(chosen == node.name, f"{claim} must name its node, and names {chosen}")


async def survives_a_broken_connection(stage: Stage) -> None:
    kept, lost = await stage.pod("kept"), await stage.pod("lost")
    async with Viewer(stage) as viewer:
        await stage.must_succeed(_unschedulable(kept, "a"))
        await stage.operator.disconnect()
        await stage.must_succeed(_unschedulable(kept, "b"))
        await stage.remove(lost)
        new = await stage.pod("new")
        await stage.must_succeed(_unschedulable(kept, "c"))
        await viewer.until(lambda: viewer.sees(new), f"{new} must be shown after the connection broke")
        await viewer.until(lambda: viewer.has_lost(lost), f"{lost} vanished and must be shown as gone")
        await viewer.until(
            lambda: _messages(viewer, kept)[-1:] == ["c"], f"{kept} must be shown as it is now"
        )
        expect(_messages(viewer, kept) == sorted(_messages(viewer, kept)), "changes must be shown in order")
        viewer.check_order(kept)


async def shows_everybody_the_same(stage: Stage) -> None:
    async with Viewer(stage) as one:
        pods = [await stage.pod(f"pod-{i}") for i in range(5)]
        async with Viewer(stage) as other:
            await stage.operator.disconnect()
            await stage.remove(pods[2])
            await stage.must_succeed(_unschedulable(pods[3], "a"))
            last = await stage.pod("last")
            expected = {pod.name for pod in (*pods, last)} - {pods[2].name}
            for viewer in (one, other):
                await _sees_the_end(viewer, pods[3], expected)
            same = one.picture(stage.namespace) == other.picture(stage.namespace)
            expect(same, "two watchers must end with the same picture")


async def _sees_the_end(viewer: Viewer, changed: Target, names: set[str]) -> None:
    def ended() -> bool:
        pods = {name for kind, name in viewer.picture(changed.namespace) if kind == "Pod"}
        return pods == names and _messages(viewer, changed)[-1:] == ["a"]

    await viewer.until(ended, f"every watcher must come to see {sorted(names)}")
    viewer.check_order(changed)


def _unschedulable(pod: Target, message: str) -> SetCondition:
    return SetCondition(pod, "PodScheduled", "False", "Unschedulable", message)


def _messages(viewer: Viewer, pod: Target) -> list[str]:
    """What was shown of a pod's condition, without repetitions of the same."""
    found = [c.message for p in viewer.pods(pod) for c in p.status.conditions if c.type == "PodScheduled"]
    return [message for i, message in enumerate(found) if i == 0 or found[i - 1] != message]


Check = Callable[[Stage], Coroutine[Any, Any, None]]

CHECKS: tuple[Check, ...] = (
    shows_what_there_is_then_what_changes,
    shows_changes_in_order,
    tells_whom_it_lost,
    binds_a_pod,
    binds_a_pod_only_once,
    binds_nobody_else,
    binds_nobody_who_is_gone,
    writes_conditions,
    tells_when_a_condition_turned,
    writes_a_status_at_once,
    stores_announcements,
    promises_volumes,
    asks_for_volumes,
    survives_a_broken_connection,
    shows_everybody_the_same,
)


async def check_cluster(make: Maker) -> None:
    """Every check, each on a stage of its own; the first promise that is broken is raised."""
    for check in CHECKS:
        async with make() as stage:
            await check(stage)
