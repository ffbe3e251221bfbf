"""A whole cluster on this machine, served to real clients."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from reprieve.cluster.api.features import ALL_FEATURES
from reprieve.cluster.mini.admitted import admitted
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.disk import Disk
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.identity import Identity, identity_of
from reprieve.cluster.mini.kinds import Json
from reprieve.cluster.mini.kubelet import Pace
from reprieve.cluster.mini.rest.access import write_kubeconfig
from reprieve.cluster.mini.rest.server import Endpoint, Server, serve
from reprieve.cluster.mini.setup import LocalCluster, nodes_of, standard_objects

_COMPLETE, _PORT = "complete", "port"


@asynccontextmanager
async def served(wanted: LocalCluster) -> AsyncIterator[tuple[MiniCluster, str]]:
    """The cluster and its address, for as long as the context is open.

    An OSError if it cannot be had, a DiskError if it cannot be kept, a ValueError for nodes that there cannot
    be. The kubeconfig is written before the context opens, and is its owner's to remove.
    """
    with _disk(wanted) as disk:
        cluster = MiniCluster(time.time, pace=Pace(speed=wanted.speed), features=ALL_FEATURES, disk=disk)
        if disk is None or not disk.note(_COMPLETE):
            cluster.apply(standard_objects())
            cluster.apply(_admitted_nodes(cluster, wanted))
        identity = identity_of(disk, wanted.host)
        server = await _started(cluster, identity, wanted, disk)
        if disk is not None:
            disk.write_note(_COMPLETE, "yes")
            disk.write_note(_PORT, str(server.port))
        write_kubeconfig(wanted.kubeconfig, server.url, identity.token, identity.certificate)
        cluster.start()
        try:
            yield cluster, server.url
        finally:
            await server.stop()
            await cluster.stop()


@contextmanager
def _disk(wanted: LocalCluster) -> Iterator[Disk | None]:
    disk = Disk(wanted.data_dir) if wanted.data_dir is not None else None
    try:
        yield disk
    finally:
        if disk is not None:
            disk.close()


async def _started(
    cluster: MiniCluster, identity: Identity, wanted: LocalCluster, disk: Disk | None
) -> Server:
    """Who knew the cluster before finds it again where it was, unless somebody else is there now."""
    before = int(disk.note(_PORT) or 0) if disk is not None else 0
    if before and not wanted.port:
        try:
            return await _serving(cluster, identity, wanted.host, before)
        except OSError:
            pass  # any other will do
    return await _serving(cluster, identity, wanted.host, wanted.port)


async def _serving(cluster: MiniCluster, identity: Identity, host: str, port: int) -> Server:
    server = serve(cluster, Endpoint(identity.token, host, port, identity.certificate.context()))
    await server.start()
    return server


def _admitted_nodes(cluster: MiniCluster, wanted: LocalCluster) -> list[Json]:
    """As if a client had sent them: they may be a user's own."""
    try:
        return [
            admitted(cluster.store, "nodes", node, cluster.features)
            for node in nodes_of(wanted.node, wanted.nodes)
        ]
    except ApiError as error:
        raise ValueError(error.message) from error
