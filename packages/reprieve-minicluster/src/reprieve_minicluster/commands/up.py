"""`reprieve up`: a local cluster, for as long as the command runs."""

import asyncio
import errno
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path

import click

from reprieve.cli.config import config_error, document_in, show_warnings
from reprieve.cli.flag_values import FiniteRange
from reprieve.cli.input_files import SHAPES, node_templates, text_of
from reprieve.cli.shutdown_signals import interruption
from reprieve.cli.terminal import note, progress_bar, say
from reprieve.config import Configuration, InvalidConfigurationError, parse_configuration
from reprieve.model.formatting import quoted
from reprieve.runtime.logs import log_as_text
from reprieve_minicluster.assembly.mini_cluster import (
    DEFAULT_SCHEDULER,
    FreeNode,
    LocalCluster,
    SnapshotError,
    StorageError,
    Up,
    UserInfo,
    cluster_up,
    selected_controllers,
    usual_configuration,
)
from reprieve_minicluster.assembly.running_clusters import RegistryError
from reprieve_minicluster.assembly.up_page import PictureFeed, page_of_up


@click.command()
@click.option(
    "--nodes",
    type=click.IntRange(0, 20_000),
    help="Number of nodes to create. Default: 8, or 0 with --from.",
)
@click.option(
    "--shape",
    default="gpu8",
    show_default=True,
    metavar="|".join((*SHAPES, "FILE")),
    help="The node template. A FILE has one or more Node templates, used round-robin.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on. Default: any free port."
)
@click.option(
    "--speed",
    type=FiniteRange(0, 1_000_000, min_open=True),
    default=1.0,
    show_default=True,
    help="Speed up container starts, job durations and grace periods by this factor.",
)
@click.option(
    "--scheduler",
    type=click.Choice(["reprieve", "none"]),
    default="reprieve",
    show_default=True,
    help="The scheduler to run; with none, run your own against the kubeconfig.",
)
@click.option(
    "--data-dir",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Store the cluster and the scheduler's journal here; resume the cluster that is stored here. "
    "Default: memory only.",
)
@click.option(
    "--from",
    "snapshot",
    metavar="SNAPSHOT",
    help="A file with objects of another cluster to start with; `-` for stdin.",
)
@click.option(
    "--user",
    "users",
    multiple=True,
    metavar="NAME[:GROUP,…]",
    help="Add a user, and a context of that name to the kubeconfig. Its permissions are those of its roles.",
)
@click.option(
    "--feature-gates",
    "gates",
    multiple=True,
    metavar="A=true,B=false",
    help="Feature gates of the API server and the scheduler. All are on that are not named here.",
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    help="A KubeSchedulerConfiguration for the scheduler. Default: its defaults, for the scheduler names "
    "reprieve and default-scheduler.",
)
@click.option(
    "--job-seconds",
    type=FiniteRange(0),
    default=30.0,
    show_default=True,
    help="How long a pod of a Job runs whose annotation reprieve.dev/run-seconds does not say; "
    "--speed applies.",
)
@click.option(
    "--controllers",
    default="*",
    show_default=True,
    metavar="*|none|NAME,-NAME,…",
    help="The controllers to run, by the names that kube-controller-manager has for them: * for all, NAME to "
    "add and -NAME to leave one out. Use it to run your own beside.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log every decision to stderr.")
