"""A whole scheduler that speaks to its cluster over HTTP: pods are bound, and one makes room for another."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from reprieve.assembly.daemon import scheduling
from reprieve.config import default_configuration
from reprieve.model.json import Json
from reprieve_minicluster import virtual_time
from tests.contract.http import MiniOperator, living_cluster

Run = Callable[[Coroutine[Any, Any, None]], None]


def node(name: str) -> Json:
    offered = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": offered, "capacity": offered},
    }


def pod(name: str, cpu: str, priority_class: str = "") -> Json:
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": cpu}}}
    spec = {
        "schedulerName": "reprieve",
        "containers": [container],
        "priorityClassName": priority_class,
        "terminationGracePeriodSeconds": 1,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def priority(name: str, value: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


async def until_running(operator: MiniOperator, name: str) -> Json:
    async with asyncio.timeout(60):
        while True:
            found = await operator.read("Pod", "default", name)
            if found is not None and found["status"].get("phase") == "Running":
                return found
            await asyncio.sleep(0.1)


async def reasons(operator: MiniOperator, uid: str) -> list[str]:
    """What the scheduler told of a pod, in the order of its writes; kubelets tell of it, too."""
    events = sorted(
        await operator.list("Event", "default"), key=lambda event: int(event["metadata"]["resourceVersion"])
    )
    ours = (e for e in events if e["reportingComponent"] == "reprieve")
    return [e["reason"] for e in ours if e["involvedObject"]["uid"] == uid]


async def a_crowded_cluster(clock: Callable[[], float]) -> None:
    async with living_cluster(clock) as operator:
        for body in (node("n1"), node("n2"), priority("high", 1000), priority("low", 1)):
            await operator.create(body)
        async with scheduling(default_configuration(), operator.access, clock):
            for name in ("a", "b"):
                await operator.create(pod(name, "3", "low"))
            running = [await until_running(operator, name) for name in ("a", "b")]
            assert sorted(p["spec"]["nodeName"] for p in running) == ["n1", "n2"]
            made = await operator.create(pod("urgent", "3", "high"))
            urgent = await until_running(operator, "urgent")
            left = [p["metadata"]["name"] for p in await operator.list("Pod", "default")]
            assert len(left) == 2
            (victim,) = (p for p in running if p["metadata"]["name"] not in left)
            assert urgent["spec"]["nodeName"] == victim["spec"]["nodeName"]
            assert await reasons(operator, victim["metadata"]["uid"]) == ["Scheduled", "Preempted"]
            assert await reasons(operator, made["metadata"]["uid"]) == ["Preempting", "Scheduled"]


@pytest.mark.parametrize(
    ("run", "clock"),
    [(virtual_time.run, virtual_time.clock), (asyncio.run, time.time)],
    ids=["virtual", "real"],
)
def test_a_preemption_over_http(run: Run, clock: Callable[[], float]) -> None:
    run(a_crowded_cluster(clock))


def test_ended_pods_free_their_room() -> None:
    async def main() -> None:
        async with living_cluster(virtual_time.clock) as operator:
            await operator.create(node("n1"))
            async with scheduling(default_configuration(), operator.access, virtual_time.clock):
                await operator.create(pod("first", "3"))
                await until_running(operator, "first")
                await operator.create(pod("second", "3"))
                await asyncio.sleep(20)
                waiting = await operator.read("Pod", "default", "second")
                assert waiting is not None
                assert "nodeName" not in waiting["spec"]
                await operator.patch_status("Pod", "default", "first", {"phase": "Succeeded"})
                await until_running(operator, "second")

    virtual_time.run(main())
