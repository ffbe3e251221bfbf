"""Which decisions does a command read: those of a journal, of a running scheduler, or of a file?"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprieve.cli.cluster_flags import ClusterFlags
from reprieve.cli.flag_values import combined_options, text_flag
from reprieve.cli.terminal import note

if TYPE_CHECKING:
    from reprieve.assembly.decision_sources import DecisionPage, DecisionServer
    from reprieve.model.json import Json

server_flags = combined_options(
    text_flag(
        "--server",
        "URL",
        "Read from a running scheduler, as in https://HOST:10259. "
        "Default: the server of the kubeconfig, if `reprieve up` runs it.",
    ),
    text_flag("--certificate-authority", "FILE", "Certificates to trust --server by.", name="authority"),
    click.option(
        "--insecure-skip-tls-verify", "insecure", is_flag=True, help="Trust any certificate of --server."
    ),
)
decision_source_flags = combined_options(
    click.option(
        "--journal",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Read the journal in DIR: of `reprieve up --data-dir D`, D/journal.",
    ),
    server_flags,
)


@dataclass(frozen=True, slots=True)
class DecisionFlags:
    """``journal``: its directory; without one, the server."""

    server: "DecisionServer"
    journal: Path | None = None


def decision_flags(cluster: ClusterFlags, flags: Mapping[str, Any]) -> DecisionFlags:
    """``flags``: the values of ``decision_source_flags``. A UsageError for two sources at once."""
    if flags["journal"] and flags["server"]:
        raise click.UsageError("--journal and --server exclude each other")
    return DecisionFlags(decision_server(cluster.kubeconfig, cluster.context, flags), flags["journal"])


def decision_server(kubeconfig: str, context: str, flags: Mapping[str, Any]) -> "DecisionServer":
    """``flags``: the values of ``server_flags``."""
    from reprieve.assembly.decision_sources import DecisionServer

    return DecisionServer(kubeconfig, context, flags["server"], flags["authority"], flags["insecure"])


def documents_of(flags: DecisionFlags) -> tuple["Json", ...]:
    """Recent decisions as a snapshot has them, the oldest first."""
    from reprieve.assembly.decision_sources import DecisionSourceError
    from reprieve.inquiry.decision_list import kept_document

    try:
        found = sorted(decisions_of(flags).decisions, key=lambda kept: kept.decision.at)
    except DecisionSourceError as error:
        raise click.ClickException(str(error)) from error
    return tuple(kept_document(kept) for kept in found)


def decisions_of(flags: DecisionFlags, after: int = 0) -> "DecisionPage":
    """Raises DecisionSourceError. Decisions that this version cannot read are a note."""
    from reprieve.assembly.decision_sources import journal_decisions, served_decisions

    if flags.journal is not None:
        return journal_decisions(flags.journal, after)
    page = asyncio.run(served_decisions(flags.server, after))
    note_unreadable(page.unreadable)
    return page


def note_unreadable(number: int) -> None:
    from reprieve.model.formatting import counted

    if number:
        note(f"{counted(number, 'decision')} cannot be read by this version of Reprieve.")
