"""Where API calls take long, other pods are scheduled as without preemption: decisions wait for no call."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from reprieve.cluster.port import Answer, ClusterEvent
from reprieve.model.effects import Bind, Effect, WriteStatus
from reprieve.model.json import Json
from reprieve.model.urgency import FIRST, Urgency
from reprieve.runtime.loop import Loop
from reprieve.runtime.performer import PerformerLimits
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.objects import node, pod, pod_spec

CALL_SECONDS = 0.2
OTHERS = 100
PACE_SECONDS = 0.02  # between two of them

Times = dict[str, float]


@dataclass(slots=True)
class SlowCluster:
    """A cluster whose API takes its time; knows when each pod was bound."""

    cluster: MiniCluster
    bound: Times = field(default_factory=dict)

    def watch(self) -> AsyncIterator[ClusterEvent]:
        return self.cluster.watch()

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        await asyncio.sleep(CALL_SECONDS)
        if isinstance(effect, Bind):
            self.bound[effect.target.name] = asyncio.get_running_loop().time()
        return await self.cluster.perform(effect, urgency)


def asking(name: str, cpu: str, part: str, priority: int = 0) -> Json:
    return pod(name, pod_spec(cpu, priority=priority, nodeSelector={"part": part}))


def part(name: str, cpu: int) -> Json:
    made = node(name, "z", cpu=cpu)
    made["metadata"]["labels"]["part"] = name
    return made


def waits(preemptors: int, *, decide_meanwhile: bool = True) -> Times:
    """How long each of the others waited that was bound while they came."""

    async def main() -> Times:
        mini = MiniCluster(clock)
        slow, created = SlowCluster(mini), Times()
        mini.apply([part("full", cpu=4), part("free", cpu=100)])
        mini.start()
        async with Loop(
            Scheduler(), slow, clock, limits=PerformerLimits(decide_meanwhile=decide_meanwhile)
        ).running():
            mini.apply(asking(f"old-{i}", "1", "full") for i in range(4))
            await asyncio.sleep(10.0)
            mini.apply(asking(f"new-{i}", "1", "full", priority=9) for i in range(preemptors))
            for i in range(OTHERS):
                mini.apply([asking(f"other-{i:03}", "100m", "free")])
                created[f"other-{i:03}"] = asyncio.get_running_loop().time()
                await asyncio.sleep(PACE_SECONDS)
        await mini.stop()
        return {name: round(slow.bound[name] - at, 3) for name, at in created.items() if name in slow.bound}

    return run(main())


def test_others_wait_no_longer_than_if_none_preempted() -> None:
    assert waits(preemptors=4) == waits(preemptors=0)
    assert set(waits(preemptors=4).values()) == {CALL_SECONDS}


def test_without_the_gate_they_do() -> None:
    """So that a cluster in which nothing takes long is noticed."""
    assert len(waits(preemptors=4, decide_meanwhile=False)) < OTHERS / 10
