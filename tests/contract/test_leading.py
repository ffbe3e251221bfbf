"""Two replicas over HTTP: one leads, the other waits. One that is cut off has stopped in time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from reprieve.assembly.daemon import lead
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.setup import standard_objects
from reprieve.config import default_configuration
from reprieve.runtime.virtual_time import clock, run
from tests.contract.http import MiniOperator, served
from tests.contract.test_scheduling import node, pod, until_running


@dataclass
class Replica:
    """It has a front of its own, so that one sees what it writes and can cut it off."""

    operator: MiniOperator
    task: asyncio.Task[None]

    @property
    def binds(self) -> list[str]:
        writes = self.operator.front.writes
        return [path.split("/")[-2] for _, path, _ in writes if path.endswith("/binding")]

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def replica(mini: MiniCluster, name: str) -> AsyncIterator[Replica]:
    async with served(mini) as operator:
        leading = lead(default_configuration(), operator.access, clock, name)
        made = Replica(operator, asyncio.create_task(leading))
        try:
            yield made
        finally:
            await made.stop()


@asynccontextmanager
async def two_replicas() -> AsyncIterator[tuple[MiniOperator, Replica, Replica]]:
    mini = MiniCluster(clock)
    mini.apply([*standard_objects(), node("n1")])
    mini.start()
    try:
        async with served(mini) as operator, replica(mini, "one") as one:
            await asyncio.sleep(1)
            async with replica(mini, "two") as two:
                yield operator, one, two
    finally:
        await mini.stop()


def test_the_second_waits_and_takes_over_at_once_when_the_first_is_stopped() -> None:
    async def main() -> None:
        async with two_replicas() as (operator, one, two):
            await operator.create(pod("a", "1"))
            await until_running(operator, "a")
            await one.stop()
            await operator.create(pod("b", "1"))
            began = clock()
            await until_running(operator, "b")
            assert clock() - began < 5
            assert (one.binds, two.binds) == (["a"], ["b"])

    run(main())


def test_who_is_cut_off_has_stopped_before_the_next_one_begins() -> None:
    async def main() -> None:
        async with two_replicas() as (operator, one, two):
            await one.operator.server.stop()
            began = clock()
            await asyncio.wait((one.task,), timeout=60)
            assert one.task.done()
            assert clock() - began <= 10 + 2 + 5, "the deadline, the last attempt, and what was under way"
            assert two.binds == []
            await operator.create(pod("a", "1"))
            await until_running(operator, "a")
            assert 13 <= clock() - began < 25
            assert (one.binds, two.binds) == ([], ["a"])

    run(main())
