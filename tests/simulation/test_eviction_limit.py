"""Deployments that random preemptors want to evict, with an eviction limit, restarts and faults.

No plan evicts a pod of a workload that other plans have evicted too often, unless it may; and a pod that
waits for the limit is served when it ends.
"""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest
from tests.minicluster.faulty_cluster import NO_FAULTS, FaultPlan, FaultyCluster, everything

from reprieve.assembly.eviction_history import with_history
from reprieve.model.effects import Effect, Evict, Target
from reprieve.model.events import Event, Failed
from reprieve.model.json import Json
from reprieve.model.moment import Moment
from reprieve.preemption.eviction_limit import EvictionLimit, WithinLimit
from reprieve.preemption.policy import RULES
from reprieve.preemption.searches import REPRIEVE
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import EPOCH, clock, run
from tests.simulation.objects import RUN_SECONDS, deployment, node, pod, pod_spec

LIMIT = EvictionLimit(3, 120.0, 50)
SETTINGS = Settings(policies={SCHEDULER_NAME: replace(REPRIEVE, rules=(*RULES, WithinLimit(LIMIT)))})
IMPORTANT = 50


@dataclass(frozen=True, slots=True)
class Sent:
    """A delete that was sent, and not refused."""

    at: float
    workload: str
    decision: str


class Audited(Scheduler):
    """Counts what is sent, by itself; ``sent`` is shared by all runs of one cluster."""

    def __init__(self, sent: dict[Target, Sent]) -> None:
        super().__init__(SETTINGS)
        self._sent = sent

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
        events = list(events)
        for event in events:
            if isinstance(event, Failed) and isinstance(event.effect, Evict) and not event.missing:
                self._sent.pop(event.effect.target, None)
        effects = super().observe(events, now)
        for effect in effects:
            if isinstance(effect, Evict) and effect.target not in self._sent:
                self._audit(effect.target, now.wall)
        return effects

    def _audit(self, pod: Target, now: float) -> None:
        workload = "-".join(pod.name.split("-")[:2])
        decision, preemptor = next(
            (plan.id, plan.preemptor.name) for _, plan in self._state.plans if pod in plan.victims
        )
        others = [
            one.at for one in self._sent.values() if one.workload == workload and one.decision != decision
        ]
        if not preemptor.startswith("important"):
            assert sum(at + LIMIT.window > now for at in others) < LIMIT.evictions, (workload, now)
        self._sent[pod] = Sent(now, workload, decision)


def preemptor(rng: random.Random, i: int) -> Json:
    important = rng.random() < 0.1
    name, priority = (f"important-{i}", IMPORTANT) if important else (f"short-{i}", rng.choice((5, 9, 49)))
    spec = pod_spec(rng.choice(("1", "2", "3")), priority=priority, restartPolicy="Never")
    spec["terminationGracePeriodSeconds"] = 1
    return pod(name, spec, annotations={RUN_SECONDS: str(rng.choice((1, 3, 9)))})


async def troubled(cluster: MiniCluster, rng: random.Random, first: int) -> None:
    for i in range(first, first + 20):
        cluster.apply([preemptor(rng, i)])
        await asyncio.sleep(rng.choice((0.0, 0.5, 2.0, 5.0)))


def played(seed: int, runs: int, faults: FaultPlan = NO_FAULTS) -> tuple[int, int]:
    """How many pods were evicted, and how many preemptors wait in the end."""
    rng, sent = random.Random(seed), dict[Target, Sent]()

    async def main() -> int:
        cluster = FaultyCluster(clock, faults)
        cluster.start()
        long = pod_spec("1", priority=0, terminationGracePeriodSeconds=rng.choice((0, 2)))
        apps = (deployment(f"app-{i}", 4, long, {"app": f"app-{i}"}) for i in range(3))
        cluster.apply([*(node(f"n{i}", "z", cpu=4) for i in range(3)), *apps])
        for number in range(runs):
            history = with_history(cluster, clock, SETTINGS)
            async with Loop(Audited(sent), history, clock).running():
                await troubled(cluster, rng, 20 * number)
                await asyncio.sleep(600.0 if number == runs - 1 else 3.0)
        waiting = [body for body in cluster.list("Pod") if not body["spec"].get("nodeName")]
        await cluster.stop()
        return sum(not body["metadata"]["name"].startswith("app-") for body in waiting)

    waiting = run(main())
    return len(sent), waiting


@pytest.mark.parametrize("seed", range(2))
def test_no_workload_is_evicted_too_often_also_by_the_next_scheduler(seed: int) -> None:
    evicted, waiting = played(seed, runs=2)
    assert evicted > 9
    assert waiting == 0


@pytest.mark.parametrize("seed", range(2))
def test_nor_with_calls_that_fail_and_answers_that_are_lost(seed: int) -> None:
    evicted, waiting = played(seed, runs=1, faults=everything(seed, 0.02, until=EPOCH + 100))
    assert evicted > 3
    assert waiting == 0
