"""Large groups that are preempted whole, where API calls take their time: nothing of them is left in part."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from reprieve.model.json import Json
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.store import Key
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.objects import HOST, a_group, node, pod, pod_spec
from tests.simulation.test_meanwhile import SlowCluster

Meanwhile = Callable[[MiniCluster], Awaitable[None]]


def large_node(name: str) -> Json:
    made = node(name, "z", cpu=16)
    made["status"]["allocatable"] |= {"pods": "500", "memory": "128Gi"}
    return made


def member(name: str, on: str) -> Json:
    group = {"podGroupName": "train"}
    spec = pod_spec("100m", priority=5, schedulingGroup=group, nodeName=on, terminationGracePeriodSeconds=5)
    return pod(name, spec)


def members(**numbers: int) -> Iterator[Json]:
    """So many on each node."""
    return (member(f"{on}-{i:03}", on) for on, number in numbers.items() for i in range(number))


def left_of(pods: Iterator[Json], cpu: str, meanwhile: Meanwhile) -> set[str]:
    """The pods that are there after a more important one came to n0, and what happened meanwhile."""

    async def main() -> set[str]:
        mini = MiniCluster(clock)
        mini.apply([*map(large_node, ("n0", "n1", "n2")), a_group("train", 5, {"basic": {}}, "all"), *pods])
        mini.start()
        async with Loop(Scheduler(), SlowCluster(mini), clock).running():
            await asyncio.sleep(5.0)
            mini.apply([pod("new", pod_spec(cpu, priority=9, nodeSelector={HOST: "n0"}))])
            await meanwhile(mini)
            await asyncio.sleep(120.0)
        await mini.stop()
        return {one["metadata"]["name"] for one in mini.list("Pod")}

    return run(main())


async def another_joins(cluster: MiniCluster) -> None:
    await asyncio.sleep(0.3)
    assert not any(map(_is_leaving, cluster.list("Pod"))), "nothing has happened yet"
    cluster.apply([member("late", on="n2")])


async def the_preemptor_goes(cluster: MiniCluster) -> None:
    while not any(map(_is_leaving, cluster.list("Pod"))):
        await asyncio.sleep(0.05)
    cluster.store.delete(Key("pods", "default", "new"), grace=0)


def _is_leaving(body: Json) -> bool:
    return "deletionTimestamp" in body["metadata"]


def test_a_member_that_joins_between_the_decision_and_the_evictions_goes_too() -> None:
    assert left_of(members(n0=110, n1=110), "15", another_joins) == {"new"}


def test_a_preemptor_that_goes_when_the_first_are_terminating_saves_none() -> None:
    assert left_of(members(n0=20, n1=90, n2=90), "15", the_preemptor_goes) == set()
