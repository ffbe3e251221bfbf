"""Certificates that an authority of ours signs: for a server, and for a client."""

from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from reprieve.cluster.certificates import Certificate, _alternatives, _begun, _signed


def server_certificate(authority: Certificate, hosts: Sequence[str]) -> Certificate:
    return _issued(authority, "reprieve", (), ExtendedKeyUsageOID.SERVER_AUTH, _alternatives(hosts))


def client_certificate(authority: Certificate, name: str, groups: Sequence[str] = ()) -> Certificate:
    return _issued(authority, name, groups, ExtendedKeyUsageOID.CLIENT_AUTH)


def _issued(
    authority: Certificate,
    name: str,
    groups: Sequence[str],
    purpose: ObjectIdentifier,
    *extensions: x509.ExtensionType,
) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    signer = serialization.load_pem_private_key(authority.key, password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    issuer = x509.load_pem_x509_certificate(authority.certificate).subject
    of_groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    made = _begun(x509.Name([*of_groups, x509.NameAttribute(NameOID.COMMON_NAME, name)]), key)
    by_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    for extension in (*extensions, x509.ExtendedKeyUsage([purpose]), by_key):
        made = made.add_extension(extension, critical=False)
    return _signed(made.issuer_name(issuer), key, signer)
