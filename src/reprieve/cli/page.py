"""`reprieve page`: the page in a browser, of a journal, of a snapshot, or of a live cluster.

How it is made and served is not known here.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import click

from reprieve.cli.progress import progress_bar
from reprieve.cli.shutdown_signals import interruption
from reprieve.cli.terminal import note, say


@click.command()
@click.argument("path", metavar="DIR|FILE", type=click.Path(path_type=Path))
def page(path: Path) -> None:
    """Show a recorded cluster in a browser: its nodes and pods, its decisions, and their history.

    DIR has a journal: `reprieve up --data-dir D` and `reprieve scheduler --journal D` write one. FILE is a
    snapshot of `reprieve snapshot save`, or a dump of kubectl. Nothing is changed. The page is served to this
    machine alone, until Ctrl-C; its address has a token, which no other user of the machine knows.
    """
    from reprieve.assembly.offline_page import RecordingError, page_of_recording, recording_in

    try:
        with progress_bar(f"reading {path}"):
            recording = recording_in(path)
    except RecordingError as error:
        raise click.ClickException(str(error)) from error
    for sentence in recording.notes:
        note(f"Note: {sentence}")
    asyncio.run(_keep(page_of_recording(recording)))


async def _keep(served: AbstractAsyncContextManager[str]) -> None:
    with interruption() as interrupted:
        async with served as address:
            say(f"page: {address}")
            await interrupted.wait()
