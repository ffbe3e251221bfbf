"""`reprieve replay`: replays the journal of a scheduler. Does it decide the same, and do plans end the same?

How a journal is written, and how it is replayed, is not known here.
"""

from datetime import UTC, datetime
from pathlib import Path

import click

from reprieve.assembly.journals import replayed
from reprieve.cli.screen import note
from reprieve.model.words import counted
from reprieve.runtime.journal import Headless, JournalError, ReplayDifference, Replayed


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.pass_context
def replay(ctx: click.Context, directory: Path) -> None:
    """Repeat what a scheduler wrote down in DIR, and see whether it decides the same.

    `reprieve up --data-dir D` writes to D/journal. Every run is repeated as it was configured. Nothing is
    changed anywhere.

    The exit status is 0 if every decision and every plan record of every run is the same, 1 if one differs or
    no run can be replayed.
    """
    try:
        runs = [told(number, run) for number, run in enumerate(replayed(directory), start=1)]
    except JournalError as error:
        raise click.ClickException(f"{error}.") from error
    ctx.exit(0 if True in runs and False not in runs else 1)


def told(number: int, run: Replayed | Headless) -> bool | None:
    """Whether a run comes out the same; None if it cannot be replayed."""
    if isinstance(run, Headless):
        steps = counted(run.steps, "step")
        note(f"run {number}: its last {steps} cannot be repeated: its beginning is not kept any more")
        return None
    if run.difference is None:
        found = f"{counted(run.events, 'event')}, {counted(run.decisions, 'decision')}"
        click.echo(f"run {number}: {found}: all the same")
        return True
    click.echo(f"run {number}: a {run.difference.what} differs, of {moment(run.difference)}")
    click.echo(f"  was  {text(run.difference.written)}")
    click.echo(f"  is   {text(run.difference.replayed)}")
    return False


def moment(difference: ReplayDifference) -> str:
    return f"{datetime.fromtimestamp(difference.at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def text(compared: bytes | None) -> str:
    return compared.decode() if compared is not None else "nothing"
