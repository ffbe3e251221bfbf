"""A whole cluster on this machine, served to real clients."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import astuple

from reprieve.cluster.api.features import ALL_FEATURES
from reprieve.cluster.mini.admitted import admitted
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.controllers import DEFAULT_DELAYS, Delays
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kinds import Json
from reprieve.cluster.mini.kubelet import Pace
from reprieve.cluster.mini.rest.access import new_certificate, new_token, write_kubeconfig
from reprieve.cluster.mini.rest.server import Endpoint, serve
from reprieve.cluster.mini.setup import LOOPBACK, LocalCluster, nodes_of, standard_objects


@asynccontextmanager
async def served(wanted: LocalCluster) -> AsyncIterator[tuple[MiniCluster, str]]:
    """The cluster and its address, for as long as the context is open; an OSError if it cannot be had,
    and a ValueError for nodes that there cannot be.

    The kubeconfig is written before the context opens, and is its owner's to remove.
    """
    certificate, token = new_certificate((wanted.host, LOOPBACK, "localhost")), new_token()
    cluster = MiniCluster(
        time.time,
        pace=Pace(speed=wanted.speed),
        delays=Delays(*(seconds / wanted.speed for seconds in astuple(DEFAULT_DELAYS))),
        features=ALL_FEATURES,
    )
    cluster.apply(standard_objects())
    cluster.apply(_admitted_nodes(cluster, wanted))
    async with serve(cluster, Endpoint(token, wanted.host, wanted.port, certificate.context())) as server:
        write_kubeconfig(wanted.kubeconfig, server.url, token, certificate)
        cluster.start()
        try:
            yield cluster, server.url
        finally:
            await cluster.stop()


def _admitted_nodes(cluster: MiniCluster, wanted: LocalCluster) -> list[Json]:
    """As if a client had sent them: they may be a user's own."""
    try:
        return [
            admitted(cluster.store, "nodes", node, cluster.features)
            for node in nodes_of(wanted.node, wanted.nodes)
        ]
    except ApiError as error:
        raise ValueError(error.message) from error
