"""`reprieve replay`: replays a journal. Are the decisions the same, and do plans end the same way?"""

from datetime import UTC, datetime
from pathlib import Path

import click

from reprieve.assembly.journals import replay_journal
from reprieve.cli.terminal import note, say
from reprieve.model.formatting import counted
from reprieve.runtime.journal import JournalError
from reprieve.runtime.journal_replay import Headless, ReplayDifference, Replayed


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.pass_context
def replay(ctx: click.Context, directory: Path) -> None:
    """Replay the journal in DIR, and compare decisions and plan records with those that were written.

    `reprieve up --data-dir D` writes the journal D/journal. Every run is replayed with its own configuration.
    Nothing is changed.

    Exit codes: 0 if every decision and every plan record of every run is the same, 1 if one differs or no run
    can be replayed.
    """
    try:
        runs = [print_run(number, run) for number, run in enumerate(replay_journal(directory), start=1)]
    except JournalError as error:
        raise click.ClickException(str(error)) from error
    ctx.exit(0 if True in runs and False not in runs else 1)


def print_run(number: int, run: Replayed | Headless) -> bool | None:
    """Returns whether a run comes out the same; None if it cannot be replayed."""
    if isinstance(run, Headless):
        steps = counted(run.steps, "step")
        note(f"run {number}: its last {steps} cannot be replayed: the journal no longer has its beginning")
        return None
    if run.difference is None:
        found = f"{counted(run.events, 'event')}, {counted(run.decisions, 'decision')}"
        say(f"run {number}: {found}: all the same")
        return True
    say(f"run {number}: a {run.difference.what} differs, at {moment_of_difference(run.difference)}")
    say(f"  was  {text(run.difference.written)}")
    say(f"  is   {text(run.difference.replayed)}")
    return False


def moment_of_difference(difference: ReplayDifference) -> str:
    return f"{datetime.fromtimestamp(difference.at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def text(compared: bytes | None) -> str:
    return compared.decode() if compared is not None else "nothing"
