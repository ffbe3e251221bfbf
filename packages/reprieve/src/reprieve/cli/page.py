"""`reprieve page`: the page in a browser, of a journal, of a snapshot, or of a live cluster."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import click

from reprieve.cli.cluster_flags import context_flag, kubeconfig_flag
from reprieve.cli.decision_flags import decision_server, server_flags
from reprieve.cli.shutdown_signals import interruption
from reprieve.cli.terminal import note, progress_bar, say


@click.command()
@click.argument("path", metavar="[DIR|FILE]", type=click.Path(path_type=Path), required=False)
@context_flag
@kubeconfig_flag
@click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NAME",
    help="Where kinds are listed that you may not list everywhere. Default: the namespace of the context.",
)
@server_flags
def page(path: Path | None, context: str, kubeconfig: str, namespace: str, **server: Any) -> None:
    """Show a cluster in a browser: its nodes and pods, its decisions, and their history.

    DIR has a journal: `reprieve up --data-dir D` and `reprieve scheduler --journal-dir D` write one. FILE is
    a snapshot of `reprieve snapshot save`, or a dump of kubectl. Without them the cluster of a context is
    shown as it is now, with your credentials. Nothing is changed.

    The page is served to this machine alone, until Ctrl-C. Its address has a token, which no other user of
    the machine knows.
    """
    if path is not None and (context or kubeconfig or namespace or server["server"]):
        raise click.UsageError("a recording (DIR or FILE) cannot be used with the flags of a live cluster")
    served = _recorded(path) if path is not None else _live(context, kubeconfig, namespace, server)
    asyncio.run(_keep(served))


def _recorded(path: Path) -> AbstractAsyncContextManager[str]:
    from reprieve.assembly.caller_page import RecordingError, page_of_recording, recording_in

    try:
        with progress_bar(f"reading {path}"):
            recording = recording_in(path)
    except RecordingError as error:
        raise click.ClickException(str(error)) from error
    for sentence in recording.notes:
        note(f"Note: {sentence}")
    return page_of_recording(recording)


def _live(
    context: str, kubeconfig: str, namespace: str, server: Mapping[str, Any]
) -> AbstractAsyncContextManager[str]:
    from reprieve.assembly.caller_page import page_of_context, reading_of
    from reprieve.assembly.cluster_reading import ClusterReadingError
    from reprieve.assembly.decision_sources import DecisionSourceError

    read = reading_of(decision_server(kubeconfig, context, server), namespace)
    try:
        with progress_bar("reading the cluster"):
            first = asyncio.run(read())
    except (ClusterReadingError, DecisionSourceError) as error:
        raise click.ClickException(str(error)) from error
    for sentence in first.cluster.notes:
        note(f"Note: {sentence}")
    return page_of_context(context or "the current context", first, read, note)


async def _keep(served: AbstractAsyncContextManager[str]) -> None:
    with interruption() as interrupted:
        async with served as address:
            say(f"page: {address}")
            await interrupted.wait()
