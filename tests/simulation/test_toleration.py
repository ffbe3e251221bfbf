"""Room that is contended for while the pods that hold it tolerate preemption.

No pod is preempted one instant early, and no demand waits one decision longer than needed.
"""

import asyncio
import random
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from reprieve.model.json import Json
from reprieve.preemption.eligibility import TIMELESS
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.toleration import MINIMUM_PRIORITY, SECONDS
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.toleration_rules import IGNORED
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import EPOCH, clock, run
from tests.simulation.objects import node, pod, pod_spec
from tests.simulation.patience import PatientScheduler
from tests.simulation.small import Story

LENGTHS = {"brief": 30, "short": 90, "usual": 300, "long": 900, "forever": -1}
MINIMUM = 100
CONTENDERS = 240


def classes() -> list[Json]:
    return [_class(name, seconds) for name, seconds in LENGTHS.items()]


def _class(name: str, seconds: int) -> Json:
    annotations = {MINIMUM_PRIORITY: str(MINIMUM), SECONDS: str(seconds)}
    return {"kind": "PriorityClass", "metadata": {"name": name, "annotations": annotations}, "value": 1}


def tenant(name: str, of_class: str) -> Json:
    return pod(name, pod_spec("1", priority=1, priorityClassName=of_class, terminationGracePeriodSeconds=3))


def newcomer(name: str, cpu: str = "1", priority: int = 9, **more: Any) -> Json:
    return pod(name, pod_spec(cpu, priority=priority, terminationGracePeriodSeconds=3, **more))


def played(scheduler: Scheduler, story: Story) -> list[Decision]:
    decisions: list[Decision] = []

    async def main() -> None:
        cluster = MiniCluster(clock)
        cluster.start()
        async with Loop(scheduler, cluster, clock, decisions.append).running():
            await story(cluster)
        await cluster.stop()

    run(main())
    return decisions


# --- five hundred --------------------------------------------------------------------------------


def ends(cluster: MiniCluster) -> dict[str, float]:
    """When each pod may be taken, as a reader works it out from what the cluster shows."""
    found = {}
    for body in cluster.list("Pod"):
        (scheduled,) = (c for c in body["status"]["conditions"] if c["type"] == "PodScheduled")
        length = LENGTHS[body["spec"]["priorityClassName"]]
        since = datetime.fromisoformat(scheduled["lastTransitionTime"]).timestamp()
        if length > 0:
            found[body["metadata"]["name"]] = since + length
    return found


def test_five_hundred_pods_are_contended_for() -> None:
    """Each newcomer takes the room of one pod. So the r-th has it when it is there and the r-th
    toleration is over, whichever is later: not earlier, and not later."""
    rng = random.Random(7)
    told: dict[str, float] = {}
    arrivals: list[float] = []

    async def story(cluster: MiniCluster) -> None:
        cluster.apply([*classes(), *(node(f"n{i}", "z", cpu=4) for i in range(125))])
        for i in range(500):
            cluster.apply([tenant(f"t{i}", rng.choice(list(LENGTHS)))])
            await asyncio.sleep(rng.choice((0.0, 0.0, 0.3)))
        await asyncio.sleep(1.0)
        told.update(ends(cluster))
        for i in range(CONTENDERS):
            arrivals.append(clock())
            cluster.apply([newcomer(f"new-{i}")])
            await asyncio.sleep(rng.choice((0.0, 0.1, 0.7)))
        await asyncio.sleep(600.0)

    decisions = played(Scheduler(), story)
    taken = [
        (d.at, victim.pod.name)
        for d in decisions
        if d.preemption
        for victim in d.preemption.victims
        if d.outcome is Outcome.PREEMPTS
    ]
    assert len({name for _, name in taken}) == len(taken) == CONTENDERS, "each takes one, and none another's"
    assert [name for at, name in taken if at < told[name]] == []
    served = sorted(at for at, _ in taken)
    assert served == [max(pair) for pair in zip(arrivals, sorted(told.values()), strict=False)]


# --- a few, of all kinds -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_mixed_crowd_waits_no_longer_than_it_must(seed: int) -> None:
    """Pods and gangs, some bound to a node, some important enough not to wait, while classes are edited."""
    scheduler = PatientScheduler()
    rng = random.Random(seed)

    async def story(cluster: MiniCluster) -> None:
        cluster.apply([*classes(), *(node(f"n{i}", "z", cpu=4) for i in range(10))])
        for i in range(40):
            cluster.apply([tenant(f"t{i}", rng.choice(list(LENGTHS)))])
            await asyncio.sleep(rng.choice((0.0, 1.5)))
        for i in range(25):
            cluster.apply(somebody(rng, i))
            if rng.random() < 0.1:
                name = rng.choice(list(LENGTHS))
                cluster.apply([_class(name, rng.choice((-1, 0, 5, 45, 300)))])
            await asyncio.sleep(rng.choice((0.0, 2.5, 11.0, 40.0)))
        await asyncio.sleep(2400.0)

    decisions = played(scheduler, story)
    assert sum(d.outcome is Outcome.PREEMPTS for d in decisions) > 5
    assert sum(d.retry_at is not None for d in decisions) > 5
    assert scheduler.looks > 50
    assert all(d.retry_at is None or d.retry_at > d.at >= EPOCH for d in decisions)


def somebody(rng: random.Random, i: int) -> list[Json]:
    kind = rng.choice(("pod", "pod", "large", "bound", "important", "gang"))
    match kind:
        case "large":
            return [newcomer(f"new-{i}", cpu="3")]
        case "bound":
            where = {"kubernetes.io/hostname": f"n{rng.randrange(10)}"}
            return [newcomer(f"new-{i}", cpu=rng.choice(("1", "2")), nodeSelector=where)]
        case "important":
            return [newcomer(f"new-{i}", priority=MINIMUM)]
        case "gang":
            meta = {"name": f"g{i}", "namespace": "default"}
            spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 9}
            member: dict[str, Any] = {"schedulingGroup": {"podGroupName": f"g{i}"}}
            group = {"kind": "PodGroup", "metadata": meta, "spec": spec}
            return [group, *(newcomer(f"new-{i}-{m}", cpu="2", **member) for m in range(2))]
        case _:
            return [newcomer(f"new-{i}")]


# --- a feature that is not used ------------------------------------------------------------------


def without_tolerations() -> Scheduler:
    policies = {SCHEDULER_NAME: replace(REPRIEVE, rules=TIMELESS)}
    return Scheduler(Settings(policies=policies, tolerations=IGNORED))


@pytest.mark.parametrize("seed", range(3))
def test_without_annotations_all_is_decided_as_without_the_gate(seed: int) -> None:
    def told(scheduler: Scheduler) -> list[Decision]:
        rng = random.Random(seed)

        async def story(cluster: MiniCluster) -> None:
            plain = [{**c, "metadata": {"name": c["metadata"]["name"]}} for c in classes()]
            cluster.apply([*plain, *(node(f"n{i}", "z", cpu=4) for i in range(6))])
            for i in range(24):
                cluster.apply([tenant(f"t{i}", rng.choice(list(LENGTHS)))])
            for i in range(15):
                cluster.apply(somebody(rng, i))
                await asyncio.sleep(rng.choice((0.0, 2.5, 11.0)))
            await asyncio.sleep(60.0)

        return played(scheduler, story)

    assert told(Scheduler()) == told(without_tolerations())
