"""Which decisions does a command read: those of a journal, of a running scheduler, or of a file?"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from reprieve.assembly.decision_sources import (
    DecisionPage,
    DecisionServer,
    DecisionSourceError,
    journal_decisions,
    served_decisions,
)
from reprieve.cli.cluster_flags import ClusterFlags
from reprieve.cli.terminal import note
from reprieve.inquiry.decision_list import kept_document
from reprieve.model.formatting import counted
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class DecisionFlags:
    """``journal``: its directory; without one, the server."""

    server: DecisionServer
    journal: Path | None = None


def decision_flags(cluster: ClusterFlags, flags: Mapping[str, Any]) -> DecisionFlags:
    """``flags``: the values of ``scheduler_flags``. A UsageError for two sources at once."""
    if flags["journal"] and flags["server"]:
        raise click.UsageError("--journal and --server exclude each other")
    server = DecisionServer(
        cluster.kubeconfig, cluster.context, flags["server"], flags["authority"], flags["insecure"]
    )
    return DecisionFlags(server, flags["journal"])


def documents_of(flags: DecisionFlags) -> tuple[Json, ...]:
    """Recent decisions as a snapshot has them, the oldest first."""
    try:
        found = sorted(decisions_of(flags).decisions, key=lambda kept: kept.decision.at)
    except DecisionSourceError as error:
        raise cannot_read(error) from error
    return tuple(kept_document(kept) for kept in found)


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
    return click.ClickException(str(error))
