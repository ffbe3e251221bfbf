"""A mini cluster that serves real clients over HTTPS: started, restored from disk, and stopped.

Its credentials are created once and stored with it, so that a kubeconfig stays valid across restarts.
"""

import base64
import os
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec
import yaml

from reprieve.cluster.certificates import Certificate, new_authority, new_certificate
from reprieve.model.json import Json
from reprieve_minicluster.admission import admitted
from reprieve_minicluster.auth.authentication import TokenIssuer
from reprieve_minicluster.bootstrap import (
    LocalCluster,
    api_server_service,
    default_storage_class,
    known_authorities,
    nodes_of,
    restore,
    standard_objects,
)
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.controllers.small_controllers import root_ca
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kubelet import KubeletTiming
from reprieve_minicluster.rest.http_server import HttpServer, ListenAddress, serve
from reprieve_minicluster.rest.non_resource_paths import NO_PAGES, Pages
from reprieve_minicluster.store import SqliteBackend, StorageError
from reprieve_minicluster.store.sqlite_backend import FILE


@dataclass(frozen=True, slots=True)
class ClusterCredentials:
    """``clients``: the CA that signs client certificates."""

    token: str
    certificate: Certificate
    clients: Certificate


def credentials_of(backend: SqliteBackend | None, host: str) -> ClusterCredentials:
    """A certificate is for one host; a cluster that moves to another host keeps its token."""
    if backend is None:
        return ClusterCredentials(new_token(), _certificate(host), _authority())
    token = backend.note("token") or new_token()
    backend.write_note("token", token)
    certificate = _kept(backend, f"certificate for {host}", partial(_certificate, host))
    return ClusterCredentials(token, certificate, _kept(backend, "authority for clients", _authority))


def _kept(backend: SqliteBackend, name: str, make: Callable[[], Certificate]) -> Certificate:
    written = backend.note(name)
    if written:
        return msgspec.json.decode(written, type=Certificate)
    certificate = make()
    backend.write_note(name, msgspec.json.encode(certificate).decode())
    return certificate


def _certificate(host: str) -> Certificate:
    return new_certificate((host, "127.0.0.1", "localhost"))


def _authority() -> Certificate:
    return new_authority("reprieve-client-ca")


# --- kubeconfig -----------------------------------------------------------------------------------


_NAME = "reprieve"
_PRIVATE = 0o600


def new_token() -> str:
    return secrets.token_urlsafe(32)


# --- kubeconfig ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """``owner``: the admin token. ``others``: tokens by user; each gets a context of that name."""

    owner: str
    others: Mapping[str, str] = field(default_factory=dict)


def write_kubeconfig(path: Path, url: str, tokens: Tokens, certificate: Certificate | None = None) -> None:
    """Readable by its owner alone: it has the admin token. A StorageError if it cannot be written."""
    held = {_NAME: tokens.owner, **tokens.others}
    context = {"cluster": _NAME, "namespace": "default"}
    cluster: dict[str, str] = {"server": url}
    if certificate is not None:
        cluster["certificate-authority-data"] = base64.b64encode(certificate.certificate).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}} for name, token in held.items()],
        "contexts": [{"name": name, "context": {**context, "user": name}} for name in held],
        "current-context": _NAME,
    }
    try:
        _write_private(path, yaml.safe_dump(config, sort_keys=False))
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno is not None else str(error)
        raise StorageError(f"{path}: cannot be written: {reason}") from error


def _write_private(path: Path, text: str) -> None:
    """A file that is right already is not written, and one that is not is replaced in one step: on a full
    disk the old one stays."""
    if path.is_file() and path.read_text() == text:
        path.chmod(_PRIVATE)
        return
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as file:
            file.write(text)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


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
