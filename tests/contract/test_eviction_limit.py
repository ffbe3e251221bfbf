"""A stream of short pods against one Deployment, with an eviction limit, over HTTP and through restarts."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from tests.unit.config import configuration

from reprieve.assembly.daemon import scheduling
from reprieve.assembly.eviction_history import evictions_read
from reprieve.assembly.journals import journal_in, replay_journal
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.cluster import kube_cluster
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.config import Configuration, Gates
from reprieve.model.events import EvictionsRead
from reprieve.runtime.journal import Journaled
from reprieve.runtime.journal_replay import Replayed
from reprieve.runtime.observers import Machine
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import clock, run
from tests.architecture.source import ROOT
from tests.contract.http import TOKEN, MiniOperator, living, served
from tests.simulation.objects import RUN_SECONDS, deployment, node, pod, pod_spec

LIMIT = {"evictions": 3, "window": "10m", "belowPriority": 1000}
ACCOUNT = "system:serviceaccount:kube-system:reprieve"
DEPLOY = ROOT / "deploy"


def limited(**args: Any) -> Configuration:
    return configuration(profiles=[{"pluginConfig": [{"name": "Reprieve", "args": args}]}])


def beginning() -> list[dict[str, Any]]:
    long = pod_spec("4", priority=0, terminationGracePeriodSeconds=1)
    return [node("n1", "z", cpu=4), deployment("web", 1, long, {"app": "web"})]


async def short_pods(mini: MiniCluster, first: int, number: int, every: float = 4.0) -> None:
    for i in range(first, first + number):
        spec = pod_spec("4", priority=9, terminationGracePeriodSeconds=1, restartPolicy="Never")
        mini.apply([pod(f"short-{i}", spec, annotations={RUN_SECONDS: "1"})])
        await asyncio.sleep(every)


def preempted(mini: MiniCluster) -> list[str]:
    events = [e for e in mini.list("Event") if e["reason"] == "Preempted"]
    return [e["message"] for e in events if e["involvedObject"]["name"].startswith("web-")]


def test_without_a_limit_it_is_evicted_again_and_again() -> None:
    async def main() -> None:
        async with living(clock, beginning()) as mini, served(mini) as operator:
            async with scheduling(limited(), operator.access, clock):
                await asyncio.sleep(5)
                await short_pods(mini, 0, 8)
            assert len(preempted(mini)) == 8

    run(main())


def test_with_a_limit_it_is_left_alone_also_by_the_next_scheduler(tmp_path: Path) -> None:
    configured, heard = limited(evictionLimit=LIMIT), list[EvictionsRead]()

    def journaling(journal: Any) -> Callable[[Scheduler], Machine]:
        return lambda scheduler: Journaled(scheduler, journal)

    async def main() -> None:
        async with living(clock, beginning()) as mini, served(mini) as operator:
            for first in (0, 4, 8):
                with journal_in(tmp_path, configured, Gates(), _fail) as journal:
                    watch = journaling(journal)
                    async with scheduling(configured, operator.access, clock, watch=watch):
                        await asyncio.sleep(5)
                        await short_pods(mini, first, 4)
                async with kube_cluster(operator.access, clock) as there:
                    heard.append(await evictions_read(there, clock(), 600.0))
            assert len(preempted(mini)) == 3
            assert all(note.endswith("as an eviction of Deployment default/web") for note in preempted(mini))
            async with scheduling(configured, operator.access, clock):
                await asyncio.sleep(600)
            assert len(preempted(mini)) == 6, "the window has passed once, and pods that waited were woken"

    run(main())
    assert [len(read.evictions) for read in heard] == [3, 3, 3]
    assert {read.lost for read in heard} == {""}
    runs = [one for one in replay_journal(tmp_path) if isinstance(one, Replayed)]
    assert [one.difference for one in runs] == [None, None, None]


def test_a_scheduler_that_may_not_list_events_says_so_and_one_with_the_component_may() -> None:
    async def main() -> None:
        async with living(clock) as mini, served(mini) as operator:
            await granted(operator, "base/role.yaml")
            read = await read_as(operator, ACCOUNT)
            assert read.lost.startswith("events cannot be listed, so earlier evictions count only if a mark")
            assert 'cannot list resource "events"' in read.lost
            assert read.since == clock()
            await granted(operator, "components/eviction-limit/role.yaml")
            assert await read_as(operator, ACCOUNT) == EvictionsRead((), clock() - 600.0)

    run(main())


async def granted(operator: MiniOperator, file: str) -> None:
    for body in yaml.safe_load_all((DEPLOY / file).read_text()):
        await operator.create(body)


async def read_as(operator: MiniOperator, user: str) -> EvictionsRead:
    login = Login(
        KubeconfigCluster(server=operator.access.server), KubeconfigUser(token=TOKEN, impersonate=user)
    )
    async with kube_cluster(Access(login), clock) as there:
        return await evictions_read(there, clock(), 600.0)


def _fail(text: str) -> None:
    raise AssertionError(text)
