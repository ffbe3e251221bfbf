"""`reprieve scheduler`: the scheduler of a real cluster, with kube-scheduler's flags.

How scheduling works is not known here.
"""

import asyncio
import logging
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import yaml

from reprieve.assembly.daemon import Daemon, DaemonError, Wanted, daemon_of, schedule_until
from reprieve.assembly.trust import EndpointError
from reprieve.cli.config_files import config_error, document_in, with_flags
from reprieve.cli.go_flags import File, Flags, Verbosity, switch, together
from reprieve.cli.ignored_flags import ignored_flag_warnings, ignored_flags
from reprieve.cli.serving_flags import (
    endpoint_of,
    review_flags,
    review_options_of,
    serving_flag_warnings,
    serving_flags,
)
from reprieve.cli.shutdown_signals import interruption
from reprieve.cli.terminal import say
from reprieve.config import InvalidConfigurationError, ignored_gates, parse_configuration
from reprieve.config.encoding import as_document
from reprieve.runtime.logs import log_to

_log = logging.getLogger(__name__)

_ELECTION = (
    *("leaderElect", "leaseDuration", "renewDeadline", "retryPeriod"),
    *("resourceLock", "resourceName", "resourceNamespace"),
)
_RATE = ("qps", "burst")


def _print_version(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Go's flag takes --version=raw, too."""
    if value is not None and value.lower() != "false":
        say(f"reprieve {version('reprieve')}")
        ctx.exit()


connection_flags = together(
    click.option(
        "--config", "config_file", metavar="FILE", help="A KubeSchedulerConfiguration; `-` for stdin."
    ),
    click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="Default: as for kubectl, or the pod's service account.",
    ),
    click.option("--master", default="", metavar="URL", help="The API server; overrides the kubeconfig."),
    click.option("--kube-api-qps", "qps", type=float, help="Requests per second. Ignored with --config."),
    click.option("--kube-api-burst", "burst", type=int, help="Burst of requests. Ignored with --config."),
    click.option(
        "--feature-gates",
        multiple=True,
        metavar="A=true,B=false",
        help="Feature gates to enable or disable.",
    ),
)

election_flags = together(
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

own_flags = together(
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


@click.command(context_settings={"token_normalize_func": lambda name: name.replace("_", "-")})
@connection_flags
@election_flags
@serving_flags
@review_flags
@own_flags
@ignored_flags
@click.pass_context
def scheduler(ctx: click.Context, /, **flags: Any) -> None:
    """Run the scheduler of a real cluster until SIGINT or SIGTERM.

    The command line of kube-scheduler works unchanged; flags that have no effect here are logged as warnings.

    Exit codes: 0 after a signal; 1 after an error, when a restart may help; 2 if the command line or the
    configuration is invalid.
    """
    log_to(verbosity=flags["verbosity"])
    wanted = wanted_of(flags)
    try:
        document = document_of(flags)
        if flags["write_config_to"] is not None:
            return _write(document, flags["write_config_to"])
        daemon = daemon_of(document, wanted)
        for sentence in (
            *ignored_flag_warnings(ctx),
            *serving_flag_warnings(flags),
            *_warnings(flags, daemon),
        ):
            _log.warning("%s", sentence)
        asyncio.run(keep(daemon))
    except InvalidConfigurationError as error:
        raise config_error(flags["config_file"] or None, error) from error
    except (DaemonError, EndpointError) as error:
        raise click.ClickException(str(error)) from error
    except click.ClickException:
        raise
    except Exception as error:
        _log.exception("the scheduler crashed")
        raise click.ClickException("the scheduler crashed: this is a bug in Reprieve, see the log") from error


async def keep(daemon: Daemon) -> None:
    with interruption(exit_on_second=True) as interrupted:
        await schedule_until(interrupted, daemon)
    _log.info("stopped by a signal")


def wanted_of(flags: Flags) -> Wanted:
    return Wanted(
        feature_gates=",".join(flags["feature_gates"]),
        kubeconfig=flags["kubeconfig"],
        server=flags["master"],
        endpoint=endpoint_of(flags),
        authentication_kubeconfig=flags["authentication_kubeconfig"],
        authorization_kubeconfig=flags["authorization_kubeconfig"],
        review_options=review_options_of(flags),
        journal=flags["journal_dir"],
    )


def document_of(flags: Flags) -> object:
    """With --config, only the flags for leader election override the file, as in kube-scheduler."""
    document = with_flags(
        document_in(flags["config_file"] or None), "leaderElection", {key: flags[key] for key in _ELECTION}
    )
    if flags["config_file"]:
        return document
    return with_flags(document, "clientConnection", {key: flags[key] for key in _RATE})


def _warnings(flags: Flags, daemon: Daemon) -> list[str]:
    """Warnings for gates and flags that are not used."""
    gates = [
        f"feature gate {name} has no effect: it is for other components of Kubernetes"
        for name in ignored_gates(",".join(flags["feature_gates"]))
    ]
    if not flags["config_file"]:
        return gates
    given = [f"--kube-api-{key}" for key in _RATE if flags[key] is not None]
    if flags["kubeconfig"] and daemon.configured.settings.client_connection.kubeconfig:
        given.append("--kubeconfig")
    return [*gates, *(f"{flag} is ignored: the file of --config wins" for flag in given)]


def _write(document: object, file: Path) -> None:
    text = yaml.safe_dump(as_document(parse_configuration(document)), sort_keys=False)
    try:
        file.write_text(text)
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be written: {str(error.strerror).lower()}") from error
