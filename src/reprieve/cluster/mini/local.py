"""A whole cluster on this machine, served to real clients."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from reprieve.cluster.apiserver.features import ALL_FEATURES
from reprieve.cluster.mini.admitted import admitted
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.disk import Disk, DiskError
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.identity import Identity, identity_of
from reprieve.cluster.mini.kubelet import Pace
from reprieve.cluster.mini.rest.access import Tokens, write_kubeconfig
from reprieve.cluster.mini.rest.server import Endpoint, Server, serve
from reprieve.cluster.mini.restoring import restore
from reprieve.cluster.mini.rights.users import Issuer
from reprieve.cluster.mini.setup import LocalCluster, known_authorities, nodes_of, standard_objects
from reprieve.model.json import Json

_COMPLETE, _PORT = "complete", "port"


@dataclass(frozen=True, slots=True)
class Served:
    """A cluster and its address; and, by kind, what of a snapshot it could not begin with."""

    cluster: MiniCluster
    address: str
    left_out: Counter[str]


@asynccontextmanager
async def served(wanted: LocalCluster) -> AsyncIterator[Served]:
    """A cluster, for as long as the context is open.

    An OSError if it cannot be had, a DiskError if it cannot be kept, a ValueError for nodes that there cannot
    be. The kubeconfig is written before the context opens, and is its owner's to remove.
    """
    with _disk(wanted) as disk:
        cluster = MiniCluster(time.time, pace=Pace(speed=wanted.speed), features=ALL_FEATURES, disk=disk)
        left_out = Counter[str]()
        if disk is None or not disk.note(_COMPLETE):
            left_out = _found(cluster, wanted)
        elif wanted.snapshot:
            raise DiskError(
                f"{wanted.data_dir}: has a cluster already, which cannot begin with something else"
            )
        identity = identity_of(disk, wanted.host)
        own, clients = (c.certificate.decode() for c in (identity.certificate, identity.clients))
        cluster.apply([known_authorities(clients, for_proxies=own)])
        server = await _started(cluster, identity, wanted, disk)
        if disk is not None:
            disk.write_note(_COMPLETE, "yes")
            disk.write_note(_PORT, str(server.port))
        others = {user.name: Issuer(identity.token).token_of(user) for user in wanted.users}
        tokens = Tokens(identity.token, others)
        write_kubeconfig(wanted.kubeconfig, server.url, tokens, identity.certificate)
        cluster.start()
        try:
            yield Served(cluster, server.url, left_out)
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
    tls = identity.certificate.context(identity.clients.certificate)
    server = serve(cluster, identity.token, Endpoint(host, port, tls))
    await server.start()
    return server


def _found(cluster: MiniCluster, wanted: LocalCluster) -> Counter[str]:
    """Puts in what a new cluster begins with."""
    cluster.apply(standard_objects())
    left_out = restore(cluster.store, wanted.snapshot)
    cluster.apply(_admitted_nodes(cluster, wanted))
    return left_out


def _admitted_nodes(cluster: MiniCluster, wanted: LocalCluster) -> list[Json]:
    """As if a client had sent them: they may be a user's own."""
    try:
        return [
            admitted(cluster.store, "nodes", node, cluster.features)
            for node in nodes_of(wanted.templates, wanted.nodes)
        ]
    except ApiError as error:
        raise ValueError(error.message) from error
