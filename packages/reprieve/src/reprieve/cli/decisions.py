"""`reprieve decisions`: what was decided lately, for which pods, at the cost of which others?"""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from reprieve.cli.cluster_flags import ClusterFlags, expanded, objects_in, source_flags
from reprieve.cli.decision_flags import decision_flags, decision_source_flags, decisions_of, note_unreadable
from reprieve.cli.flag_values import Duration, text_flag
from reprieve.cli.terminal import (
    DOCUMENT_FORMATS,
    OLDER_FORMATS,
    format_and_version,
    note,
    output_flag,
    say,
    say_document,
    show,
)

if TYPE_CHECKING:
    from reprieve.inquiry.decision_list import DecisionFilter
    from reprieve.model.json import Json
    from reprieve.runtime.recent_decisions import KeptDecision

_EVERY = 1.0  # seconds between two looks with --watch


@click.command()
@click.option(
    "-w", "--watch", "follows", is_flag=True, help="Show new decisions as they are made, until Ctrl-C."
)
@click.option(
    "--since", type=Duration(), metavar="DURATION", help="Only the last DURATION, as in 90s or 1h30m."
)
@text_flag("--victim", "NAME", "Only decisions that preempt this pod or PodGroup.")
@text_flag("--preemptor", "NAME", "Only decisions for this pod or PodGroup.")
@text_flag("--node", "NAME", "Only decisions that make room on this node.")
@decision_source_flags
@source_flags
@output_flag("table", "wide", *DOCUMENT_FORMATS, "name", *OLDER_FORMATS)
@click.option("--no-headers", is_flag=True, help="Print no header line.")
def decisions(  # noqa: PLR0913, PLR0917  one for each flag
    cluster: ClusterFlags,
    follows: bool,
    since: float | None,
    victim: str,
    preemptor: str,
    node: str,
    output: str,
    no_headers: bool,
    **scheduler: Any,
) -> None:
    """List the decisions that preempted pods or left pods waiting, the oldest first.

    A NAME is a pod's, or NAMESPACE/NAME, podgroup/NAME or a UID. `reprieve why ID` explains one decision.

    A running scheduler remembers its last 1,000 decisions that preempt, and for 1,000 pods and groups that
    wait the latest. Its journal has all that is still on disk.
    """
    from reprieve.assembly.decision_sources import DecisionSourceError
    from reprieve.inquiry.decision_list import DecisionFilter

    if cluster.files and (scheduler["journal"] or scheduler["server"]):
        raise click.UsageError("--from, --journal and --server exclude each other")
    if follows and cluster.files:
        raise click.UsageError("--watch needs a scheduler or a journal, and not a file")
    source = decision_flags(cluster, scheduler)
    wanted = DecisionFilter(time.time() - since if since is not None else None, victim, preemptor, node)
    printer = _Printer(output, headers=not no_headers)
    try:
        if cluster.files:
            printer.show(_matching(_in_files(cluster.files), wanted), last=True)
            return
        page = decisions_of(source)
        printer.show(_matching(page.decisions, wanted), last=not follows)
        while follows:
            time.sleep(_EVERY)
            page = decisions_of(source, page.revision)
            printer.show(_matching(page.decisions, wanted))
    except DecisionSourceError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        pass  # the way to end --watch


def _in_files(files: tuple[str, ...]) -> Sequence["KeptDecision"]:
    from reprieve.inquiry.decision_list import read_decisions

    read = read_decisions(document for file in expanded(files) for document in objects_in(file).decisions)
    note_unreadable(read.unreadable)
    return read.decisions


def _matching(found: Sequence["KeptDecision"], wanted: "DecisionFilter") -> list["KeptDecision"]:
    """Sorts them as they were made; a source gives them in the order of their last change."""
    return sorted(
        (kept for kept in found if wanted.matches(kept.decision)), key=lambda kept: kept.decision.at
    )


class _Printer:
    def __init__(self, output: str, *, headers: bool) -> None:
        self._output, self._version = format_and_version(output)
        self._headers = headers

    def show(self, found: Sequence["KeptDecision"], *, last: bool = False) -> None:
        """``last``: there is no more; a list is one document then. Otherwise each decision is a line."""
        match self._output:
            case "table" | "wide":
                self._print_table(found, last=last)
            case "name":
                for kept in found:
                    say(f"decision/{kept.decision.id}")
            case "json" if not last:
                for document in self._documents(found):
                    say(json.dumps(document))
            case "json":
                say_document(self._list(found))
            case _:
                say("---")  # with --watch, one document follows another
                say_document(self._list(found), "yaml")

    def _documents(self, found: Sequence["KeptDecision"]) -> list["Json"]:
        from reprieve.inquiry.decision_list import kept_document

        return [kept_document(kept, version=self._version) for kept in found]

    def _list(self, found: Sequence["KeptDecision"]) -> "Json":
        from reprieve.inquiry.decision_list import list_document

        return list_document(self._documents(found), version=self._version)

    def _print_table(self, found: Sequence["KeptDecision"], *, last: bool) -> None:
        if not found:
            if last:
                note("No decisions found: no pod was preempted or refused, or it is no longer remembered.")
            return
        from reprieve.inquiry.decision_list import decision_table

        show(decision_table(found, header=self._headers, wide=self._output == "wide"))
        self._headers = False
