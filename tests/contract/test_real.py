"""The contract against a real API server: the one that KUBECONFIG_CONTRACT names, if any.

It may be a bare one, without kubelets and controllers. Every check has a namespace of its own, and what it
leaves behind is deleted.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
import pytest

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.cluster import kube_cluster
from reprieve.cluster.kube.kubeconfig import Login, find_login
from reprieve.cluster.kube.requests import KubeRequest
from reprieve.testing.cluster_contract import CHECKS, Check
from reprieve.testing.contract_fixture import ClusterFixture
from tests.contract.operators import PLACES, HttpOperator
from tests.contract.relay import Relay

KUBECONFIG = os.environ.get("KUBECONFIG_CONTRACT", "")
CLUSTER_SCOPED = ("Node", "PersistentVolume")


@dataclass(frozen=True)
class RealOperator(HttpOperator):
    relay: Relay

    async def disconnect(self) -> None:
        """Cuts idle connections, too, and waits until that was noticed: what is lost then is no watch."""
        self.relay.cut_all()
        await asyncio.sleep(0.2)

    async def begin(self, namespace: str) -> None:
        """Without controllers, the test creates the service account of a namespace."""
        await self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        account = msgspec.json.encode({"metadata": {"name": "default"}})
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        assert (await self.connection.send(KubeRequest("POST", path, (), account))).status in (201, 409)

    async def end(self, namespace: str) -> None:
        for kind in CLUSTER_SCOPED:
            for item in await self.list(kind, ""):
                if item["metadata"]["name"].startswith(f"{namespace}-"):
                    await self.delete(kind, "", item["metadata"]["name"])
        options = msgspec.json.encode({"gracePeriodSeconds": 0})
        for kind in ("Pod", "PersistentVolumeClaim"):
            await self.connection.send(KubeRequest("DELETE", PLACES[kind].path(namespace), (), options))
        await self.delete("Namespace", "", namespace)


def through(login: Login, port: int) -> Login:
    """The same server, reached through a port of this machine."""
    there = urlsplit(login.cluster.server)
    name = login.cluster.tls_server_name or there.hostname or ""
    server = f"{there.scheme}://127.0.0.1:{port}{there.path}"
    return Login(msgspec.structs.replace(login.cluster, server=server, tls_server_name=name), login.user)


@asynccontextmanager
async def stage() -> AsyncIterator[ClusterFixture]:
    login = find_login(KUBECONFIG, "", os.environ)
    there = urlsplit(login.cluster.server)
    relay = Relay(there.hostname or "", there.port or 443)
    namespace = f"contract-{time.time_ns():x}"
    async with relay.listening() as port, connected(Access(login)) as connection:
        operator = RealOperator(connection, relay)
        await operator.begin(namespace)
        try:
            async with kube_cluster(Access(through(login, port)), time.time) as cluster:
                yield ClusterFixture(cluster, operator, namespace)
        finally:
            await operator.end(namespace)


if KUBECONFIG:

    @pytest.mark.parametrize("check", CHECKS)
    def test_the_contract_is_kept_by_a_real_server(check: Check) -> None:
        async def main() -> None:
            async with stage() as made:
                await check(made)

        asyncio.run(main())
