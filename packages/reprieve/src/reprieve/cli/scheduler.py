"""`reprieve scheduler`: the scheduler of a real cluster, with kube-scheduler's flags."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import click
import yaml

from reprieve.assembly.daemon import Daemon, DaemonError, DaemonOptions, assemble_daemon, schedule_until
from reprieve.assembly.trust import EndpointError
from reprieve.cli.config import config_error, document_in, with_flags
from reprieve.cli.flag_values import Flags
from reprieve.cli.scheduler_flags import (
    endpoint_of,
    ignored_flag_warnings,
    review_options_of,
    scheduler_flags,
    serving_flag_warnings,
)
from reprieve.cli.shutdown_signals import interruption
from reprieve.config import InvalidConfigurationError, ignored_gates, parse_configuration
from reprieve.config.parsing import as_document
from reprieve.runtime.logs import log_to

_log = logging.getLogger(__name__)

_ELECTION = (
    *("leaderElect", "leaseDuration", "renewDeadline", "retryPeriod"),
    *("resourceLock", "resourceName", "resourceNamespace"),
)
_RATE = ("qps", "burst")


@click.command(context_settings={"token_normalize_func": lambda name: name.replace("_", "-")})
@scheduler_flags
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
        document = configuration_document(flags)
        if flags["write_config_to"] is not None:
            return _write(document, flags["write_config_to"])
        daemon = assemble_daemon(document, wanted)
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


def wanted_of(flags: Flags) -> DaemonOptions:
    return DaemonOptions(
        feature_gates=",".join(flags["feature_gates"]),
        kubeconfig=flags["kubeconfig"],
        server=flags["master"],
        endpoint=endpoint_of(flags),
        authentication_kubeconfig=flags["authentication_kubeconfig"],
        authorization_kubeconfig=flags["authorization_kubeconfig"],
        review_options=review_options_of(flags),
        journal=flags["journal_dir"],
    )


def configuration_document(flags: Flags) -> object:
    """Only the flags for leader election override a file of --config, as in kube-scheduler."""
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
