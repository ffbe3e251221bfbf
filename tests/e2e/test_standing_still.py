"""A leader's process is stopped in the middle of its work, and goes on when another one leads.

Every request that the server gets is looked at: nothing is written by one whose time is over.
"""

import asyncio
import os
import signal
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from reprieve.cluster.certificates import new_certificate
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.local_cluster import Tokens, write_kubeconfig
from reprieve_minicluster.rest.http_messages import Answer, ApiRequest
from reprieve_minicluster.rest.http_server import HttpServer, ListenAddress
from tests.contract.http import TOKEN, WatchfulFront, living
from tests.contract.scenes import LONE, Scene, waiting
from tests.contract.test_takeover import names, wrong
from tests.e2e.daemon import UNSERVED
from tests.e2e.up import REPRIEVE
from tests.simulation.objects import node

PATIENCE = 60.0
# Given up quickly, and long enough for a busy machine to renew it.
LEASE = (
    *("--leader-elect-lease-duration", "7s"),
    *("--leader-elect-renew-deadline", "5s"),
    *("--leader-elect-retry-period", "1s"),
)


class StoppingFront(WatchfulFront):
    """Records when each write arrived, and stops the writer at a chosen write."""

    def __init__(self, mini: MiniCluster) -> None:
        super().__init__(mini)
        self.arrived: list[tuple[float, str, str]] = []
        self.stop_at = 0
        self.stop: Callable[[], None] | None = None

    def answer(self, request: ApiRequest) -> Answer:
        if request.method != "GET":
            self.arrived.append((time.monotonic(), request.method, request.path))
            if self.stop is not None and len(self.deeds) == self.stop_at:
                self.stop()
        return super().answer(request)

    @property
    def deeds(self) -> list[str]:
        """What was written about pods and groups, and told."""
        others = ("/leases", "selfsubjectaccessreviews")
        return [path for _, _, path in self.arrived if not any(other in path for other in others)]


@dataclass
class Replica:
    front: StoppingFront
    process: Process
    stopped_at: float | None = None

    def stop(self) -> None:
        if self.stopped_at is None:
            os.kill(self.process.pid, signal.SIGSTOP)
            self.stopped_at = time.monotonic()

    def go_on(self) -> float:
        os.kill(self.process.pid, signal.SIGCONT)
        return time.monotonic()

    def written_after(self, moment: float) -> list[str]:
        late = (entry for entry in self.front.arrived if entry[0] >= moment)
        return [f"{at - moment:.3f} s later: {method} {path}" for at, method, path in late]


CERTIFICATE = new_certificate(("127.0.0.1",))


@asynccontextmanager
async def replica(mini: MiniCluster, directory: Path) -> AsyncIterator[Replica]:
    """`reprieve scheduler` in a process of its own, and a front that only it speaks to."""
    front = StoppingFront(mini)
    async with HttpServer(front, ListenAddress(tls=CERTIFICATE.context())) as server:
        directory.mkdir()
        kubeconfig, log = directory / "kubeconfig", directory / "log"
        write_kubeconfig(kubeconfig, server.url, Tokens(TOKEN), CERTIFICATE)
        flags = ("--kubeconfig", str(kubeconfig), "-v", "2", *LEASE, *UNSERVED)
        with log.open("wb") as told:
            process = await asyncio.create_subprocess_exec(REPRIEVE, "scheduler", *flags, stderr=told)
            try:
                yield Replica(front, process)
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.05)


def all_are_bound(mini: MiniCluster) -> bool:
    return all(pod["spec"].get("nodeName") for pod in mini.list("Pod"))


def holder(mini: MiniCluster) -> str:
    lease = mini.read("Lease", "kube-system", "reprieve")
    return str(lease["spec"].get("holderIdentity") or "") if lease is not None else ""


@asynccontextmanager
async def a_leader_and_another(
    mini: MiniCluster, directory: Path
) -> AsyncIterator[tuple[Replica, Replica, str]]:
    """Two replicas, and the name of the first, which leads."""
    async with replica(mini, directory / "one") as one:
        await until(lambda: holder(mini))
        async with replica(mini, directory / "two") as two:
            yield one, two, holder(mini)


async def taken_over(mini: MiniCluster, one: Replica, leader: str) -> None:
    """The first goes on when the other one leads, and learns that its time is over."""
    await until(lambda: one.stopped_at)
    await until(lambda: holder(mini) not in (leader, ""))
    went_on = one.go_on()
    async with asyncio.timeout(PATIENCE):
        assert await one.process.wait() == 1
    assert one.written_after(went_on) == []


@pytest.mark.parametrize("write", [1, 3, 6], ids=["nominated", "some are marked", "some are evicted"])
def test_a_plan_continues_and_the_resumed_leader_writes_nothing(write: int, tmp_path: Path) -> None:
    async def main(scene: Scene) -> None:
        async with living(time.time, scene.beginning(1.0)) as mini:
            there = names(mini)
            async with a_leader_and_another(mini, tmp_path) as (one, _, leader):
                one.front.stop_at, one.front.stop = write, one.stop
                scene.ask(mini)
                await taken_over(mini, one, leader)
                await until(lambda: scene.is_over(mini))
                assert list(wrong(scene, there - names(mini), mini)) == []

    asyncio.run(main(LONE))


def test_a_stopped_leader_with_queued_writes_sends_none(tmp_path: Path) -> None:
    async def main() -> None:
        nodes = [node(f"n{i}", "z", cpu=20) for i in range(10)]
        async with (
            living(time.time, nodes) as mini,
            a_leader_and_another(mini, tmp_path) as (one, two, leader),
        ):
            one.front.stop_at, one.front.stop = 90, one.stop
            mini.apply([waiting(f"p-{i}", "1") for i in range(150)])
            await taken_over(mini, one, leader)
            await until(lambda: all_are_bound(mini))
            assert two.front.deeds

    asyncio.run(main())


def test_a_short_pause_keeps_leadership(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            living(time.time, [node("n1", "z")]) as mini,
            a_leader_and_another(mini, tmp_path) as (one, two, leader),
        ):
            one.stop()
            await asyncio.sleep(0.5)
            one.go_on()
            mini.apply([waiting("a", "1")])
            await until(lambda: all_are_bound(mini))
            assert holder(mini) == leader
            assert two.front.deeds == []

    asyncio.run(main())
