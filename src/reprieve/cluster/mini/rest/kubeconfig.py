"""The kubeconfig of a cluster: tokens, contexts and the serving certificate."""

import base64
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from reprieve.cluster.certificates import Certificate
from reprieve.cluster.mini.sqlite_backend import StorageError

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
