"""The kubeconfig of a cluster: tokens, contexts and the serving certificate."""

import base64
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from reprieve.cluster.certificates import Certificate

_NAME = "reprieve"


def new_token() -> str:
    return secrets.token_urlsafe(32)


# --- kubeconfig ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """``owner``: the admin token. ``others``: tokens by user; each gets a context of that name."""

    owner: str
    others: Mapping[str, str] = field(default_factory=dict)


def write_kubeconfig(path: Path, url: str, tokens: Tokens, certificate: Certificate | None = None) -> None:
    """Readable by its owner alone: it has the admin token."""
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
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        yaml.safe_dump(config, file, sort_keys=False)
