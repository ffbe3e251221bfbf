"""How long do other pods wait while preemptions are under way, where every API call takes 200 ms?

In real time: small pods come at a steady rate and find room at once; beside them, important pods come to a
full part of the cluster and evict.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.product import find
from benchmarks.timing import Run, Spent, summed_up
from benchmarks.worlds.objects import Json, container, pod

CALL_SECONDS = 0.2
SECONDS = 8.0
PODS_A_SECOND = 50
PODS_A_PREEMPTOR = 100  # one comes for so many others
_VICTIMS = 4  # on each node of the full part


@dataclass(slots=True)
class SlowCluster:
    """A cluster whose API takes its time; knows when each pod was bound."""

    cluster: Any
    bound: dict[str, float]

    def watch(self) -> AsyncIterator[Any]:
        found: AsyncIterator[Any] = self.cluster.watch()
        return found

    async def perform(self, effect: Any, *urgency: Any) -> Any:
        await asyncio.sleep(CALL_SECONDS)
        answer = await self.cluster.perform(effect, *urgency)
        if isinstance(effect, find("Bind")):
            self.bound[effect.target.name] = time.monotonic()
        return answer


def measure(preempt: bool, decide_meanwhile: bool, seconds: float = SECONDS) -> Run:
    return asyncio.run(_measured(preempt, decide_meanwhile, int(seconds * PODS_A_SECOND)))


async def _measured(preempt: bool, decide_meanwhile: bool, pods: int) -> Run:
    mini = find("MiniCluster")(time.time)
    mini.apply(_cluster(max(pods // PODS_A_PREEMPTOR, 1)))
    slow, created = SlowCluster(mini, {}), dict[str, float]()
    limits = find("PerformerLimits")(decide_meanwhile=decide_meanwhile)
    loop = find("Loop")(find("Scheduler")(), slow, time.time, limits=limits)
    mini.start()
    async with loop.running():
        await asyncio.sleep(1.0)
        begin, busy = time.monotonic(), time.process_time()
        await _arrive(mini, created, pods, preempt)
        seconds, busy = time.monotonic() - begin, time.process_time() - busy
    bound = [name for name in created if slow.bound.get(name, float("inf")) <= begin + seconds]
    await mini.stop()
    if not bound:
        raise SystemExit(f"none of {pods} pods was bound in {seconds:.0f} s")
    # What the processor did cannot be told by pod.
    spent = [Spent(slow.bound[name] - created[name], busy / len(bound)) for name in bound]
    return summed_up(spent, per_second=len(bound) / seconds)


async def _arrive(mini: Any, created: dict[str, float], pods: int, preempt: bool) -> None:
    begin = time.monotonic()
    for number in range(pods):
        name = f"other-{number:04}"
        mini.apply([_asking(name, "10m", 0, "free")])
        created[name] = time.monotonic()
        if preempt and number % PODS_A_PREEMPTOR == 0:
            mini.apply([_asking(f"new-{number:04}", "4", 1000, "full")])
        await asyncio.sleep(max(0.0, begin + (number + 1) / PODS_A_SECOND - time.monotonic()))


# --- the cluster ---------------------------------------------------------------------------------


def _cluster(full: int) -> Iterator[Json]:
    for i in range(full):
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
