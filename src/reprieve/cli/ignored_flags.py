"""Flags of kube-scheduler that have no effect here.

They are accepted, so that kube-scheduler's command lines work unchanged, with a warning unless the value asks
for what Reprieve does anyway. A few are rejected: ignoring them would break what their user relies on.
"""

from collections.abc import Callable
from typing import Any

import click

from reprieve.cli.go_flags import Command, together

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


def ignored_flags(command: Command) -> Command:
    """Adds them to a command; their warnings are kept in the click context."""
    ignored = [_ignored(name) for name in _IGNORED]
    refused = [
        click.option(f"--{name}", hidden=True, expose_value=False, callback=_refuse) for name in _REFUSED
    ]
    return together(*ignored, *refused)(command)


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