def up(  # noqa: PLR0913, PLR0917  one for each flag
    nodes: int | None,
    shape: str,
    host: str,
    port: int,
    speed: float,
    scheduler: str,
    data_dir: Path | None,
    snapshot: str | None,
    users: tuple[str, ...],
    gates: tuple[str, ...],
    config_file: str | None,
    job_seconds: float,
    controllers: str,
    verbose: bool,
) -> None:
    """Start a local cluster that kubectl can use, and run it until Ctrl-C.

    Nodes are simulated: pods start, run, terminate and end as on real nodes, but no container is executed.
    Without --data-dir the cluster is in memory only, and lost when the command ends.

    The scheduler's metrics are at /metrics of the API server: `kubectl get --raw /metrics`.
    """
    log_as_text(decisions=verbose)
    templates = node_templates(shape)
    count = nodes if nodes is not None else 0 if snapshot else 8
    configured = _configuration(config_file)
    with _home(data_dir) as home, progress_bar(f"restoring {snapshot}") as bar:
        wanted = LocalCluster(
            templates,
            count,
            home.absolute() / "kubeconfig",
            host,
            port,
            speed,
            data_dir,
            text_of(snapshot) if snapshot else "",
            [_user(text) for text in users],
            job_seconds=job_seconds,
            controllers=_controllers(controllers),
            progress=bar.show,
        )

        def started(cluster: Up, page: str) -> None:
            bar.close()
            welcome(wanted.kubeconfig, cluster, configured if scheduler == "reprieve" else None, page)

        if not snapshot:
            bar.close()
        with _errors(host, port, shape, snapshot):
            asyncio.run(
                keep(
                    wanted,
                    configured,
                    started,
                    scheduled=scheduler == "reprieve",
                    feature_gates=",".join(gates),
                )
            )


@contextmanager
def _errors(host: str, port: int, shape: str, snapshot: str | None) -> Iterator[None]:
    """What can go wrong, in one sentence that names the flag or the file."""
    try:
        yield
    except InvalidConfigurationError as error:
        raise config_error(None, error) from error
    except OSError as error:
        raise click.ClickException(unavailable(error, host, port)) from error
    except RegistryError as error:
        raise click.ClickException(str(error)) from error
    except StorageError as error:
        raise click.ClickException(f"--data-dir: {error}") from error
    except SnapshotError as error:
        raise click.ClickException(f"{snapshot}: {error}") from error
    except ValueError as error:
        raise click.ClickException(f"{shape}: {error}") from error


@contextmanager
def _home(data_dir: Path | None) -> Iterator[Path]:
    """The directory of the kubeconfig. A cluster with a data directory needs no room anywhere else."""
    if data_dir is not None:
        yield data_dir
        return
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-") as directory,
        removed_if_killed(Path(directory)),
    ):
        yield Path(directory)


def _configuration(file: str | None) -> Configuration:
    if file is None:
        return usual_configuration()
    try:
        configured = parse_configuration(document_in(file))
    except InvalidConfigurationError as error:
        raise config_error(file, error) from error
    show_warnings(file, configured)
    names = [profile.scheduler_name for profile in configured.profiles]
    if DEFAULT_SCHEDULER not in names:
        note(
            f"Warning: {file}: no profile is for {DEFAULT_SCHEDULER}: "
            "pods without a schedulerName stay pending"
        )
    return configured


