"""`reprieve simulate`: what would other policies have done with the same jobs?"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from reprieve.cli.flag_values import FiniteRange
from reprieve.cli.input_files import bytes_of
from reprieve.cli.terminal import note, progress_bar, say

if TYPE_CHECKING:
    from reprieve.model.objects import Node
    from reprieve_study.cell import StudiedPolicy
    from reprieve_study.report import StudyReport
    from reprieve_study.studies import Study, Workers
    from reprieve_study.trace import Trace

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)\.\.(\d+(?:\.\d+)?)([smhd]?)")
_MOST_SEEDS = 10_000
_USUAL_NODES = "gpu8x100"


class SimulateFlags(TypedDict):
    policies: tuple[str, ...]
    seeds: int
    jobs: int
    nodes: str
    window: str
    compress: float
    mapped: tuple[str, ...]
    warmup: float
    scheduler_address: str
    journals: tuple[str, ...]
    out: str
    strict: bool


@click.command()
@click.argument("trace")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME|FILE",
    help="Reprieve, Upstream, a search, or a configuration; repeat it. The first is the base of differences. "
    "(default: Upstream and Reprieve)",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, _MOST_SEEDS),
    default=20,
    show_default=True,
    help="How often each is played. 1: the trace as it is; more: each seed draws blocks of it, or makes up "
    "another one.",
)
@click.option("--jobs", type=click.IntRange(1, 1024), default=2, show_default=True, help="Processes at once.")
@click.option("--nodes", default="", metavar="SHAPExN|FILE", help="The cluster, as in gpu8x200,cpu64x50.")
@click.option("--window", default="", metavar="2d..9d", help="Only jobs that arrive within it.")
@click.option(
    "--compress",
    type=FiniteRange(0.001, 1000),
    default=1.0,
    metavar="FACTOR",
    help="Let jobs arrive so many times as fast.",
)
@click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="COLUMN=VALUE:PRIORITY,…",
    help="Which priority a value of a trace's column stands for, as in qos=LS:1000,BE:0.",
)
@click.option(
    "--warmup",
    type=FiniteRange(0, 0.9),
    default=0.1,
    show_default=True,
    help="The share of the trace at its beginning that does not count.",
)
@click.option(
    "--on", "scheduler_address", default="", metavar="tcp://HOST:PORT", help="A Dask cluster that plays."
)
@click.option(
    "--journal",
    "journals",
    multiple=True,
    metavar="POLICY:SEED",
    help="Write the journal of this cell: `reprieve page` shows each of its decisions. Repeat it.",
)
@click.option("--out", default="study", show_default=True, metavar="DIR", help="Where the report goes.")
@click.option(
    "--strict", is_flag=True, help="Refuse a trace with lines that are wrong or jobs that never fit."
)
def simulate(trace: str, **flags: Unpack[SimulateFlags]) -> None:
    """Play a trace of jobs under several policies, in virtual time, and report how they differ.

    TRACE is a file (our own format, Alibaba openb, Philly as CSV, Standard Workload Format), the directory of
    a journal, or generated[:days=7,nodes=200,load=1,…] for one that is made up for each seed. DIR gets
    report.html, report.md and report.json; a study that was cut off goes on where it was.
    """
    from reprieve_study.report import eviction_lines, left_out_lines, study_report, unfinished_lines
    from reprieve_study.studies import KeptCells, StudyError, studied

    chosen = _policies(flags["policies"] or ("Upstream", "Reprieve"))
    journaled = [_cell(text, chosen, flags["seeds"]) for text in flags["journals"]]
    study = _study(trace, tuple(policy.name for policy in chosen), flags)
    head = study.head
    if flags["strict"] and head.left_out:
        raise click.ClickException(f"{trace}: {len(head.left_out)} left out; the first: {head.left_out[0]}")
    for line in left_out_lines(head):
        note(line)
    if not head.jobs:
        raise click.ClickException(f"{trace}: no job is left to play")
    out = Path(flags["out"])
    with _workers(flags) as workers, progress_bar("playing") as bar:
        cells = KeptCells(out / "cells", head.version, bar.show)
        try:
            results = studied(study.content, chosen, head.seeds, cells, workers)
        except StudyError as error:
            raise click.ClickException(str(error)) from error
    report = study_report(head, results)
    _write(out, report)
    for line in unfinished_lines(report):
        note(line)
    for sentence in (*report.verdicts, *eviction_lines(report)):
        say(sentence)
    say(f"report: {out / 'report.html'}")
    for place, seed in journaled:
        _write_journal(out, study, (place, chosen[place]), seed)


def _cell(text: str, policies: "Sequence[StudiedPolicy]", seeds: int) -> tuple[int, int]:
    """The place of the policy, and the seed."""
    name, _, seed = text.rpartition(":")
    names = [policy.name for policy in policies]
    if name not in names or not (seed.isascii() and seed.isdigit() and int(seed) < seeds):
        known = f"one of {', '.join(names)}, and a seed from 0 to {seeds - 1}"
        raise click.BadParameter(
            f"expected {known}, as in {names[0]}:0, got {text!r}", param_hint="--journal"
        )
    return names.index(name), int(seed)


# --- policies ------------------------------------------------------------------------------------


def _policies(names: tuple[str, ...]) -> "list[StudiedPolicy]":
    """Read and checked before anything is played."""
    import msgspec

    from reprieve import config
    from reprieve.assembly.inquiries import policy_document
    from reprieve.cli.config import config_error, show_warnings
    from reprieve.cli.policy_choice import compared_choice
    from reprieve_study.cell import StudiedPolicy

    found = []
    for name in names:
        choice = compared_choice(name, "", flag="--policy")
        document = policy_document(choice)
        try:
            show_warnings(name, config.parse_configuration(document))
        except config.InvalidConfigurationError as error:
            raise config_error(name, error) from error
        found.append(StudiedPolicy(name, msgspec.json.encode(document)))
    if len(set(names)) < len(names):
        raise click.UsageError(
            "--policy: expected each policy once; to play one twice, give it another file name"
        )
    return found


# --- jobs and nodes ------------------------------------------------------------------------------


def _study(source: str, policies: tuple[str, ...], flags: SimulateFlags) -> "Study":
    from reprieve_study.sources import GENERATED, generator_options
    from reprieve_study.studies import (
        StudyError,
        StudyOptions,
        generated_study,
        journaled_cluster,
        study_of_trace,
        version_and_code,
    )
    from reprieve_study.text_lines import TraceError

    options = StudyOptions(
        policies,
        flags["seeds"],
        version_and_code(),
        flags["warmup"],
        _window(flags["window"]),
        flags["compress"],
        flags["mapped"],
    )
    try:
        if source.partition(":")[0] == GENERATED and not Path(source).exists():
            generator = generator_options(source)
            nodes = _nodes(flags["nodes"] or f"gpu8x{generator.nodes}")
            _expect_no_mapping(flags["mapped"], "a trace that is made up")
            return generated_study(source, generator, nodes, options)
        if Path(source).is_dir():
            _expect_no_mapping(flags["mapped"], "a journal")
            journaled = journaled_cluster(Path(source))
            nodes = _nodes(flags["nodes"]) if flags["nodes"] else journaled.nodes
            return study_of_trace(journaled.trace, nodes, options)
        trace = _trace(source, flags["mapped"])
    except (TraceError, StudyError) as error:
        raise click.ClickException(str(error)) from error
    return study_of_trace(trace, _nodes(flags["nodes"] or _USUAL_NODES), options)


def _expect_no_mapping(mapped: tuple[str, ...], got: str) -> None:
    if mapped:
        raise click.BadParameter(
            f"expected a trace with columns, got {got}, which has priorities", param_hint="--map"
        )


def _trace(source: str, mapped: tuple[str, ...]) -> "Trace":
    from reprieve_study.sources import MappingError, parse_mappings, trace_in

    try:
        mapping = parse_mappings(mapped)
    except MappingError as error:
        raise click.BadParameter(str(error), param_hint="--map") from error
    return trace_in(source, bytes_of(source), mapping)


def _nodes(text: str) -> "tuple[Node, ...]":
    from reprieve_study.node_pools import NodePoolError, pool
    from reprieve_study.studies import StudyError, nodes_in

    try:
        return nodes_in(Path(text)) if Path(text).exists() else pool(text)
    except NodePoolError as error:
        raise click.BadParameter(str(error), param_hint="--nodes") from error
    except StudyError as error:
        raise click.ClickException(str(error)) from error


def _window(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    found = _SPAN.fullmatch(text)
    if found is not None:
        begin, first, end, last = found.groups()
        window = float(begin) * _UNITS[first or last or "s"], float(end) * _UNITS[last or "s"]
        if window[0] < window[1]:
            return window
    raise click.BadParameter(
        f"expected BEGIN..END, as in 2d..9d or 0..3600, got {text!r}", param_hint="--window"
    )


# --- playing and writing -------------------------------------------------------------------------


@contextmanager
def _workers(flags: SimulateFlags) -> "Iterator[Workers]":
    from reprieve_study.studies import StudyError
    from reprieve_study.workers import ProcessPool, dask_cluster

    address = flags["scheduler_address"]
    if not address:
        yield ProcessPool(flags["jobs"])
        return
    with ExitStack() as stack:
        try:
            workers = stack.enter_context(dask_cluster(address))
        except StudyError as error:
            raise click.ClickException(f"--on {address}: {error}") from error
        yield workers


def _write(out: Path, report: "StudyReport") -> None:
    import msgspec

    from reprieve_study.report import markdown
    from reprieve_study.report_html import html

    contents = {
        "report.html": html(report).encode(),
        "report.md": markdown(report).encode(),
        "report.json": msgspec.json.format(msgspec.json.encode(report), indent=1),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (out / name).write_bytes(content)
    except OSError as error:
        raise click.ClickException(f"--out {out}: cannot be written: {reason_of(error)}") from error


def _write_journal(out: Path, study: "Study", policy: "tuple[int, StudiedPolicy]", seed: int) -> None:
    """Two policies may have files of the same name, so that their places tell them apart."""
    from reprieve_study.studies import StudyError, write_journal

    place, chosen = policy
    directory = out / "journals" / f"{place + 1}-{Path(chosen.name).stem}-seed-{seed}"
    try:
        with progress_bar(f"writing the journal of {chosen.name}, seed {seed}"):
            write_journal(directory, study.content, chosen, seed)
    except StudyError as error:
        raise click.ClickException(str(error)) from error
    say(f"journal of {chosen.name}, seed {seed}: reprieve page {directory}")


def reason_of(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
