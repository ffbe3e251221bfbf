"""Which decisions does a command read: those of a journal, of a running scheduler, or of a file?"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import click

from reprieve.assembly.decision_sources import (
    DecisionPage,
    DecisionServer,
    DecisionSourceError,
    journal_decisions,
    served_decisions,
)
from reprieve.cli.go_flags import together
from reprieve.cli.terminal import note
from reprieve.model.formatting import counted


@dataclass(frozen=True, slots=True)
class DecisionFlags:
    """``journal``: its directory; without one, the server."""

    server: DecisionServer
    journal: Path | None = None


scheduler_flags = together(
    click.option(
        "--journal",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Read the journal in DIR: of `reprieve up --data-dir D`, D/journal.",
    ),
    click.option(
        "--server",
        default="",
        metavar="URL",
        help="Read from a running scheduler, as in https://HOST:10259. "
        "Default: the server of the kubeconfig, if `reprieve up` runs it.",
    ),
    click.option(
        "--certificate-authority",
        "authority",
        default="",
        metavar="FILE",
        help="Certificates to trust --server by.",
    ),
    click.option(
        "--insecure-skip-tls-verify", "insecure", is_flag=True, help="Trust any certificate of --server."
    ),
)


def decisions_of(flags: DecisionFlags, after: int = 0) -> DecisionPage:
    """Raises DecisionSourceError. Decisions that this version cannot read are a note."""
    if flags.journal is not None:
        return journal_decisions(flags.journal, after)
    page = asyncio.run(served_decisions(flags.server, after))
    note_unreadable(page.unreadable)
    return page


def note_unreadable(number: int) -> None:
    if number:
        note(f"{counted(number, 'decision')} cannot be read by this version of Reprieve.")


def cannot_read(error: DecisionSourceError) -> click.ClickException:
    return click.ClickException(f"{error}.")
