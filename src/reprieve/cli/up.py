"""`reprieve up`: a cluster on this machine, for as long as the command runs.

What a cluster is, and how it is served, is not known here.
"""

import asyncio
import errno
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import click

from reprieve.assembly.mini_cluster import (
    SHAPES,
    LocalCluster,
    SnapshotError,
    StorageError,
    Up,
    UserInfo,
    cluster_up,
)
from reprieve.assembly.running_clusters import RegistryError
from reprieve.cli.screen import note
from reprieve.cli.signals import interruption
from reprieve.cli.text_files import text_of
from reprieve.cluster.api.documents import documents


@click.command()
@click.option(
    "--nodes",
    type=click.IntRange(0, 20_000),
    help="How many nodes it has: 8, or with --from none of its own.",
)
@click.option(
    "--shape",
    default="gpu8",
    show_default=True,
    metavar="|".join((*SHAPES, "FILE")),
    help="What a node is like; in FILE stand one or more Nodes, after which all are made in turn.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port; otherwise any that is free."
)
@click.option(
    "--speed",
    type=click.FloatRange(0, 1_000_000, min_open=True),
    default=1.0,
    show_default=True,
    help="Grace periods, starts and job durations pass that much faster.",
)
@click.option(
    "--scheduler",
    type=click.Choice(["reprieve", "none"]),
    default="reprieve",
    show_default=True,
    help="Who schedules; with none you can bring your own.",
)
@click.option(
    "--data-dir",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the cluster and the journal of its scheduler are kept; a cluster that is there goes on. "
    "Otherwise it is in memory.",
)
@click.option(
    "--from",
    "snapshot",
    metavar="SNAPSHOT",
    help="A file with objects of another cluster, with which it begins; `-` is stdin.",
)
@click.option(
    "--user",
    "users",
    multiple=True,
    metavar="NAME[:GROUP,…]",
    help="Somebody who gets a context of that name in the kubeconfig, and no rights but what roles give.",
)
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
) -> None:
    """Start a cluster on this machine that kubectl can use, and keep it until Ctrl-C.

    Pods start, run, drain and end as on real nodes, but nothing is executed. Without --data-dir everything is
    in memory, and gone when the command ends.
    """
    templates = node_templates(shape)
    count = nodes if nodes is not None else 0 if snapshot else 8
    with tempfile.TemporaryDirectory(prefix="reprieve-") as directory:
        wanted = LocalCluster(
            templates,
            count,
            (data_dir or Path(directory)).absolute() / "kubeconfig",
            host,
            port,
            speed,
            data_dir,
            text_of(snapshot) if snapshot else "",
            [_user(text) for text in users],
        )
        try:
            asyncio.run(keep(wanted, scheduled=scheduler == "reprieve"))
        except OSError as error:
            raise click.ClickException(unavailable(error, host, port)) from error
        except RegistryError as error:
            raise click.ClickException(f"{error}.") from error
        except StorageError as error:
            raise click.ClickException(f"--data-dir: {error}.") from error
        except SnapshotError as error:
            raise click.ClickException(f"{snapshot}: {error}") from error
        except ValueError as error:
            raise click.ClickException(f"{shape}: {error}") from error


def _user(text: str) -> UserInfo:
    name, _, groups = text.partition(":")
    if not name:
        raise click.BadParameter(f"expected NAME or NAME:GROUP,…, got {text!r}", param_hint="--user")
    return UserInfo(name, tuple(filter(None, groups.split(","))))


def node_templates(shape: str) -> list[dict[str, Any]]:
    if shape in SHAPES:
        return [SHAPES[shape]]
    if not Path(shape).exists():
        raise click.BadParameter(
            f"expected one of {', '.join(SHAPES)} or a file, got {shape!r}", param_hint="--shape"
        )
    found = list(documents(text_of(shape)))
    if not found:
        raise click.ClickException(f"{shape}: expected one Node or more in YAML or JSON")
    return [_template(shape, node) for node in found]


def _template(shape: str, node: object) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise click.ClickException(f"{shape}: expected one Node or more in YAML or JSON")
    if node.get("kind") != "Node":
        raise click.ClickException(f"{shape}: kind: expected Node")
    return node


async def keep(wanted: LocalCluster, *, scheduled: bool) -> None:
    with interruption() as interrupted:
        async with cluster_up(wanted, note, scheduled=scheduled) as cluster:
            welcome(wanted.kubeconfig, cluster)
            await interrupted.wait()
    note("The cluster is gone." if wanted.data_dir is None else f"The cluster is kept in {wanted.data_dir}.")


def welcome(kubeconfig: Path, cluster: Up) -> None:
    count = f"{cluster.nodes} node{'' if cluster.nodes == 1 else 's'}"
    click.echo(f"A cluster with {count} is up at {cluster.address} until Ctrl-C. Its kubeconfig:")
    click.echo(f"\n  {kubeconfig}\n")
    click.echo("Try, in another terminal:\n")
    click.echo(f"  kubectl --kubeconfig {kubeconfig} get nodes\n")
    if cluster.left_out:
        kinds = ", ".join(f"{kind} ({number})" for kind, number in sorted(cluster.left_out.items()))
        note(f"Left out, since this cluster has no such kinds: {kinds}.")


def unavailable(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: choose another with --port."
    if isinstance(error, socket.gaierror):
        return f"--host: {host} cannot be found: {str(error.strerror).lower()}."
    reason = os.strerror(error.errno).lower() if error.errno is not None else str(error)
    return f"port {port} of {host} cannot be used: {reason}."
