"""A mini cluster that is served over HTTP, and somebody who speaks to it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.kubeconfig import Cluster, Login, User
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.rest.server import Endpoint, Server, serve
from reprieve.cluster.mini.setup import standard_objects
from tests.contract.operators import HttpOperator

TOKEN = "secret"


@dataclass(frozen=True)
class MiniOperator(HttpOperator):
    access: Access
    server: Server
    mini: MiniCluster

    async def disconnect(self) -> None:
        self.server.disconnect()


@asynccontextmanager
async def served(mini: MiniCluster) -> AsyncIterator[MiniOperator]:
    async with serve(mini, Endpoint(TOKEN)) as server:
        access = Access(Login(Cluster(server=server.url), User(token=TOKEN)))
        async with connected(access) as connection:
            yield MiniOperator(connection, access, server, mini)


@asynccontextmanager
async def living_cluster(clock: Callable[[], float]) -> AsyncIterator[MiniOperator]:
    """With kubelets and controllers, and what every cluster begins with."""
    mini = MiniCluster(clock)
    mini.apply(standard_objects())
    mini.start()
    try:
        async with served(mini) as operator:
            yield operator
    finally:
        await mini.stop()
