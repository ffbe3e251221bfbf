"""TLS certificates: self-signed ones, certificate authorities, and the subject of a client certificate."""

import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=3650)
_EARLIER = timedelta(hours=1)  # clocks differ
_NAME = "reprieve"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key; both as PEM."""

    certificate: bytes
    key: bytes

    def context(self, clients: bytes = b"") -> ssl.SSLContext:
        """For a server. ``clients``: the CAs for client certificates, as PEM. A client certificate of another
        CA ends the connection; a client without a certificate is accepted."""
        context = server_context(clients)
        # Python loads keys from files only. Only this process can read the directory, and only for a moment.
        with tempfile.TemporaryDirectory(prefix="reprieve-") as directory:
            both = Path(directory) / "both.pem"
            both.write_bytes(self.key + b"\n" + self.certificate)
            context.load_cert_chain(both, password="")  # without one, OpenSSL prompts on the terminal
        return context


def server_context(clients: bytes = b"") -> ssl.SSLContext:
    """Without a certificate yet. SSLError or ValueError if ``clients`` is not PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A resumed TLS session is not verified again, and its client certificate may have been revoked since.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    if clients:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=clients.decode("ascii"))
    return context


# --- making them -----------------------------------------------------------------------------------


def new_certificate(hosts: Sequence[str]) -> Certificate:
    """Self-signed, for a server."""
    key = ec.generate_private_key(ec.SECP256R1())
    made = (
        _begun(_named(_NAME), key)
        .add_extension(_alternatives(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .issuer_name(_named(_NAME))
    )
    return _signed(made, key, key)


def new_authority(name: str) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    # After a rotation two CAs have the same name; clients tell them apart by the key identifier.
    made = (
        _begun(_named(name), key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .issuer_name(_named(name))
    )
    return _signed(made, key, key)


def _begun(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _VALID)
    )


def _signed(
    made: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> Certificate:
    pem = serialization.Encoding.PEM
    return Certificate(
        certificate=made.sign(signer, hashes.SHA256()).public_bytes(pem),
        key=key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternatives(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_alternative(host) for host in hosts])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


# --- reading them ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CertificateSubject:
    """The user name and groups in a client certificate."""

    name: str
    groups: tuple[str, ...] = ()


def subject_of(shown: dict[str, Any] | None) -> CertificateSubject | None:
    """``shown``: a verified certificate as ``ssl`` returns it. None if it has no common name."""
    parts = [part for parts in (shown or {}).get("subject", ()) for part in parts]
    names = [value for kind, value in parts if kind == "commonName"]
    if not names or not names[-1]:
        return None
    return CertificateSubject(names[-1], tuple(value for kind, value in parts if kind == "organizationName"))
