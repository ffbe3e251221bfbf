"""The contract of every cluster, spoken over HTTP: the kube adapter against the mini cluster's front."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any

import pytest

from reprieve.cluster.kube.client import ClientLimits
from reprieve.cluster.kube.cluster import KubeCluster, kube_cluster
from reprieve.model.effects import Announce, Nominate, Target, Tone
from reprieve.model.urgency import Lane, Urgency
from reprieve.testing.cluster_contract import CHECKS, Check, lists_then_watches
from reprieve.testing.contract_fixture import ClusterFixture
from reprieve_minicluster import virtual_time
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.store import Store
from tests.contract.http import ProgresslessFront, UnstreamedFront, WatchfulFront, served

NAMESPACE = "contract"


class History(Enum):
    """How much of what happened the server still knows when a watch is resumed."""

    LONG = 20_000
    SHORT = 1


Run = Callable[[Coroutine[Any, Any, None]], None]
CLOCKS: dict[str, tuple[Run, Callable[[], float]]] = {
    "virtual time": (virtual_time.run, virtual_time.clock),
    "real time": (asyncio.run, time.time),
}


@asynccontextmanager
async def stage(
    clock: Callable[[], float],
    history: History,
    new_front: Callable[[MiniCluster], WatchfulFront] = WatchfulFront,
) -> AsyncIterator[ClusterFixture]:
    mini = MiniCluster(clock)
    mini.store = Store(clock, kept_changes=history.value)
    async with served(mini, new_front) as operator, kube_cluster(operator.access, clock) as cluster:
        await operator.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield ClusterFixture(cluster, operator, NAMESPACE)


@pytest.mark.parametrize("history", History)
@pytest.mark.parametrize("time_of", CLOCKS)
@pytest.mark.parametrize("check", CHECKS)
def test_the_contract_is_kept_over_http(check: Check, time_of: str, history: History) -> None:
    run, clock = CLOCKS[time_of]

    async def main() -> None:
        async with stage(clock, history) as made:
            await check(made)

    run(main())


@pytest.mark.parametrize("history", History)
@pytest.mark.parametrize("new_front", [UnstreamedFront, ProgresslessFront])
@pytest.mark.parametrize("check", CHECKS)
def test_the_contract_is_kept_without_streamed_lists(
    check: Check, new_front: type[UnstreamedFront], history: History
) -> None:
    async def main() -> None:
        async with stage(virtual_time.clock, history, new_front) as made:
            await check(made)

    virtual_time.run(main())


def test_events_leave_nine_turns_of_ten_to_what_is_done() -> None:
    async def main() -> None:
        mini, slowly = MiniCluster(virtual_time.clock), ClientLimits(rate=10, burst=1)
        async with (
            served(mini) as operator,
            kube_cluster(operator.access, virtual_time.clock, slowly) as cluster,
        ):
            pods = [Target("Pod", "default", f"p{i}", f"uid-{i}") for i in range(20)]
            events = [Announce(pod, Tone.NORMAL, "Told", "StatusReporter", "") for pod in pods]
            told = [asyncio.create_task(cluster.perform(event, Urgency(Lane.REPORT))) for event in events]
            done = (cluster.perform(Nominate(pod, "n1"), Urgency(Lane.MAKE_ROOM)) for pod in pods)
            await asyncio.gather(*done)
            assert asyncio.get_running_loop().time() == pytest.approx(2.2, abs=0.4)
            await asyncio.gather(*told)

    virtual_time.run(main())


# A standby replica knows what its watches have delivered: a new object may come after Synced.
AFTERWARDS = [check for check in CHECKS if check is not lists_then_watches]


@pytest.mark.parametrize("check", AFTERWARDS)
def test_the_contract_holds_after_standing_by(check: Check) -> None:
    async def main() -> None:
        async with stage(virtual_time.clock, History.LONG) as made:
            assert isinstance(made.cluster, KubeCluster)
            await made.cluster.stand_by()
            await check(made)

    virtual_time.run(main())
