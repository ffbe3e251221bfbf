"""`reprieve status`: lists the local clusters that are running."""

import json
import time
from pathlib import Path

import click
import msgspec

from reprieve.cli.terminal import say, show
from reprieve.report.text_layout import table
from reprieve_minicluster.assembly.running_clusters import RegistryError, RunningCluster, ask_to_stop, entries


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


# --- down -----------------------------------------------------------------------------------------


PATIENCE = 30.0
_LOOK_EVERY = 0.1


@click.command()
@click.argument("pid", type=int, required=False)
@click.option(
    "--data-dir",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Stop the cluster that is stored there.",
)
@click.option("--all", "everything", is_flag=True, help="Stop all local clusters.")
def down(pid: int | None, data_dir: Path | None, *, everything: bool) -> None:
    """Stop the cluster that `reprieve up` started; give its PID if there are several.

    A cluster with a --data-dir is stored there, and the next `reprieve up` with that directory resumes it.
    """
    chosen = [c for c in running_clusters() if _is_meant(c, pid, data_dir)]
    if not chosen:
        meant = "" if pid is None and data_dir is None else " with that PID or --data-dir"
        raise click.ClickException(f"no local cluster{meant} is running: see `reprieve status`")
    if len(chosen) > 1 and not everything:
        pids = ", ".join(str(cluster.pid) for cluster in chosen)
        raise click.UsageError(f"several clusters are running: expected one of the PIDs {pids}, or --all")
    for cluster in chosen:
        _end(cluster)


def _is_meant(cluster: RunningCluster, pid: int | None, data_dir: Path | None) -> bool:
    same_place = data_dir is None or cluster.data_dir == str(data_dir.resolve())
    return same_place and pid in (None, cluster.pid)


def _end(cluster: RunningCluster) -> None:
    ask_to_stop(cluster)
    until = time.monotonic() + PATIENCE
    while cluster in running_clusters():
        if time.monotonic() > until:
            raise click.ClickException(
                f"the cluster at {cluster.address} did not stop in {PATIENCE:g} s: see process {cluster.pid}"
            )
        time.sleep(_LOOK_EVERY)
    say(f"Stopped the cluster at {cluster.address}.")
