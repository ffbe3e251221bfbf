"""However many pods wait, a pod that fits is bound as soon as if it were alone."""

import asyncio
from collections.abc import AsyncIterator
from math import inf

import pytest

from reprieve.cluster.kube.client import TokenBucket, Turns
from reprieve.cluster.port import Answer, ClusterEvent
from reprieve.model.effects import Bind, Effect, SetCondition, WriteStatus
from reprieve.model.json import Json
from reprieve.model.urgency import FIRST, Urgency
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.objects import node, pod, pod_spec

_CALL_SECONDS = 0.01


class LimitedCluster:
    """A cluster that is sent at most 50 calls a second, as by default."""

    def __init__(self, cluster: MiniCluster) -> None:
        self._cluster = cluster
        self._turns = Turns(TokenBucket(rate=50.0, burst=100))
        self.bound: dict[str, float] = {}
        self.reports = 0

    def watch(self) -> AsyncIterator[ClusterEvent]:
        return self._cluster.watch()

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        await self._turns.wait(urgency, inf)
        await asyncio.sleep(_CALL_SECONDS)
        self.reports += isinstance(effect, SetCondition)
        if isinstance(effect, Bind):
            self.bound[effect.target.name] = asyncio.get_running_loop().time()
        return await self._cluster.perform(effect, urgency)


def too_large(name: str) -> Json:
    return pod(name, pod_spec("9"))


def delays(waiting: int) -> tuple[float, float]:
    """Until a pod is bound that comes with so many that fit nowhere, and one that waited with them."""

    async def main() -> tuple[float, float]:
        mini = MiniCluster(clock)
        limited, time = LimitedCluster(mini), asyncio.get_running_loop().time
        mini.apply([node("n", "z", cpu=4)])
        async with Loop(Scheduler(), limited, clock).running():
            mini.apply(too_large(f"wait-{i}") for i in range(waiting))
            await asyncio.sleep(1.0)
            began = time()
            mini.apply([pod("urgent", pod_spec("1", priority=1000))])
            await asyncio.sleep(1.0)
            grown = time()
            mini.apply([node("m", "z", cpu=10)])
            await asyncio.sleep(2.0)
        ((_, waited), *_) = [one for one in limited.bound.items() if one[0] != "urgent"]
        return limited.bound["urgent"] - began, waited - grown

    return run(main())


@pytest.mark.parametrize("waiting", [300])
def test_a_bind_does_not_wait_for_the_reports_about_others(waiting: int) -> None:
    few, many = delays(20), delays(waiting)
    # A call that was on its way, a token, and those reports about the same pod that were on their way.
    assert many == pytest.approx(few, abs=0.2)


def test_labels_of_waiting_pods_are_no_news() -> None:
    async def main() -> tuple[int, int]:
        mini = MiniCluster(clock)
        limited = LimitedCluster(mini)
        mini.apply([node("n", "z", cpu=4)])
        async with Loop(Scheduler(), limited, clock).running():
            mini.apply(too_large(f"wait-{i}") for i in range(40))
            await asyncio.sleep(10.0)
            before = limited.reports
            mini.apply([pod("small", pod_spec("1"))])  # from now on each is short of one cpu more
            await asyncio.sleep(1.0)
            for i in range(40):
                changed = mini.read("Pod", "default", f"wait-{i}") or {}
                changed["metadata"]["labels"] = {"step": str(i)}
                mini.apply([changed])
            await asyncio.sleep(10.0)
        return before, limited.reports

    assert run(main()) == (40, 40)
