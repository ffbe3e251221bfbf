"""`reprieve down`: a cluster that is up on this machine ends, as by Ctrl-C."""

import time
from pathlib import Path

import click

from reprieve.assembly.running_clusters import RunningCluster, ask_to_stop
from reprieve.cli.status import running_clusters

PATIENCE = 30.0
_LOOK_EVERY = 0.1


@click.command()
@click.argument("pid", type=int, required=False)
@click.option(
    "--data-dir",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="The one that is kept there.",
)
@click.option("--all", "everything", is_flag=True, help="All that are up.")
def down(pid: int | None, data_dir: Path | None, *, everything: bool) -> None:
    """End the cluster that `reprieve up` keeps on this machine; name one by PID if there are several.

    What has a --data-dir is kept there, and goes on with the next `reprieve up`.
    """
    chosen = [c for c in running_clusters() if _is_meant(c, pid, data_dir)]
    if not chosen:
        raise click.ClickException("no such cluster is up: `reprieve status` shows those that are.")
    if len(chosen) > 1 and not everything:
        pids = ", ".join(str(cluster.pid) for cluster in chosen)
        raise click.UsageError(f"several clusters are up: name one of {pids}, or --all.")
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
                f"the cluster at {cluster.address} did not end: see process {cluster.pid}."
            )
        time.sleep(_LOOK_EVERY)
    click.echo(f"The cluster at {cluster.address} is down.")