def _controllers(text: str) -> frozenset[str]:
    try:
        return selected_controllers(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--controllers") from error


def _user(text: str) -> UserInfo:
    name, _, groups = text.partition(":")
    if not name:
        raise click.BadParameter(f"expected NAME or NAME:GROUP,…, got {quoted(text)}", param_hint="--user")
    return UserInfo(name, tuple(filter(None, groups.split(","))))


async def keep(
    wanted: LocalCluster,
    configured: Configuration,
    started: Callable[[Up, str], None],
    *,
    scheduled: bool,
    feature_gates: str = "",
) -> None:
    feed = PictureFeed() if scheduled else None
    with interruption() as interrupted:
        async with AsyncExitStack() as stack:
            cluster = await stack.enter_async_context(
                cluster_up(
                    wanted, note, configured, scheduled=scheduled, feature_gates=feature_gates, feed=feed
                )
            )
            page = (
                await stack.enter_async_context(page_of_up(cluster, feed, configured, wanted))
                if feed is not None
                else ""
            )
            started(cluster, page)
            await interrupted.wait()
    note(
        "The cluster has stopped."
        if wanted.data_dir is None
        else f"The cluster is stored in {wanted.data_dir}."
    )


def welcome(kubeconfig: Path, cluster: Up, configured: Configuration | None, page: str = "") -> None:
    """``configured``: of its scheduler, if it has one. ``page``: its address; empty if there is none."""
    count = f"{cluster.nodes} node{'' if cluster.nodes == 1 else 's'}"
    say(f"A cluster with {count} is running at {cluster.address} until Ctrl-C. In another terminal:")
    say(f"\n  export KUBECONFIG={shlex.quote(str(kubeconfig))}")
    say("  kubectl get nodes\n")
    if configured is not None and cluster.free is not None:
        file = kubeconfig.with_name(FILE)
        names = [profile.scheduler_name for profile in configured.profiles]
        scheduler = DEFAULT_SCHEDULER if DEFAULT_SCHEDULER in names else names[0]
        with suppress(OSError):  # the disk is full: there is no example
            file.write_text(example_objects(cluster.free, scheduler))
            preempt, explain = example_commands(file)
            say("A preemption, and why it happened:\n")
            say(f"  {preempt}\n  {explain}\n")
    elif configured is not None and cluster.nodes:
        say(f"Which pods can be preempted:\n\n  {own_command()} exposure -A\n")
    if page:
        say(f"page: {page}")
    if cluster.left_out:
        kinds = ", ".join(f"{kind} ({number})" for kind, number in sorted(cluster.left_out.items()))
        note(f"Skipped objects of kinds that this cluster does not have: {kinds}.")


def unavailable(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"--port: {port} of {host} is in use: choose another"
    if isinstance(error, socket.gaierror):
        return f"--host: {host} cannot be resolved: {str(error.strerror).lower()}"
    reason = os.strerror(error.errno).lower() if error.errno is not None else str(error)
    return f"--port: cannot listen on {port} of {host}: {reason}"


# --- the example ----------------------------------------------------------------------------------


FILE = "example.yaml"
_SHARE = 0.6  # of the node: there is room for one of the two pods, and not for both
_OBJECTS = """\
# Two pods that do not fit on {node} together. The victim has its node already: it runs there before the
# urgent pod is scheduled.
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: urgent}}
value: 1000
description: For pods that may preempt those without a priority class.
---
apiVersion: v1
kind: Pod
metadata: {{name: batch}}
spec:
  nodeName: {node}
  containers:
  - name: main
    image: example/batch:1
    resources: {{requests: {{cpu: {cpu}m}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: urgent}}
spec:
  schedulerName: {scheduler}
  priorityClassName: urgent
  nodeSelector: {{kubernetes.io/hostname: {node}}}
  containers:
  - name: main
    image: example/urgent:1
    resources: {{requests: {{cpu: {cpu}m}}}}
"""


def example_objects(free: FreeNode, scheduler: str) -> str:
    """``scheduler``: the name by which pods ask for the cluster's scheduler."""
    return _OBJECTS.format(node=free.name, cpu=int(free.milli_cpu * _SHARE), scheduler=scheduler)


def example_commands(file: Path) -> tuple[str, ...]:
    """The command that causes a preemption, and the one that explains it."""
    return f"kubectl apply -f {shlex.quote(str(file))}", f"{own_command()} why pod/batch"


def own_command() -> str:
    """`reprieve`, or the path by which it was started if the shell would not find it."""
    return "reprieve" if shutil.which("reprieve") else shlex.quote(sys.argv[0])


_WAIT_AND_REMOVE = 'cat > /dev/null; rm -rf -- "$1"'


@contextmanager
def removed_if_killed(directory: Path) -> Iterator[None]:
    """A shell removes the directory, with the token in it, if this process is killed and cannot.

    The shell waits for the end of a pipe that only this process holds open: it closes however the process
    ends. It has a session of its own, so that Ctrl-C does not end it. A system without a shell does without.
    """
    try:
        keeper = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT_AND_REMOVE, "reprieve", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        yield
        return
    with keeper:  # closes the pipe, and waits until the directory is gone
        yield
