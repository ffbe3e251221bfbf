"""`reprieve why`: which preemptor, why this victim, what was spared; or why it still waits."""

import re
import time
from typing import TYPE_CHECKING, Any

import click

from reprieve.cli.cluster_flags import ClusterFlags, cluster_flags, cluster_of, object_named
from reprieve.cli.decision_flags import (
    DecisionFlags,
    decision_flags,
    decision_source_flags,
    decisions_of,
    note_unreadable,
)
from reprieve.cli.terminal import (
    DOCUMENT_FORMATS,
    OLDER_FORMATS,
    format_and_version,
    note,
    output_flag,
    progress_bar,
    say_document,
    show,
)

if TYPE_CHECKING:
    from reprieve.inquiry.cluster_objects import ClusterObjects
    from reprieve.inquiry.why import WhyReport
    from reprieve.runtime.recent_decisions import KeptDecision

_DECISION = re.compile(r"(?:decision/)?(?P<id>d-[0-9a-f]+)")


@click.command()
@click.argument("asked", metavar="pod/NAME | podgroup/NAME | compositepodgroup/NAME | DECISION-ID")
@decision_source_flags
@output_flag("text", *DOCUMENT_FORMATS, *OLDER_FORMATS)
@cluster_flags
def why(
    asked: str,
    cluster: ClusterFlags,
    output: str,
    **scheduler: Any,
) -> None:
    """Explain why a pod or group was preempted, or why it still waits; or one decision in full.

    It answers after the pod is gone, from the decisions that the scheduler remembers (`reprieve decisions`
    lists them) or, where Reprieve does not run, from events and conditions. Each statement names its source.
    For a pod that waits, it searches what would let it run. The cluster is only read.

    Exit codes: 0 if there is an answer, 1 if nothing is known of the object or of the decision.
    """
    from reprieve.inquiry.why import UnknownObjectError

    source = decision_flags(cluster, scheduler)
    try:
        found = _answer(asked, cluster, source)
    except UnknownObjectError as error:
        raise click.ClickException(str(error)) from error
    _print(found, output)


def _answer(asked: str, cluster: ClusterFlags, source: DecisionFlags) -> "WhyReport":
    from reprieve.cli.policy_choice import chosen_settings, policy_choice
    from reprieve.inquiry.decoded_cluster import decoded
    from reprieve.inquiry.trials import Asking
    from reprieve.inquiry.why import Evidence
    from reprieve.inquiry.why_answers import why_decision, why_object

    match = _DECISION.fullmatch(asked)
    if match is not None:
        return why_decision(match["id"], _decisions(source, cluster, None, needed=True))
    name = object_named(asked, cluster)
    read = _cluster(cluster, source)
    known = decoded(read)
    for sentence in known.notes:
        note(f"Note: {sentence}")
    evidence = Evidence(known, _decisions(source, cluster, read, needed=False), read.taken_at or time.time())
    chosen = chosen_settings(policy_choice(cluster.policy, cluster.feature_gates), known)
    with progress_bar("trying what would help"):
        return why_object(name, evidence, Asking(chosen.settings, chosen.policy))


def _cluster(flags: ClusterFlags, source: DecisionFlags) -> "ClusterObjects":
    """A cluster that cannot be read is no obstacle with a journal: a victim is gone anyway."""
    from reprieve.inquiry.cluster_objects import ClusterObjects

    try:
        return cluster_of(flags)
    except click.ClickException as error:
        if source.journal is None or flags.files:
            raise
        note(f"Note: only the journal is read: {error.message}")
        return ClusterObjects((), time.time())


def _decisions(
    source: DecisionFlags, cluster: ClusterFlags, read: "ClusterObjects | None", *, needed: bool
) -> tuple["KeptDecision", ...]:
    """If the scheduler cannot be asked, events must do, unless the question is about a decision."""
    from reprieve.assembly.decision_sources import DecisionSourceError
    from reprieve.inquiry.decision_list import read_decisions

    if cluster.files and source.journal is None and not source.server.server:
        found = read_decisions((read or cluster_of(cluster)).decisions)
        note_unreadable(found.unreadable)
        return tuple(sorted(found.decisions, key=lambda kept: kept.decision.at))
    try:
        return tuple(sorted(decisions_of(source).decisions, key=lambda kept: kept.decision.at))
    except DecisionSourceError as error:
        if needed or not error.absent:
            raise click.ClickException(str(error)) from error
        note(f"Note: no decisions are known, and events must do: {error}.")
        return ()


def _print(report: "WhyReport", output: str) -> None:
    from reprieve.inquiry.why import why_json, why_lines

    name, version = format_and_version(output)
    if name in DOCUMENT_FORMATS:
        return say_document(why_json(report, version), name)
    show(why_lines(report))
    for sentence in report.notes:
        note(f"Note: {sentence}")
    return None
