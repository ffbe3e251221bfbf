"""Certificates and tokens: those that a kubeconfig names, and others while a cluster is watched."""

import asyncio
from pathlib import Path

from tests.minicluster.faulty_cluster import FaultyCluster, WatchFault

from reprieve.cluster.certificates import new_certificate
from reprieve.cluster.kube.auth import Access, find_access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.cluster import kube_cluster
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.cluster.kube.requests import KubeRequest
from reprieve.model.moment import on_one_clock
from reprieve.testing.contract_fixture import ClusterFixture, RecordingWatcher
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.local_cluster import Tokens, write_kubeconfig
from reprieve_minicluster.rest.http_server import HttpServer, ListenAddress, serve
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.test_mini import MiniOperator


def new_server(mini: MiniCluster, folder: Path, token: str, port: int = 0) -> HttpServer:
    """One with a certificate of its own; what is needed to reach it lies in the folder."""
    certificate = new_certificate(("127.0.0.1",))
    (folder / "ca.crt").write_bytes(certificate.certificate)
    (folder / "token").write_text(token)
    return serve(mini, token, ListenAddress(port=port, tls=certificate.context()))


def test_a_server_comes_back_with_other_credentials(tmp_path: Path) -> None:
    async def main() -> None:
        mini = FaultyCluster(clock)
        operator = MiniOperator(mini, WatchFault.DROP)
        first = new_server(mini, tmp_path, "one")
        await first.start()
        there = KubeconfigCluster(server=first.url, certificate_authority=str(tmp_path / "ca.crt"))
        access = Access(
            Login(there, KubeconfigUser(token_file=str(tmp_path / "token"))),
            now=lambda: on_one_clock(clock()),
        )
        async with kube_cluster(access, clock) as cluster:
            stage = ClusterFixture(cluster, operator, "contract")
            pod = await stage.pod("before")
            async with RecordingWatcher(stage) as viewer:
                await first.stop()
                await stage.remove(pod)
                async with new_server(mini, tmp_path, "two", first.port):
                    after = await stage.pod("after")
                    await asyncio.sleep(70)
                    await viewer.until(lambda: viewer.sees(after), "the new server must be followed")
                    assert viewer.has_lost(pod)

    run(main())


def test_the_kubeconfig_of_the_mini_cluster_gets_us_in(tmp_path: Path) -> None:
    async def main() -> None:
        certificate, file = new_certificate(("127.0.0.1",)), tmp_path / "kubeconfig"
        async with serve(MiniCluster(clock), "secret", ListenAddress(tls=certificate.context())) as server:
            write_kubeconfig(file, server.url, Tokens("secret"), certificate)
            async with connected(find_access(str(file), "", {})) as connection:
                response = await connection.send(KubeRequest("GET", "/api/v1/pods"))
                assert response.status == 200

    run(main())
