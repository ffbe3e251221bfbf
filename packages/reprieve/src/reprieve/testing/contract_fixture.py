"""What the checks of the contract work with: a cluster, its administrator, and a watcher that records."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from reprieve.cluster.port import Answer, ClusterEvent, ClusterPort, Refused, Succeeded
from reprieve.model.effects import (
    Effect,
    Target,
    WriteStatus,
)
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod

PATIENCE = 30.0  # seconds to wait for something that must happen


class BrokenContractError(AssertionError):
    """The cluster does not keep the contract."""


def expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise BrokenContractError(sentence)


class ClusterAdmin(Protocol):
    """Acts on the cluster directly, with all permissions."""

    async def create(self, body: Json) -> Json:
        """The object as it was stored."""

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        """Without grace."""

    async def read(self, kind: str, namespace: str, name: str) -> Json | None: ...

    async def list(self, kind: str, namespace: str) -> list[Json]: ...

    async def disconnect(self) -> None:
        """Breaks every open watch."""


@dataclass(frozen=True, slots=True)
class ClusterFixture:
    """A cluster, its administrator, and an empty namespace; cluster-scoped names begin with its name."""

    cluster: ClusterPort
    admin: ClusterAdmin
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
        made = await self.admin.create(body)
        return Target(kind, self.namespace if namespaced else "", name, made["metadata"]["uid"])

    async def remove(self, target: Target) -> None:
        await self.admin.delete(target.kind, target.namespace, target.name)

    async def must_succeed(self, effect: Effect | WriteStatus) -> None:
        answer = await self.cluster.perform(effect)
        expect(isinstance(answer, Succeeded), f"{effect} must succeed, and ended as {answer}")

    async def must_be_refused(self, effect: Effect) -> None:
        """With ``again`` unset: the same request cannot succeed later."""
        answer: Answer = await self.cluster.perform(effect)
        expect(isinstance(answer, Refused), f"{effect} must be refused, and ended as {answer}")
        again = isinstance(answer, Refused) and answer.again
        expect(not again, f"{effect} must not be reported as retryable: {answer}")

    async def must_be_missing(self, effect: Effect) -> None:
        answer = await self.cluster.perform(effect)
        missing = isinstance(answer, Refused) and answer.missing and not answer.again
        expect(missing, f"{effect} must report that its target is gone, and ended as {answer}")


def event_target(event: ClusterEvent) -> Target | None:
    match event:
        case Gone(target) | Unread(target, _):
            return target
        case Seen(thing):
            meta = thing.metadata
            return Target(type(thing).__name__, meta.namespace, meta.name, meta.uid)
        case Synced():
            return None


class RecordingWatcher:
    """Watches, and keeps every event."""

    def __init__(self, fixture: ClusterFixture) -> None:
        self._fixture = fixture
        self._events: list[ClusterEvent] = []
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        await self.until(self.synced, "the watch must send Synced after the list")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        async for event in self._fixture.cluster.watch():
            async with self._news:
                self._events.append(event)
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
        return Synced() in self._events

    def about(self, target: Target) -> list[ClusterEvent]:
        """Every event of objects with this name, whatever their UID."""
        named = (target.kind, target.namespace, target.name)
        return [
            s
            for s in self._events
            if (t := event_target(s)) is not None and (t.kind, t.namespace, t.name) == named
        ]

    def before_sync(self, target: Target) -> bool:
        first = self._events[: self._events.index(Synced())]
        return any(event_target(event) == target for event in first)

    def pods(self, target: Target) -> Iterator[Pod]:
        for event in self.about(target):
            if isinstance(event, Seen) and isinstance(event.object, Pod):
                yield event.object

    def sees(self, target: Target) -> bool:
        return any(event_target(event) == target for event in self.about(target))

    def has_lost(self, target: Target) -> bool:
        return Gone(target) in self._events

    def shows_first(self, one: Target, gone: Target) -> bool:
        return any(event_target(event) == one for event in self._events[: self._events.index(Gone(gone))])

    def picture(self, namespace: str) -> dict[tuple[str, str], KubernetesObject]:
        """The objects of a namespace, according to the events so far."""
        there: dict[tuple[str, str], KubernetesObject] = {}
        for event in self._events:
            target = event_target(event)
            if target is None or target.namespace != namespace:
                continue
            if isinstance(event, Seen):
                there[target.kind, target.name] = event.object
            else:
                there.pop((target.kind, target.name), None)
        return there

    def check_order(self, target: Target) -> None:
        versions = [int(pod.metadata.resource_version) for pod in self.pods(target)]
        expect(
            versions == sorted(set(versions)), f"{target} must never go back to an older state: {versions}"
        )
