"""A mini cluster that serves real clients over HTTPS: started, restored from disk, and stopped."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace

from reprieve.model.json import Json
from reprieve_minicluster.admission import admitted
from reprieve_minicluster.auth.authentication import TokenIssuer
from reprieve_minicluster.auth.credentials import ClusterCredentials, Tokens, credentials_of, write_kubeconfig
from reprieve_minicluster.bootstrap import (
    LocalCluster,
    api_server_service,
    default_storage_class,
    known_authorities,
    nodes_of,
    standard_objects,
)
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.controllers.root_ca_publisher import root_ca
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kubelet import KubeletTiming
from reprieve_minicluster.rest.http_server import HttpServer, ListenAddress, serve
from reprieve_minicluster.rest.non_resource_paths import NO_PAGES, Pages
from reprieve_minicluster.snapshot_restore import restore
from reprieve_minicluster.store import SqliteBackend, StorageError
from reprieve_minicluster.store.sqlite_backend import FILE

_COMPLETE, _PORT = "complete", "port"
_HEARTBEAT_SECONDS = 10.0  # as kubelets renew their leases


@dataclass(frozen=True, slots=True)
class ServedCluster:
    """``left_out``: numbers of objects of a snapshot that were skipped, by kind, as it is not served."""

    cluster: MiniCluster
    address: str
    left_out: Counter[str]


@asynccontextmanager
async def served(wanted: LocalCluster, pages: Pages = NO_PAGES) -> AsyncIterator[ServedCluster]:
    """A cluster that runs while the context is open. ``pages``: what its API server serves for others.

    Raises an OSError if the address is in use, a StorageError if its state cannot be stored, and a ValueError
    for invalid nodes. It writes the kubeconfig before the context opens; the caller removes it.
    """
    with _backend(wanted) as backend:
        cluster = MiniCluster(
            time.time,
            timing=_timing(wanted),
            features=wanted.features,
            backend=backend,
            controllers=wanted.controllers,
        )
        left_out = Counter[str]()
        if backend is None or not _is_stored(cluster, wanted, backend):
            left_out = _populate(cluster, wanted)
        elif wanted.snapshot:
            raise StorageError(
                f"{wanted.data_dir}: already has a cluster: use an empty directory to start from a snapshot"
            )
        identity = credentials_of(backend, wanted.host)
        own, clients = (c.certificate.decode() for c in (identity.certificate, identity.clients))
        cluster.apply([known_authorities(clients, for_proxies=own)])
        server = await _started(cluster, identity, wanted, backend, pages)
        if backend is not None:
            backend.write_note(_COMPLETE, "yes")
            with suppress(StorageError):  # the disk is full, and the port of the last run was in use
                backend.write_note(_PORT, str(server.port))
        with suppress(StorageError):  # the disk is full: the next start writes them
            cluster.apply([root_ca(own), api_server_service(server.port)])
        others = {user.name: TokenIssuer(identity.token).token_of(user) for user in wanted.users}
        tokens = Tokens(identity.token, others)
        try:
            write_kubeconfig(wanted.kubeconfig, server.url, tokens, identity.certificate)
            cluster.start()
            yield ServedCluster(cluster, server.url, left_out)
        finally:
            await server.stop()
            await cluster.stop()


def _timing(wanted: LocalCluster) -> KubeletTiming:
    return KubeletTiming(
        speed=wanted.speed, job_seconds=wanted.job_seconds, heartbeat_seconds=_HEARTBEAT_SECONDS
    )


@contextmanager
def _backend(wanted: LocalCluster) -> Iterator[SqliteBackend | None]:
    if wanted.data_dir is None:
        yield None
        return
    backend = SqliteBackend(wanted.data_dir, was_used=wanted.kubeconfig.exists())
    try:
        yield backend
    finally:
        backend.close()


def _is_stored(cluster: MiniCluster, wanted: LocalCluster, backend: SqliteBackend) -> bool:
    """Whether the backend has a cluster; a StorageError if it had one and has lost it."""
    is_complete = bool(backend.note(_COMPLETE))
    is_lost = not cluster.store.list(("namespaces",)).items if is_complete else wanted.kubeconfig.exists()
    if is_lost:
        raise StorageError(
            f"{wanted.data_dir}: a cluster was stored in this directory, and its objects are gone: restore "
            f"{FILE}, or use another directory for a new cluster"
        )
    return is_complete


async def _started(
    cluster: MiniCluster,
    identity: ClusterCredentials,
    wanted: LocalCluster,
    backend: SqliteBackend | None,
    pages: Pages,
) -> HttpServer:
    """Serve on the port of the last run, so that kubeconfigs stay valid, unless it is in use now."""
    before = int(backend.note(_PORT) or 0) if backend is not None else 0
    if before and not wanted.port:
        try:
            return await _serving(cluster, identity, ListenAddress(wanted.host, before), pages)
        except OSError:
            pass  # in use: take any free port
    return await _serving(cluster, identity, ListenAddress(wanted.host, wanted.port), pages)


async def _serving(
    cluster: MiniCluster, identity: ClusterCredentials, address: ListenAddress, pages: Pages
) -> HttpServer:
    tls = identity.certificate.context(identity.clients.certificate)
    server = serve(cluster, identity.token, replace(address, tls=tls), pages)
    await server.start()
    return server


def _populate(cluster: MiniCluster, wanted: LocalCluster) -> Counter[str]:
    """Create the objects that a new cluster starts with."""
    cluster.apply(standard_objects())
    left_out = restore(cluster.store, wanted.snapshot, wanted.progress)
    if not cluster.list("StorageClass"):
        cluster.apply([default_storage_class()])
    cluster.apply(_admitted_nodes(cluster, wanted))
    return left_out


def _admitted_nodes(cluster: MiniCluster, wanted: LocalCluster) -> list[Json]:
    """Admit them as if a client had sent them: the templates may be a user's own."""
    try:
        return [
            admitted(cluster.store, "nodes", node, cluster.features)
            for node in nodes_of(wanted.templates, wanted.nodes)
        ]
    except ApiError as error:
        raise ValueError(error.message) from error
