"""The credentials of a cluster: its admin token, its serving certificate, and its client CA.

They are created once and stored with the cluster, so that a kubeconfig stays valid across restarts.
"""

import base64
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import yaml

from reprieve.cluster.certificates import Certificate, new_authority, new_certificate
from reprieve_minicluster.store import SqliteBackend, StorageError


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
