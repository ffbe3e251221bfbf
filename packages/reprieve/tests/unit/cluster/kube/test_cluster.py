"""A late listener receives the present state, and nothing of the past."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from reprieve.cluster.api.codec import KindReader
from reprieve.cluster.kube.cluster import KubeCluster, kube_cluster
from reprieve.cluster.kube.watch import Reflector
from reprieve.cluster.port import ClusterEvent
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.objects import Pod
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.http import living, served
from tests.simulation.objects import pod, pod_spec

Story = Callable[[MiniCluster, KubeCluster], Coroutine[Any, Any, None]]


def told(story: Story) -> None:
    async def main() -> None:
        async with (
            living(clock) as mini,
            served(mini) as operator,
            kube_cluster(operator.access, clock) as there,
        ):
            await story(mini, there)

    run(main())


@asynccontextmanager
async def seen_by(there: KubeCluster) -> AsyncIterator[list[str]]:
    """Names of the pods that a watcher receives, in order."""
    sights: list[str] = []

    async def watch() -> None:
        async for sight in there.watch():
            sights.extend(_told(sight))

    task = asyncio.create_task(watch())
    await asyncio.sleep(1)
    try:
        yield sights
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _told(sight: ClusterEvent) -> list[str]:
    match sight:
        case Seen(Pod() as seen, unserved):
            return [" ".join((seen.metadata.name, *unserved))]
        case Gone(target) | Unread(target) if target.kind == "Pod":
            return [f"{type(sight).__name__} {target.name}"]
        case Synced():
            return ["all"]
    return []


def test_what_is_there_by_then_and_whatever_changes_since() -> None:
    async def story(mini: MiniCluster, there: KubeCluster) -> None:
        mini.apply([pod("gone", pod_spec("1")), pod("old", pod_spec("1"))])
        await there.stand_by()
        mini.delete("Pod", "default", "gone", grace=0)
        mini.apply([pod("new", pod_spec("1", resourceClaims=[{"name": "c"}]))])
        await asyncio.sleep(1)
        async with seen_by(there) as sights:
            assert sights == ["old", "new spec.resourceClaims", "all"]
            mini.apply([pod("newest", pod_spec("1"))])
            mini.delete("Pod", "default", "old", grace=0)
            await asyncio.sleep(1)
            assert sights[3:] == ["newest", "Gone old"]

    told(story)


def test_what_cannot_be_read_is_shown_as_such() -> None:
    async def story(mini: MiniCluster, there: KubeCluster) -> None:
        mini.apply([pod("odd", {**pod_spec("1"), "priority": "high"})])
        await there.stand_by()
        async with seen_by(there) as sights:
            assert sights == ["Unread odd", "all"]

    told(story)


def test_an_early_listener_receives_the_same() -> None:
    async def story(mini: MiniCluster, there: KubeCluster) -> None:
        mini.apply([pod("old", pod_spec("1"))])
        async with seen_by(there) as sights:
            assert sights == ["old", "all"]

    told(story)


def test_one_object_does_not_end_the_watch_of_the_others(
    monkeypatch: pytest.MonkeyPatch, mishaps: list[logging.LogRecord]
) -> None:
    read = KindReader.read

    def read_unless_bad(reader: KindReader[Any, Any], raw: Any) -> Any:
        if reader.kind == "Pod" and b'"bad"' in bytes(raw):
            raise RuntimeError("it broke")
        return read(reader, raw)

    async def story(mini: MiniCluster, there: KubeCluster) -> None:
        mini.apply([pod("bad", pod_spec("1")), pod("good", pod_spec("1"))])
        async with seen_by(there) as sights:
            assert sights == ["Unread bad", "good", "all"]

    monkeypatch.setattr(KindReader, "read", read_unless_bad)
    told(story)
    assert {record.getMessage() for record in mishaps} == {
        "watch of Pod: decoding Pod default/bad failed: RuntimeError: it broke"
    }


def test_a_reflector_that_crashes_lists_anew(
    monkeypatch: pytest.MonkeyPatch, mishaps: list[logging.LogRecord]
) -> None:
    take = Reflector._watch

    async def crash_at_first(reflector: Reflector, *more: Any) -> None:
        if reflector._kind == "Pod" and not mishaps:
            raise RuntimeError("it broke")
        await take(reflector, *more)

    async def story(mini: MiniCluster, there: KubeCluster) -> None:
        mini.apply([pod("old", pod_spec("1"))])
        async with seen_by(there) as sights:
            await asyncio.sleep(5)
            assert sights == ["old", "all"]

    monkeypatch.setattr(Reflector, "_watch", crash_at_first)
    told(story)
    assert [record.getMessage() for record in mishaps] == [
        "watch of Pod failed: RuntimeError: it broke; retrying in 1 s"
    ]
