"""Flags of kube-scheduler that have nothing to set here.

They are accepted, so that its command line can be used as it is, and told of, unless what they ask for is so
anyway. A few are refused: who gives them relies on what is not done.
"""

from collections.abc import Callable
from typing import Any

import click

from reprieve.cli.go_flags import Command, together

_HTTP2 = "pages are served by HTTP/1.1"
_PROFILING = "there is no profiling"
_FORM = "the log is always JSON, a line for each thing worth telling, at once and on stderr"
_METRICS = "all metrics are always shown, with all their labels"
_PROXY = "who speaks for others, in headers, is not believed: they are asked for a token or a certificate"
_VERSION = "Reprieve is of one version, and has no others to act as"
_JSON = "Reprieve speaks JSON"

# Why they change nothing, and the values with which that is just as well.
_IDLE: dict[str, tuple[str, tuple[str, ...]]] = {
    "disable-http2-serving": (_HTTP2, ("true",)),
    "http2-max-streams-per-connection": (_HTTP2, ("0",)),
    "permit-address-sharing": ("it is always so", ("true",)),
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
    "logging-format": (_FORM, ("json",)),
    "log-flush-frequency": (_FORM, ()),
    "log-json-info-buffer-size": (_FORM, ("0",)),
    "log-json-split-stream": (_FORM, ("false",)),
    "log-text-info-buffer-size": (_FORM, ("0",)),
    "log-text-split-stream": (_FORM, ("false",)),
    "vmodule": ("how much the log tells is set by -v, for all of it", ("",)),
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
    "tls-sni-cert-key": "there is one certificate for all names: give it with --tls-cert-file",
    "tls-curve-preferences": "which curves are used is for OpenSSL to say, in its own configuration",
}
_TOLD = "reprieve.idle_flags"


def ignored_flags(command: Command) -> Command:
    """Adds them; what is to be told of them is kept in the context."""
    told = [_idle(name) for name in _IDLE]
    refused = [
        click.option(f"--{name}", hidden=True, expose_value=False, callback=_refuse) for name in _REFUSED
    ]
    return together(*told, *refused)(command)


def ignored_flag_warnings(ctx: click.Context) -> list[str]:
    """A sentence for each flag that was given and changes nothing."""
    found: list[str] = ctx.meta.get(_TOLD, [])
    return found


def _idle(name: str) -> Callable[[Any], Any]:
    how: dict[str, Any] = {"hidden": True, "expose_value": False, "callback": _note}
    if name in _SWITCHES:
        return click.option(f"--{name}", is_flag=False, flag_value="true", **how)
    return click.option(f"--{name}", multiple=True, **how)


def _note(ctx: click.Context, param: click.Parameter, value: str | tuple[str, ...] | None) -> None:
    name = param.opts[0].removeprefix("--")
    why, welcome = _IDLE[name]
    given = value if isinstance(value, tuple) else [value] if value is not None else []
    if any(each.lower() not in welcome for each in given):
        ctx.meta.setdefault(_TOLD, []).append(f"--{name} changes nothing: {why}")


def _refuse(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        flag = param.opts[0]
        raise click.UsageError(f"{flag} is not supported: {_REFUSED[flag.removeprefix('--')]}", ctx)
