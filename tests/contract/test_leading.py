"""Two replicas over HTTP: one leads, the other waits. One that is cut off has stopped in time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.http import living
from tests.contract.replicas import Replica, configuration, two_replicas
from tests.contract.scenes import waiting
from tests.simulation.objects import node

DEADLINE = 10.0  # seconds within which a leader has to renew its lease, if nothing else is configured
CROWD = 200  # pods; twice as many as may be bound at once


@asynccontextmanager
async def a_cluster_with_two(**settings: object) -> AsyncIterator[tuple[MiniCluster, Replica, Replica]]:
    nodes = [node(f"n{i}", "z", cpu=20) for i in range(CROWD // 20)]
    configured = configuration(**settings)
    async with living(clock, nodes) as mini, two_replicas(mini, configured=configured) as (one, two):
        yield mini, one, two


async def until_running(mini: MiniCluster, name: str) -> None:
    async with asyncio.timeout(60):
        while (mini.read("Pod", "default", name) or {})["status"].get("phase") != "Running":
            await asyncio.sleep(0.1)


def test_the_second_waits_and_takes_over_at_once_when_the_first_is_stopped() -> None:
    async def main() -> None:
        async with a_cluster_with_two() as (mini, one, two):
            mini.apply([waiting("a", "1")])
            await until_running(mini, "a")
            await one.stop()
            mini.apply([waiting("b", "1")])
            began = clock()
            await until_running(mini, "b")
            assert clock() - began < 5
            assert (one.binds, two.binds) == (["a"], ["b"])

    run(main())


def test_a_leader_that_is_cut_off_stops_before_the_next_one_starts() -> None:
    async def main() -> None:
        async with a_cluster_with_two() as (mini, one, two):
            one.gate.shut()
            began = clock()
            await asyncio.wait((one.task,), timeout=60)
            assert one.task.done()
            assert clock() - began <= DEADLINE + 5, "and what was under way"
            assert two.binds == []
            mini.apply([waiting("a", "1")])
            await until_running(mini, "a")
            assert 13 <= clock() - began < 25
            assert (one.binds, two.binds) == ([], ["a"])

    run(main())


# --- candidates ----------------------------------------------------------------------------------


def kinds_read(one: Replica, since: float = 0.0) -> set[str]:
    """Which kinds were listed or watched; a lease is neither."""
    paths = [sent.path for sent in one.gate.sent if sent.at >= since and "watch=true" in sent.path]
    return {path.partition("?")[0].rpartition("/")[2] for path in paths}


def test_the_second_knows_the_cluster_before_it_leads_and_writes_nothing() -> None:
    async def main() -> None:
        async with a_cluster_with_two() as (mini, one, two):
            assert {"pods", "nodes"} <= kinds_read(two)
            mini.apply([waiting("a", "1")])
            await until_running(mini, "a")
            one.gate.shut()
            shut = clock()
            mini.apply([waiting("b", "1")])
            await until_running(mini, "b")
            assert [sent for sent in two.gate.sent if sent.writes and sent.at < shut + DEADLINE] == []
            assert kinds_read(two, since=shut) == set(), "it goes on with the watches that it has"
            assert two.binds == ["b"]

    run(main())


def test_a_candidate_starts_no_informers_if_configured_so() -> None:
    async def main() -> None:
        async with a_cluster_with_two(delayCacheUntilActive=True) as (mini, one, two):
            assert kinds_read(two) == set()
            await one.stop()
            mini.apply([waiting("a", "1")])
            await until_running(mini, "a")
            assert {"pods", "nodes"} <= kinds_read(two)
            assert two.binds == ["a"]

    run(main())


# --- no write begins after the deadline ----------------------------------------------------------


def late_writes(one: Replica, cut_off_at: float) -> list[str]:
    """What a replica sent after the moment until which it led for certain."""
    renewed = max(sent.at for sent in one.gate.sent if sent.renews and sent.at < cut_off_at)
    late = (sent for sent in one.gate.sent if sent.writes and sent.at > renewed + DEADLINE)
    return [f"{sent.at - renewed:.3f} s after it had renewed: {sent.method} {sent.path}" for sent in late]


def unbound(mini: MiniCluster) -> list[str]:
    return [pod["metadata"]["name"] for pod in mini.list("Pod") if not pod["spec"].get("nodeName")]


@pytest.mark.parametrize("hold", [5.0, 12.0, 40.0], ids=["shortly", "too long", "very long"])
def test_a_busy_leader_that_is_cut_off_sends_nothing_after_its_deadline(hold: float) -> None:
    """Hundreds wait for their turn to be bound when nothing gets through any more; later it does again."""

    async def main(moment: float) -> None:
        async with a_cluster_with_two() as (mini, one, _):
            mini.apply([waiting(f"p-{i}", "1") for i in range(CROWD)])
            await asyncio.sleep(moment)
            one.gate.shut()
            cut_off_at = clock()
            assert unbound(mini)
            await asyncio.sleep(hold)
            one.gate.open()
            await asyncio.sleep(60)
            assert hold < DEADLINE or late_writes(one, cut_off_at) == []
            assert one.task.done() == (hold > DEADLINE)
            assert not unbound(mini)

    for moment in (0.05, 0.9, 1.6):
        run(main(moment))
