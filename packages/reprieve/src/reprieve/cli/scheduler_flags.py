"""The flags of `reprieve scheduler`, those of kube-scheduler and a few of its own: what does each stand for?

Flags that have no effect here are accepted, so that kube-scheduler's command lines work unchanged, with a
warning unless the value asks for what Reprieve does anyway. A few are rejected: ignoring them would break
what their user relies on.
"""

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from reprieve.assembly.endpoints import ReviewOptions, ServingEndpoint
from reprieve.assembly.trust import CertificateFiles, TlsOptions
from reprieve.cli.flag_values import (
    Address,
    Command,
    Duration,
    File,
    Flags,
    Listed,
    Verbosity,
    combined_options,
    switch,
    text_flag,
)
from reprieve.cli.terminal import say
from reprieve.model.formatting import quoted
from reprieve.runtime.http_endpoints import PROBES


def _print_version(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Go's flag takes --version=raw, too."""
    if value is not None and value.lower() != "false":
        say(f"reprieve {version('reprieve')}")
        ctx.exit()


_connection = combined_options(
    click.option(
        "--config", "config_file", metavar="FILE", help="A KubeSchedulerConfiguration; `-` for stdin."
    ),
    text_flag("--kubeconfig", "FILE", "Default: as for kubectl, or the pod's service account."),
    text_flag("--master", "URL", "The API server; overrides the kubeconfig."),
    click.option("--kube-api-qps", "qps", type=float, help="Requests per second. Ignored with --config."),
    click.option("--kube-api-burst", "burst", type=int, help="Burst of requests. Ignored with --config."),
    text_flag("--feature-gates", "A=true,B=false", "Feature gates to enable or disable.", repeatable=True),
)

_election = combined_options(
    switch(
        "--leader-elect", name="leaderElect", help="Elect a leader: only one replica schedules at a time."
    ),
    click.option(
        "--leader-elect-lease-duration",
        "leaseDuration",
        metavar="DURATION",
        help="How long a lease may go unrenewed before another replica takes over.",
    ),
    click.option(
        "--leader-elect-renew-deadline",
        "renewDeadline",
        metavar="DURATION",
        help="How long the leader tries to renew its lease before it stops leading.",
    ),
    click.option(
        "--leader-elect-retry-period",
        "retryPeriod",
        metavar="DURATION",
        help="The interval between attempts to acquire or renew the lease.",
    ),
    click.option("--leader-elect-resource-lock", "resourceLock", metavar="leases", help="Only leases."),
    click.option("--leader-elect-resource-name", "resourceName", metavar="NAME", help="The lease's name."),
    click.option(
        "--leader-elect-resource-namespace",
        "resourceNamespace",
        metavar="NAME",
        help="The lease's namespace.",
    ),
)

_own_flags = combined_options(
    click.option(
        "--journal-dir",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Write a journal of events and decisions there, for `reprieve replay`.",
    ),
    click.option(
        "--write-config-to",
        type=File(),
        metavar="FILE",
        help="Write the configuration with all defaults to FILE, and exit.",
    ),
    click.option(
        "-v",
        "--v",
        "verbosity",
        type=Verbosity(),
        default=0,
        help="Log verbosity: 2 and above logs every decision, 4 and above everything.",
    ),
    click.option(
        "--version",
        is_flag=False,
        flag_value="true",
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        metavar="",
        help="Print the version, and exit.",
    ),
)


# --- the endpoint --------------------------------------------------------------------------------


_PAIR = ("kube-scheduler.crt", "kube-scheduler.key")  # what kube-scheduler looks for in --cert-dir
_TOO_OLD = ("VersionTLS10", "VersionTLS11")
_VERSIONS = {
    **dict.fromkeys(_TOO_OLD, ssl.TLSVersion.TLSv1_2),
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
_OF_TLS_1_3 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")

_serving = combined_options(
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

_review = combined_options(
    click.option(
        "--client-ca-file",
        type=File(),
        help="The CA for client certificates. Default: the one that the API server publishes.",
    ),
    text_flag(
        "--authentication-kubeconfig",
        "FILE",
        "The kubeconfig for TokenReviews. Default: as for all other requests.",
    ),
    text_flag(
        "--authorization-kubeconfig",
        "FILE",
        "The kubeconfig for SubjectAccessReviews. Default: as for all other requests.",
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
    files = CertificateFiles(_own(flags), flags["client_ca_file"])
    if not flags["secure_port"]:
        return None
    return ServingEndpoint(
        flags["bind_address"],
        flags["secure_port"],
        files,
        _tls_options(flags["tls_min_version"], flags["tls_cipher_suites"]),
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


def _tls_options(minimum: str, suites: Sequence[str] | None) -> TlsOptions:
    """TLS 1.3 suites are always on, as in Go. If only those are listed, the minimum is TLS 1.3."""
    if not suites:
        return TlsOptions(_VERSIONS[minimum])
    older = [suite for suite in suites if suite not in _OF_TLS_1_3]
    if not older:
        return TlsOptions(ssl.TLSVersion.TLSv1_3)
    return TlsOptions(_VERSIONS[minimum], tuple(_cipher(suite) for suite in older))


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


# --- flags without effect ------------------------------------------------------------------------


_HTTP2 = "Reprieve serves HTTP/1.1"
_PROFILING = "Reprieve has no profiling endpoints"
_LOG = "the log is always unbuffered JSON on stderr"
_METRICS = "all metrics are always exposed, with all their labels"
_PROXY = "authenticating proxies are not supported: clients need a token or a client certificate"
_VERSION = "Reprieve emulates no other versions"
_JSON = "Reprieve uses JSON"

# Why the flag has no effect, and the values that need no warning.
_IGNORED: dict[str, tuple[str, tuple[str, ...]]] = {
    "disable-http2-serving": (_HTTP2, ("true",)),
    "http2-max-streams-per-connection": (_HTTP2, ("0",)),
    "permit-address-sharing": ("the address is always shared", ("true",)),
    "profiling": (_PROFILING, ("false",)),
    "contention-profiling": (_PROFILING, ("false",)),
    "kube-api-content-type": (_JSON, ("application/json",)),
    "pod-max-in-unschedulable-pods-duration": ("it is always five minutes", ("5m", "5m0s", "300s")),
    "requestheader-client-ca-file": (_PROXY, ("",)),
    "requestheader-allowed-names": (_PROXY, ("",)),
    "requestheader-extra-headers-prefix": (_PROXY, ("",)),
    "requestheader-group-headers": (_PROXY, ("",)),
    "requestheader-uid-headers": (_PROXY, ("",)),
    "requestheader-username-headers": (_PROXY, ("",)),
    "emulated-version": (_VERSION, ()),
    "min-compatibility-version": (_VERSION, ()),
    "allow-metric-labels": (_METRICS, ("",)),
    "allow-metric-labels-manifest": (_METRICS, ("",)),
    "disabled-metrics": (_METRICS, ("",)),
    "show-hidden-metrics-for-version": (_METRICS, ("",)),
    "logging-format": (_LOG, ("json",)),
    "log-flush-frequency": (_LOG, ()),
    "log-json-info-buffer-size": (_LOG, ("0",)),
    "log-json-split-stream": (_LOG, ("false",)),
    "log-text-info-buffer-size": (_LOG, ("0",)),
    "log-text-split-stream": (_LOG, ("false",)),
    "vmodule": ("the log level is the same for all modules: use -v", ("",)),
}
_SWITCHES = frozenset(
    {
        "disable-http2-serving",
        "permit-address-sharing",
        "profiling",
        "contention-profiling",
        "log-json-split-stream",
        "log-text-split-stream",
    }
)
_REFUSED = {
    "tls-sni-cert-key": "there is one certificate for all host names: use --tls-cert-file",
    "tls-curve-preferences": "set the curves in OpenSSL's own configuration",
}
_WARNINGS = "reprieve.ignored_flags"


def _ignored_flags(command: Command) -> Command:
    """Adds them to a command; their warnings are kept in the click context."""
    ignored = [_ignored(name) for name in _IGNORED]
    refused = [
        click.option(f"--{name}", hidden=True, expose_value=False, callback=_refuse) for name in _REFUSED
    ]
    return combined_options(*ignored, *refused)(command)


def ignored_flag_warnings(ctx: click.Context) -> list[str]:
    """A warning for each flag that was given and has no effect."""
    found: list[str] = ctx.meta.get(_WARNINGS, [])
    return found


def _ignored(name: str) -> Callable[[Any], Any]:
    how: dict[str, Any] = {"hidden": True, "expose_value": False, "callback": _note}
    if name in _SWITCHES:
        return click.option(f"--{name}", is_flag=False, flag_value="true", **how)
    return click.option(f"--{name}", multiple=True, **how)


def _note(ctx: click.Context, param: click.Parameter, value: str | tuple[str, ...] | None) -> None:
    name = param.opts[0].removeprefix("--")
    why, harmless = _IGNORED[name]
    given = value if isinstance(value, tuple) else [value] if value is not None else []
    if any(each.lower() not in harmless for each in given):
        ctx.meta.setdefault(_WARNINGS, []).append(f"--{name} has no effect: {why}")


def _refuse(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        flag = param.opts[0]
        raise click.UsageError(f"{flag}: not supported: {_REFUSED[flag.removeprefix('--')]}", ctx)


scheduler_flags = combined_options(_connection, _election, _serving, _review, _own_flags, _ignored_flags)
