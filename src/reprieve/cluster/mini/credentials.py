"""The credentials of a cluster: its admin token, its serving certificate, and its client CA.

They are created once and stored with the cluster, so that a kubeconfig stays valid across restarts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from reprieve.cluster.certificates import Certificate, new_authority, new_certificate
from reprieve.cluster.mini.bootstrap import LOOPBACK
from reprieve.cluster.mini.rest.kubeconfig import new_token
from reprieve.cluster.mini.sqlite_backend import SqliteBackend


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
    return new_certificate((host, LOOPBACK, "localhost"))


def _authority() -> Certificate:
    return new_authority("reprieve-client-ca")
