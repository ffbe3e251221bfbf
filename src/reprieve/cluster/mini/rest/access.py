"""How to reach a cluster: tokens, TLS with a certificate of our own, and a kubeconfig that has both."""

import base64
import ipaddress
import os
import secrets
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=3650)
_EARLIER = timedelta(hours=1)  # clocks differ
_NAME = "reprieve"


def new_token() -> str:
    return secrets.token_urlsafe(32)


# --- TLS -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that vouches for itself, and its key; both as PEM."""

    certificate: bytes
    key: bytes

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # Python reads keys from files only. The directory is ours alone, and gone at once.
        with tempfile.TemporaryDirectory(prefix="reprieve-") as directory:
            both = Path(directory) / "both.pem"
            both.write_bytes(self.key + self.certificate)
            context.load_cert_chain(both)
        return context


def new_certificate(hosts: tuple[str, ...]) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    now = datetime.now(UTC)
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=False)
        .sign(key, hashes.SHA256())
    )
    return Certificate(
        certificate=made.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


# --- kubeconfig ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """``owner``: of the one who may do everything. ``others``: by name; each has a context of that name."""

    owner: str
    others: Mapping[str, str] = field(default_factory=dict)


def write_kubeconfig(path: Path, url: str, tokens: Tokens, certificate: Certificate | None = None) -> None:
    """For the eyes of its owner alone: whoever reads it may do everything."""
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
