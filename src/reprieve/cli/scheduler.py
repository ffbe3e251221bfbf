"""`reprieve scheduler`: the daemon for a real cluster. Flags are spelled as kube-scheduler's.

How scheduling is done is not known here.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any

import click

from reprieve.assembly.daemon import Daemon, DaemonError, daemon_of, schedule_until
from reprieve.assembly.endpoints import Endpoint, EndpointError
from reprieve.cli.configuring import document_in, with_election, wrong
from reprieve.cli.signals import interruption
from reprieve.config import InvalidConfigurationError
from reprieve.runtime.logs import log_to

_log = logging.getLogger(__name__)

_FILE = click.Path(path_type=Path, dir_okay=False)


class Verbosity(click.ParamType[int]):
    """Go's flags take -v=2 as well as -v 2."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).removeprefix("=")
        if not text.isascii() or not text.isdigit():
            self.fail(f"expected a number, got {text!r}", param, ctx)
        return int(text)


@click.command()
@click.option("--config", "config_file", metavar="FILE", help="A KubeSchedulerConfiguration; `-` is stdin.")
@click.option("--kubeconfig", default="", metavar="FILE", help="Otherwise as kubectl finds it, or a pod.")
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Features to turn on or off.")
@click.option(
    "--leader-elect",
    "leaderElect",
    type=bool,
    is_flag=False,
    flag_value=True,
    metavar="BOOL",
    help="Whether replicas agree on who decides.",
)
@click.option(
    "--leader-elect-lease-duration",
    "leaseDuration",
    metavar="DURATION",
    help="After how long without a word another replica takes over.",
)
@click.option(
    "--leader-elect-renew-deadline",
    "renewDeadline",
    metavar="DURATION",
    help="After how long without success the leader stops.",
)
@click.option(
    "--leader-elect-retry-period",
    "retryPeriod",
    metavar="DURATION",
    help="How often the lease is renewed or asked for.",
)
@click.option("--leader-elect-resource-lock", "resourceLock", metavar="leases", help="No other is known.")
@click.option("--leader-elect-resource-name", "resourceName", metavar="NAME", help="The lease.")
@click.option("--leader-elect-resource-namespace", "resourceNamespace", metavar="NAME", help="Where it is.")
@click.option(
    "--secure-port",
    type=click.IntRange(0, 65535),
    default=10259,
    show_default=True,
    help="Where probes and metrics are served over HTTPS; 0: nowhere.",
)
@click.option("--bind-address", default="0.0.0.0", show_default=True, help="The address of that port.")
@click.option("--tls-cert-file", type=_FILE, help="Its certificate; without one, it makes its own.")
@click.option("--tls-private-key-file", type=_FILE, help="The key of that certificate.")
@click.option(
    "--journal-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where to write down all that happens, for `reprieve replay`.",
)
@click.option(
    "-v",
    "--v",
    "verbosity",
    type=Verbosity(),
    default=0,
    help="How much the log tells; from 2 on every decision, from 4 on everything.",
)
def scheduler(  # noqa: PLR0913, PLR0917  one for each flag
    config_file: str | None,
    kubeconfig: str,
    feature_gates: str,
    secure_port: int,
    bind_address: str,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    journal_dir: Path | None,
    verbosity: int,
    **election: Any,
) -> None:
    """Schedule a real cluster, until told to end.

    Exit codes: 0 if it was told to end; 1 if it cannot go on, and may be started again; 2 if the command line
    or the configuration is wrong.
    """
    log_to(verbosity=verbosity)
    if (tls_cert_file is None) != (tls_private_key_file is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file: expected both or none")
    endpoint = (
        Endpoint(bind_address, secure_port, tls_cert_file, tls_private_key_file) if secure_port else None
    )
    document = with_election(document_in(config_file), election)
    try:
        daemon = daemon_of(document, feature_gates, kubeconfig, endpoint, journal_dir)
        asyncio.run(keep(daemon))
    except InvalidConfigurationError as error:
        raise wrong(config_file, error) from error
    except (DaemonError, EndpointError) as error:
        raise click.ClickException(f"{error}.") from error
    except Exception as error:
        _log.exception("scheduling ended by a mistake of ours")
        raise click.ClickException("scheduling ended by a mistake of ours; the log tells more.") from error


async def keep(daemon: Daemon) -> None:
    with interruption(at_once_if_told_twice=True) as interrupted:
        await schedule_until(interrupted, daemon)
    _log.info("ended as asked")
