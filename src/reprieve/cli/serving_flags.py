"""Flags for the HTTPS endpoint of the scheduler, and for authentication and authorization there.

What is served is not known here.
"""

import ssl
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from reprieve.assembly.endpoints import ReviewOptions, ServingEndpoint
from reprieve.assembly.trust import Files, Manners
from reprieve.cli.go_flags import Address, Duration, File, Flags, Listed, switch, together
from reprieve.model.formatting import quoted
from reprieve.runtime.http_endpoints import PROBES

_PAIR = ("kube-scheduler.crt", "kube-scheduler.key")  # what kube-scheduler looks for in --cert-dir
_TOO_OLD = ("VersionTLS10", "VersionTLS11")
_VERSIONS = {
    **dict.fromkeys(_TOO_OLD, ssl.TLSVersion.TLSv1_2),
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
_OF_TLS_1_3 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")

serving_flags = together(
    click.option(
        "--secure-port",
        type=click.IntRange(0, 65535),
        default=10259,
        show_default=True,
        help="The HTTPS port for probes and metrics; 0 to serve none.",
    ),
    click.option(
        "--bind-address",
        type=Address(),
        default="0.0.0.0",
        show_default=True,
        help="The IP address to listen on; 0.0.0.0 or :: for all interfaces.",
    ),
    click.option("--tls-cert-file", type=File(), help="The serving certificate. Default: self-signed."),
    click.option("--tls-private-key-file", type=File(), help="The private key of --tls-cert-file."),
    click.option(
        "--cert-dir",
        type=File(),
        metavar="DIR",
        help="A directory with kube-scheduler.crt and kube-scheduler.key, instead of these two flags.",
    ),
    click.option(
        "--tls-min-version",
        type=click.Choice(list(_VERSIONS)),
        default="VersionTLS12",
        show_default=True,
        help="The minimum TLS version; versions below 1.2 mean 1.2.",
    ),
    click.option(
        "--tls-cipher-suites", type=Listed(), help="Cipher suites by their Go names, comma-separated."
    ),
    switch("--permit-port-sharing", default=False, help="Allow other processes to listen on the same port."),
)

review_flags = together(
    click.option(
        "--client-ca-file",
        type=File(),
        help="The CA for client certificates. Default: the one that the API server publishes.",
    ),
    click.option(
        "--authentication-kubeconfig",
        default="",
        metavar="FILE",
        help="The kubeconfig for TokenReviews. Default: as for all other requests.",
    ),
    click.option(
        "--authorization-kubeconfig",
        default="",
        metavar="FILE",
        help="The kubeconfig for SubjectAccessReviews. Default: as for all other requests.",
    ),
    switch(
        "--authentication-skip-lookup",
        default=False,
        help="Do not read the client CA from the API server: then only tokens authenticate.",
    ),
    switch(
        "--authentication-tolerate-lookup-failure",
        default=True,
        help="Start even if the client CA cannot be read from the API server.",
    ),
    click.option(
        "--authorization-always-allow-paths",
        type=Listed(),
        default=PROBES,
        help="Paths that need no authorization; a trailing * matches any suffix.",
        show_default=",".join(PROBES),
    ),
    click.option("--authentication-token-webhook-cache-ttl", type=Duration(), default=10.0, hidden=True),
    click.option("--authorization-webhook-cache-authorized-ttl", type=Duration(), default=10.0, hidden=True),
    click.option(
        "--authorization-webhook-cache-unauthorized-ttl", type=Duration(), default=10.0, hidden=True
    ),
)


def endpoint_of(flags: Flags) -> ServingEndpoint | None:
    """None if --secure-port is 0."""
    files = Files(_own(flags), flags["client_ca_file"])
    if not flags["secure_port"]:
        return None
    return ServingEndpoint(
        flags["bind_address"],
        flags["secure_port"],
        files,
        _manners(flags["tls_min_version"], flags["tls_cipher_suites"]),
        flags["authorization_always_allow_paths"],
        flags["permit_port_sharing"],
    )


def _own(flags: Flags) -> tuple[Path, Path] | None:
    certificate, key, folder = flags["tls_cert_file"], flags["tls_private_key_file"], flags["cert_dir"]
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file: expected both or none")
    if certificate is not None:
        return certificate, key
    there = [folder / name for name in _PAIR] if folder is not None else []
    return (there[0], there[1]) if there and all(path.exists() for path in there) else None


def serving_flag_warnings(flags: Flags) -> Iterator[str]:
    """Warnings for flags whose values are not used."""
    if flags["tls_min_version"] in _TOO_OLD:
        yield "--tls-min-version: the minimum is TLS 1.2"
    if flags["cert_dir"] is not None and _own(flags) is None:
        pair = " and ".join(_PAIR)
        yield f"--cert-dir: {flags['cert_dir']} has no {pair}: using a self-signed certificate"


def review_options_of(flags: Flags) -> ReviewOptions:
    return ReviewOptions(
        flags["authentication_token_webhook_cache_ttl"],
        flags["authorization_webhook_cache_authorized_ttl"],
        flags["authorization_webhook_cache_unauthorized_ttl"],
        looks_up=not flags["authentication_skip_lookup"],
        must_learn=not flags["authentication_tolerate_lookup_failure"],
    )


# --- TLS -----------------------------------------------------------------------------------------


def _manners(minimum: str, suites: Sequence[str] | None) -> Manners:
    """TLS 1.3 suites are always on, as in Go. If only those are listed, the minimum is TLS 1.3."""
    if not suites:
        return Manners(_VERSIONS[minimum])
    older = [suite for suite in suites if suite not in _OF_TLS_1_3]
    if not older:
        return Manners(ssl.TLSVersion.TLSv1_3)
    return Manners(_VERSIONS[minimum], tuple(_cipher(suite) for suite in older))


def _cipher(suite: str) -> str:
    """TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256 to OpenSSL."""
    exchange, _, rest = suite.removeprefix("TLS_").partition("_WITH_")
    for theirs, ours in _PARTS.items():
        rest = rest.replace(theirs, ours)
    name = "-".join([*([] if exchange == "RSA" else exchange.split("_")), *rest.split("_")])
    if not suite.startswith("TLS_") or name not in _known_ciphers():
        raise click.UsageError(f"--tls-cipher-suites: expected suites that OpenSSL has, got {quoted(suite)}")
    return name


_PARTS: Mapping[str, str] = {
    "AES_128_CBC_": "AES128_",
    "AES_256_CBC_": "AES256_",
    "AES_128_GCM_": "AES128_GCM_",
    "AES_256_GCM_": "AES256_GCM_",
    "CHACHA20_POLY1305_SHA256": "CHACHA20_POLY1305",
    "CHACHA20_POLY1305_": "CHACHA20_POLY1305_",
}


def _known_ciphers() -> frozenset[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL")
    return frozenset(cipher["name"] for cipher in context.get_ciphers())
