"""A mini cluster that is served over HTTP, and an administrator that uses it."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.cluster.mini.bootstrap import standard_objects
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.rest.api_server import ApiServer
from reprieve.cluster.mini.rest.http_messages import Answer, ApiRequest
from reprieve.cluster.mini.rest.http_server import HttpServer, ListenAddress
from reprieve.model.json import Json
from tests.contract.operators import HttpOperator

TOKEN = "secret"


class WatchfulFront(ApiServer):
    """Remembers every write: the method, the path, and the body."""

    def __init__(self, mini: MiniCluster) -> None:
        super().__init__(mini.store, mini.clock, mini.features, TOKEN)
        self.writes: list[tuple[str, str, Json]] = []

    def answer(self, request: ApiRequest) -> Answer:
        if request.method != "GET":
            self.writes.append((request.method, request.path, json.loads(request.body or b"{}")))
        return super().answer(request)


@dataclass(frozen=True)
class MiniOperator(HttpOperator):
    access: Access
    server: HttpServer
    front: WatchfulFront

    async def disconnect(self) -> None:
        self.server.disconnect()


@asynccontextmanager
async def served(mini: MiniCluster) -> AsyncIterator[MiniOperator]:
    front = WatchfulFront(mini)
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
async def living_cluster(clock: Callable[[], float]) -> AsyncIterator[MiniOperator]:
    async with living(clock) as mini, served(mini) as operator:
        yield operator
