"""A mini cluster that is served over HTTP, and an administrator that uses it."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.model.json import Json
from reprieve_minicluster.bootstrap import standard_objects
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.rest.http_messages import Answer, ApiRequest, Stream, failure, refusal
from reprieve_minicluster.rest.http_server import ApiServer, HttpServer, ListenAddress
from reprieve_minicluster.rest.query_parameters import forbidden_parameter
from tests.contract.operators import HttpOperator

TOKEN = "secret"
NO_PROGRESS = (
    "a watch stream was requested by the client but the required storage feature"
    " RequestWatchProgress is disabled"
)


class WatchfulFront(ApiServer):
    """Remembers every write: the method, the path, and the body."""

    def __init__(self, mini: MiniCluster) -> None:
        super().__init__(mini.store, mini.clock, mini.features, TOKEN)
        self.writes: list[tuple[str, str, Json]] = []

    def answer(self, request: ApiRequest) -> Answer:
        if request.method != "GET":
            self.writes.append((request.method, request.path, json.loads(request.body or b"{}")))
        return super().answer(request)


class UnstreamedFront(WatchfulFront):
    """Rejects streamed lists, as a server without them does: Kubernetes before 1.32."""

    def answer(self, request: ApiRequest) -> Answer:
        return self.refuse() if "sendInitialEvents" in request.query else super().answer(request)

    def refuse(self) -> Answer:
        why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        return refusal(forbidden_parameter("sendInitialEvents", why))


class ProgresslessFront(UnstreamedFront):
    """Accepts streamed lists and ends them with an event, as a server does whose etcd lacks progress
    notifications."""

    def refuse(self) -> Answer:
        return Stream(_ended_by(ApiError(500, "InternalError", NO_PROGRESS)))


async def _ended_by(error: ApiError) -> AsyncGenerator[bytes, None]:
    yield json.dumps({"type": "ERROR", "object": failure(error)}).encode() + b"\n"


@dataclass(frozen=True)
class MiniOperator(HttpOperator):
    access: Access
    server: HttpServer
    front: WatchfulFront

    async def disconnect(self) -> None:
        self.server.disconnect()


@asynccontextmanager
async def served(
    mini: MiniCluster, new_front: Callable[[MiniCluster], WatchfulFront] = WatchfulFront
) -> AsyncIterator[MiniOperator]:
    front = new_front(mini)
    async with HttpServer(front, ListenAddress()) as server:
        access = Access(Login(KubeconfigCluster(server=server.url), KubeconfigUser(token=TOKEN)))
        async with connected(access) as connection:
            yield MiniOperator(connection, access, server, front)


@asynccontextmanager
async def living(clock: Callable[[], float], objects: Iterable[Json] = ()) -> AsyncIterator[MiniCluster]:
    """With kubelets and controllers, and what every cluster begins with."""
    mini = MiniCluster(clock)
    mini.apply([*standard_objects(), *objects])
    mini.start()
    try:
        yield mini
    finally:
        await mini.stop()


@asynccontextmanager
async def living_cluster(
    clock: Callable[[], float], new_front: Callable[[MiniCluster], WatchfulFront] = WatchfulFront
) -> AsyncIterator[MiniOperator]:
    async with living(clock) as mini, served(mini, new_front) as operator:
        yield operator
