"""`reprieve status`: lists the local clusters that are running."""

import json
import time

import click
import msgspec

from reprieve.assembly.running_clusters import RegistryError, RunningCluster, entries
from reprieve.cli.terminal import say, show
from reprieve.report.text_layout import table


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    help="Output format.",
)
def status(output: str) -> None:
    """List the clusters that `reprieve up` runs on this machine."""
    found = running_clusters()
    if output == "json":
        say(json.dumps([msgspec.to_builtins(cluster) for cluster in found], indent=2))
    elif not found:
        say("No cluster is running: start one with `reprieve up`.")
    else:
        heads = ("ADDRESS", "PID", "AGE", "DATA", "KUBECONFIG")
        show(table(heads, [_row(cluster, time.time()) for cluster in found]))


def running_clusters() -> list[RunningCluster]:
    try:
        return entries()
    except RegistryError as error:
        raise click.ClickException(str(error)) from error


def _row(cluster: RunningCluster, now: float) -> tuple[str, ...]:
    age = f"{max(0, round((now - cluster.started) / 60))}m"
    return cluster.address, str(cluster.pid), age, cluster.data_dir or "memory", cluster.kubeconfig
