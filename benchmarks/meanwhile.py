"""How fast other pods are scheduled while preemptions are under way, where every API call takes 200 ms.

In real time: small pods come at a steady rate and find room at once; beside them, important pods come to a
full part of the cluster and evict. Asked is how many of the small ones are bound while they come, and how
long they wait: without preemptions, with them, and with them if what was decided is done before the next
decision.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.clusters import Json, container, pod
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.port import Answer, WatchEvent
from reprieve.model.effects import Bind, Effect, WriteStatus
from reprieve.runtime.loop import Loop
from reprieve.runtime.performer import Limits
from reprieve.scheduler.core import Scheduler

CALL_SECONDS = 0.2
SECONDS = 8.0
PODS_A_SECOND = 50
PODS_A_PREEMPTOR = 100  # one comes for so many others
_VICTIMS = 4  # on each node of the full part
_OTHERS = int(SECONDS * PODS_A_SECOND)
_FULL = _OTHERS // PODS_A_PREEMPTOR  # nodes

Row = dict[str, Any]


@dataclass(slots=True)
class SlowCluster:
    """A cluster whose API takes its time; knows when each pod was bound."""

    cluster: MiniCluster
    bound: dict[str, float]

    def watch(self) -> AsyncIterator[WatchEvent]:
        return self.cluster.watch()

    async def perform(self, effect: Effect | WriteStatus) -> Answer:
        await asyncio.sleep(CALL_SECONDS)
        answer = await self.cluster.perform(effect)
        if isinstance(effect, Bind):
            self.bound[effect.target.name] = time.monotonic()
        return answer


def meanwhile() -> list[Row]:
    variants = (("no preemption", False, True), ("gate on", True, True), ("gate off", True, False))
    return [
        {"variant": name, **asyncio.run(_measured(preempt, decide_meanwhile))}
        for name, preempt, decide_meanwhile in variants
    ]


async def _measured(preempt: bool, decide_meanwhile: bool) -> Row:
    mini = MiniCluster(time.time)
    mini.apply(_cluster())
    slow, created = SlowCluster(mini, {}), dict[str, float]()
    loop = Loop(Scheduler(), slow, time.time, limits=Limits(decide_meanwhile=decide_meanwhile))
    mini.start()
    async with loop.running():
        await asyncio.sleep(1.0)
        begin = time.monotonic()
        await _arrive(mini, created, preempt)
        seconds = time.monotonic() - begin
        waits = [slow.bound[name] - moment for name, moment in created.items() if name in slow.bound]
    await mini.stop()
    return {
        "pods a second": round(len(waits) / seconds, 1),
        "seconds until bound": round(median(waits), 2),
        "evicted": _FULL * _VICTIMS - sum(p["metadata"]["name"].startswith("old-") for p in mini.list("Pod")),
    }


async def _arrive(mini: MiniCluster, created: dict[str, float], preempt: bool) -> None:
    begin, number = time.monotonic(), 0
    while number < _OTHERS:
        name = f"other-{number:04}"
        mini.apply([_asking(name, "10m", 0, "free")])
        created[name] = time.monotonic()
        if preempt and number % PODS_A_PREEMPTOR == 0:
            mini.apply([_asking(f"new-{number:04}", "4", 1000, "full")])
        number += 1
        await asyncio.sleep(max(0.0, begin + number / PODS_A_SECOND - time.monotonic()))


# --- the cluster ---------------------------------------------------------------------------------


def _cluster() -> Iterator[Json]:
    for i in range(_FULL):
        yield _node(f"full-{i}", "full", "4")
        for j in range(_VICTIMS):
            spec = {
                "nodeName": f"full-{i}",
                "priority": 0,
                "terminationGracePeriodSeconds": 2,
                "containers": [container("1", "1Mi")],
            }
            yield pod(f"old-{i}-{j}", {}, spec)
    for i in range(4):
        yield _node(f"free-{i}", "free", "64")


def _node(name: str, part: str, cpu: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"part": part}},
        "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "500"}},
    }


def _asking(name: str, cpu: str, priority: int, part: str) -> Json:
    spec = {
        "schedulerName": "reprieve",
        "priority": priority,
        "nodeSelector": {"part": part},
        "containers": [container(cpu, "1Mi")],
    }
    return {**pod(name, {}, spec), "status": {"phase": "Pending"}}
