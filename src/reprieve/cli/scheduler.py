"""`reprieve scheduler`: the daemon for a real cluster. Flags are spelled as kube-scheduler's.

How scheduling is done is not known here.
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
from reprieve.cli.serving_flags import endpoint_of, judging_flags, judging_of, passed_over, serving_flags
from reprieve.cli.shutdown_signals import interruption
from reprieve.config import InvalidConfigurationError, ignored_gates, parse_configuration
from reprieve.config.encoding import as_document
from reprieve.runtime.logs import log_to

_log = logging.getLogger(__name__)

_ELECTION = (
    *("leaderElect", "leaseDuration", "renewDeadline", "retryPeriod"),
    *("resourceLock", "resourceName", "resourceNamespace"),
)
_PACE = ("qps", "burst")


def _tell_version(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Go's flag takes --version=raw, too."""
    if value is not None and value.lower() != "false":
        click.echo(f"reprieve {version('reprieve')}")
        ctx.exit()


connection_flags = together(
    click.option(
        "--config", "config_file", metavar="FILE", help="A KubeSchedulerConfiguration; `-` is stdin."
    ),
    click.option("--kubeconfig", default="", metavar="FILE", help="Otherwise as kubectl finds it, or a pod."),
    click.option("--master", default="", metavar="URL", help="The server, if not that of the kubeconfig."),
    click.option("--kube-api-qps", "qps", type=float, help="Requests per second; not with --config."),
    click.option("--kube-api-burst", "burst", type=int, help="Requests at once; not with --config."),
    click.option(
        "--feature-gates",
        multiple=True,
        metavar="A=true,B=false",
        help="Features to turn on or off.",
    ),
)

election_flags = together(
    switch("--leader-elect", name="leaderElect", help="Whether replicas agree on who decides."),
    click.option(
        "--leader-elect-lease-duration",
        "leaseDuration",
        metavar="DURATION",
        help="After how long without a word another replica takes over.",
    ),
    click.option(
        "--leader-elect-renew-deadline",
        "renewDeadline",
        metavar="DURATION",
        help="After how long without success the leader stops.",
    ),
    click.option(
        "--leader-elect-retry-period",
        "retryPeriod",
        metavar="DURATION",
        help="How often the lease is renewed or asked for.",
    ),
    click.option("--leader-elect-resource-lock", "resourceLock", metavar="leases", help="No other is known."),
    click.option("--leader-elect-resource-name", "resourceName", metavar="NAME", help="The lease."),
    click.option(
        "--leader-elect-resource-namespace", "resourceNamespace", metavar="NAME", help="Where it is."
    ),
)

own_flags = together(
    click.option(
        "--journal-dir",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Where to write down all that happens, for `reprieve replay`.",
    ),
    click.option(
        "--write-config-to",
        type=File(),
        metavar="FILE",
        help="Write the configuration there, every default included, and end.",
    ),
    click.option(
        "-v",
        "--v",
        "verbosity",
        type=Verbosity(),
        default=0,
        help="How much the log tells; from 2 on every decision, from 4 on everything.",
    ),
    click.option(
        "--version",
        is_flag=False,
        flag_value="true",
        is_eager=True,
        expose_value=False,
        callback=_tell_version,
        metavar="",
        help="Show the version, and end.",
    ),
)


@click.command(context_settings={"token_normalize_func": lambda name: name.replace("_", "-")})
@connection_flags
@election_flags
@serving_flags
@judging_flags
@own_flags
@ignored_flags
@click.pass_context
def scheduler(ctx: click.Context, /, **flags: Any) -> None:
    """Schedule a real cluster, until told to end.

    The command line of kube-scheduler can be used as it is; flags that have nothing to set here are told of.

    Exit codes: 0 if it was told to end; 1 if it cannot go on, and may be started again; 2 if the command line
    or the configuration is wrong.
    """
    log_to(verbosity=flags["verbosity"])
    wanted = wanted_of(flags)
    try:
        document = document_of(flags)
        if flags["write_config_to"] is not None:
            return _write(document, flags["write_config_to"])
        daemon = daemon_of(document, wanted)
        for sentence in (*ignored_flag_warnings(ctx), *passed_over(flags), *_passed_over(flags, daemon)):
            _log.warning("%s", sentence)
        asyncio.run(keep(daemon))
    except InvalidConfigurationError as error:
        raise config_error(flags["config_file"] or None, error) from error
    except (DaemonError, EndpointError) as error:
        raise click.ClickException(f"{error}.") from error
    except click.ClickException:
        raise
    except Exception as error:
        _log.exception("scheduling ended by a mistake of ours")
        raise click.ClickException("scheduling ended by a mistake of ours; the log tells more.") from error


async def keep(daemon: Daemon) -> None:
    with interruption(at_once_if_told_twice=True) as interrupted:
        await schedule_until(interrupted, daemon)
    _log.info("ended as asked")


def wanted_of(flags: Flags) -> Wanted:
    return Wanted(
        feature_gates=",".join(flags["feature_gates"]),
        kubeconfig=flags["kubeconfig"],
        server=flags["master"],
        endpoint=endpoint_of(flags),
        who=flags["authentication_kubeconfig"],
        may=flags["authorization_kubeconfig"],
        judging=judging_of(flags),
        journal=flags["journal_dir"],
    )


def document_of(flags: Flags) -> object:
    """Of a file, only the election can be set otherwise by flags; that is how kube-scheduler does it."""
    document = with_flags(
        document_in(flags["config_file"] or None), "leaderElection", {key: flags[key] for key in _ELECTION}
    )
    if flags["config_file"]:
        return document
    return with_flags(document, "clientConnection", {key: flags[key] for key in _PACE})


def _passed_over(flags: Flags, daemon: Daemon) -> list[str]:
    """What was asked for and does not count."""
    gates = [
        f"feature gate {name} changes nothing: it is about other parts of Kubernetes"
        for name in ignored_gates(",".join(flags["feature_gates"]))
    ]
    if not flags["config_file"]:
        return gates
    given = [f"--kube-api-{key}" for key in _PACE if flags[key] is not None]
    if flags["kubeconfig"] and daemon.configured.settings.client_connection.kubeconfig:
        given.append("--kubeconfig")
    return [*gates, *(f"{flag} is not looked at: the file of --config counts" for flag in given)]


def _write(document: object, file: Path) -> None:
    text = yaml.safe_dump(as_document(parse_configuration(document)), sort_keys=False)
    try:
        file.write_text(text)
    except OSError as error:
        raise click.ClickException(f"{file} cannot be written: {error.strerror}.") from error
