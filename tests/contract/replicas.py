"""Replicas that speak to one mini cluster over HTTP, each through a gate that can be shut.

What a replica sends is written down where it leaves it, whether it gets through or not.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from reprieve.assembly.daemon import lead
from reprieve.assembly.scheduler_settings import EVERYTHING
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.config import Configuration, parse_configuration
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.rest.http_messages import Answer, ApiRequest, refusal
from reprieve_minicluster.rest.http_server import HttpServer, ListenAddress
from reprieve_minicluster.virtual_time import clock
from tests.contract.http import TOKEN, WatchfulFront
from tests.contract.relay import Pump, Relay

_LINES = {f"{method} ".encode() for method in ("GET", "POST", "PUT", "PATCH", "DELETE")}


@dataclass(frozen=True)
class Sent:
    """The first line of a request, and when it was sent."""

    at: float
    method: str
    path: str

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def renews(self) -> bool:
        return self.writes and "/leases" in self.path


class Gate(Relay):
    """While it is shut, no bytes pass in either direction, and no connection is closed."""

    def __init__(self, port: int) -> None:
        super().__init__("127.0.0.1", port)
        self._open = asyncio.Event()
        self._open.set()
        self.sent: list[Sent] = []

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        """What was held up goes on its way."""
        self._open.set()

    def met(self) -> tuple[Pump, Pump]:
        return self._there, self._pass_on

    async def _there(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        await self._pass_on(source, sink, note=True)

    async def _pass_on(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, note: bool = False
    ) -> None:
        while data := await source.read(65536):
            if note and any(map(data.startswith, _LINES)):
                method, path, _ = data.split(b"\r\n", 1)[0].decode().split(" ")
                self.sent.append(Sent(clock(), method, path))
            await self._open.wait()
            sink.write(data)
            await sink.drain()


@dataclass(frozen=True)
class Cut:
    """The write at which a replica is cut off; whether it took effect is unknown to the replica."""

    write: int
    happened: bool


class CutFront(WatchfulFront):
    """``gate`` is shut for good at the cut. Renewing a lease does not count."""

    def __init__(self, mini: MiniCluster, cut: Cut | None = None) -> None:
        super().__init__(mini)
        self.gate: Gate | None = None
        self._cut = cut

    def answer(self, request: ApiRequest) -> Answer:
        cut = self._cut
        if cut is None or request.method == "GET" or "/leases" in request.path:
            return super().answer(request)
        if len(self.deeds) + 1 == cut.write:
            assert self.gate is not None
            self.gate.shut()
            if not cut.happened:
                return refusal(ApiError(503, "ServiceUnavailable", "no client will read this"))
        return super().answer(request)

    @property
    def deeds(self) -> list[tuple[str, str]]:
        """What was written about everything but the lease."""
        return [(method, path) for method, path, _ in self.writes if "/leases" not in path]


@dataclass
class Replica:
    front: CutFront
    gate: Gate
    task: asyncio.Task[None] = field(repr=False)

    @property
    def binds(self) -> list[str]:
        return [path.split("/")[-2] for _, path in self.front.deeds if path.endswith("/binding")]

    async def stop(self) -> None:
        """Gracefully: it releases the lease, so that the next replica leads at once."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def configuration(**settings: object) -> Configuration:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return parse_configuration({**head, **settings})


DEFAULT = configuration()


@asynccontextmanager
async def replica(
    mini: MiniCluster, name: str, cut: Cut | None = None, configured: Configuration = DEFAULT
) -> AsyncIterator[Replica]:
    front = CutFront(mini, cut)
    async with HttpServer(front, ListenAddress()) as server:
        front.gate = gate = Gate(server.port)
        async with gate.listening() as port:
            access = Access(
                Login(KubeconfigCluster(server=f"http://127.0.0.1:{port}"), KubeconfigUser(token=TOKEN))
            )
            leading = lead(configured, access, clock, name, EVERYTHING)
            made = Replica(front, gate, asyncio.create_task(leading))
            try:
                yield made
            finally:
                await made.stop()


@asynccontextmanager
async def two_replicas(
    mini: MiniCluster, cut: Cut | None = None, configured: Configuration = DEFAULT
) -> AsyncIterator[tuple[Replica, Replica]]:
    """The first leads, for as long as it is not cut off."""
    async with replica(mini, "one", cut, configured) as one:
        await asyncio.sleep(1)
        async with replica(mini, "two", configured=configured) as two:
            await asyncio.sleep(1)
            yield one, two
