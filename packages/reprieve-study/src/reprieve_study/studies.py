"""How is a study put together? From jobs that can run at all, nodes and policies; its results are kept.

A cell is keyed by its content and its result is a file, so that a study that was cut off goes on where it
was.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import msgspec

import reprieve
from reprieve import config
from reprieve.assembly.journals import journal_in
from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.cluster.api.compression import DamagedFileError, read_file
from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.joined_files import consistent
from reprieve.inquiry.object_files import parse_objects
from reprieve.model.objects import Node
from reprieve.runtime.journal import Journaled, JournalError, read_entries
from reprieve.scheduler.core import Scheduler
from reprieve_study.cell import CellKey, StudiedPolicy, StudyInput, cell_key, encoded, fits_at_all, play
from reprieve_study.generator import GeneratorOptions, compressed, in_window
from reprieve_study.importers import journal as journal_importer
from reprieve_study.job import Job
from reprieve_study.measures import Measured, main_resource
from reprieve_study.node_pools import with_known_gpus
from reprieve_study.report import StudyHead
from reprieve_study.sources import openb_nodes
from reprieve_study.text_lines import TraceError
from reprieve_study.trace import Trace, in_order

_SUFFIX = ".json"
_PLAYED_BY = ("model", "placement", "preemption", "scheduler", "supervision", "config", "runtime", "assembly")
_ONLY_REPORTS = frozenset({"report.py", "report_html.py"})

Cell = tuple[StudiedPolicy, int]  # and its seed
Progress = Callable[[int, int], None]  # cells that are done, and all


class StudyError(Exception):
    """Why a study cannot go on, as a sentence."""


@dataclass(frozen=True, slots=True)
class Journaling:
    """Where the steps of a scheduler are written; ``complain`` gets a sentence if that fails."""

    directory: Path
    complain: Callable[[str], None]


def played(content: bytes, policy: StudiedPolicy, seed: int, journaling: Journaling | None = None) -> bytes:
    """One cell, from its input to its result as JSON; called in whatever process."""
    configured = config.parse_configuration(msgspec.json.decode(policy.document))
    settings = settings_of(configured, EVERYTHING)
    scheduler, name = Scheduler(settings), next(iter(settings.profiles))
    if journaling is None:
        return msgspec.json.encode(play(content, scheduler, name, seed))
    with journal_in(journaling.directory, configured, EVERYTHING, journaling.complain) as journal:
        assert journal is not None
        return msgspec.json.encode(play(content, Journaled(scheduler, journal), name, seed))


@cache
def version_and_code() -> str:
    """The release, and a digest of what a cell is played by: another code may decide otherwise."""
    digest = blake2b(digest_size=6)
    package = Path(reprieve.__file__).parent
    for folder in (*(package / part for part in _PLAYED_BY), Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            if path.name not in _ONLY_REPORTS:
                digest.update(path.read_bytes())
    return f"{version('reprieve')}+{digest.hexdigest()}"


class Workers(Protocol):
    """Where cells are played."""

    def results(self, content: bytes, cells: Sequence[Cell]) -> Iterator[tuple[Cell, bytes]]:
        """Cells as they are done, in any order."""


def studied(
    content: bytes,
    policies: Sequence[StudiedPolicy],
    seeds: Sequence[int],
    cells: "KeptCells",
    workers: Workers,
) -> dict[str, list[Measured]]:
    """Results by policy, in the order of the seeds."""
    cells.prepare()
    wanted = [(policy, seed) for seed in seeds for policy in policies]
    keys = {(policy.name, seed): cells.key(content, policy, seed) for policy, seed in wanted}
    missing = [(policy, seed) for policy, seed in wanted if not cells.has(keys[policy.name, seed])]
    cells.report(len(wanted) - len(missing), len(wanted))
    for done, ((policy, seed), result) in enumerate(workers.results(content, missing), start=1):
        cells.keep(keys[policy.name, seed], result)
        cells.report(len(wanted) - len(missing) + done, len(wanted))
    return {policy.name: [cells.read(keys[policy.name, seed]) for seed in seeds] for policy in policies}


class KeptCells:
    """Results of cells, as files in a directory."""

    def __init__(self, directory: Path, version: str, progress: Progress) -> None:
        self._directory = directory
        self._version = version
        self.report = progress

    def key(self, content: bytes, policy: StudiedPolicy, seed: int) -> CellKey:
        return cell_key(content, policy, seed, self._version)

    def has(self, key: CellKey) -> bool:
        """A file that was not written whole does not count."""
        try:
            self.read(key)
        except (OSError, msgspec.MsgspecError):
            return False
        return True

    def read(self, key: CellKey) -> Measured:
        return msgspec.json.decode(self._path(key).read_bytes(), type=Measured)

    def prepare(self) -> None:
        """Raises StudyError if results cannot be kept: to be known before the first cell is played."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            probe = self._beside("probe")
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise self._not_written(error) from error

    def keep(self, key: CellKey, result: bytes) -> None:
        """Written beside its place and then moved there, so that a file is whole or not there."""
        try:
            beside = self._beside(key.digest)
            beside.write_bytes(result)
            beside.replace(self._path(key))
        except OSError as error:
            raise self._not_written(error) from error

    def _beside(self, name: str) -> Path:
        """A path of this process alone: another one may play the same study."""
        return self._directory / f"{name}.{os.getpid()}.part"

    def _not_written(self, error: OSError) -> StudyError:
        reason = (error.strerror or str(error)).lower()
        return StudyError(f"--out {self._directory.parent}: cannot be written: {reason}")

    def _path(self, key: CellKey) -> Path:
        return self._directory / f"{key.digest}{_SUFFIX}"


def write_journal(directory: Path, content: bytes, policy: StudiedPolicy, seed: int) -> None:
    """Plays one cell and writes its journal, in which every decision can be looked at.

    Written beside its place and then moved there: a journal of the same cell is replaced as a whole.
    """
    beside = directory.with_name(f"{directory.name}.part")
    problems: list[str] = []
    try:
        shutil.rmtree(beside, ignore_errors=True)
        played(content, policy, seed, Journaling(beside, problems.append))
        if not problems:
            shutil.rmtree(directory, ignore_errors=True)
            beside.replace(directory)
    except OSError as error:
        problems.append((error.strerror or str(error)).lower())
    if problems:
        raise StudyError(f"{directory}: cannot be written: {problems[0]}")


def journaled_cluster(directory: Path) -> journal_importer.JournaledCluster:
    """The jobs and the nodes of a journal."""
    try:
        return journal_importer.read(str(directory), read_entries(directory))
    except JournalError as error:
        raise StudyError(str(error)) from error


def nodes_in(path: Path) -> tuple[Node, ...]:
    """The Nodes of a file: a list of kubectl, documents, a snapshot, or openb's CSV."""
    try:
        content = read_file(path)
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    except DamagedFileError as error:
        raise StudyError(f"{path}: {error}") from error
    try:
        of_openb = openb_nodes(str(path), content)
    except TraceError as error:
        raise StudyError(str(error)) from error
    if of_openb:
        return of_openb
    found = parse_objects(content, str(path))
    if found.problems:
        more = f" (and {len(found.problems) - 1} more)" if len(found.problems) > 1 else ""
        raise StudyError(f"{found.problems[0]}{more}")
    seen = decoded(consistent(ClusterObjects(found.objects, 0.0))).seen
    nodes = tuple(with_known_gpus(one.object) for one in seen if isinstance(one.object, Node))
    if not nodes:
        raise StudyError(f"{path}: expected one or more Nodes, got none")
    return nodes


_MADE_UP = "each seed makes up another trace"
_DRAWN = "each seed draws blocks of the trace, with replacement"
_AS_IT_IS = "the trace is played as it is"


@dataclass(frozen=True, slots=True)
class StudyOptions:
    policies: tuple[str, ...]
    seeds: int
    version: str
    warmup: float = 0.1
    window: tuple[float, float] | None = None  # seconds of the trace
    compress: float = 1.0
    mapping: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Study:
    """``content``: what cells are played from."""

    content: bytes
    head: StudyHead


def study_of_trace(trace: Trace, nodes: Sequence[Node], options: StudyOptions) -> Study:
    jobs = list(trace.jobs)
    if options.window is not None:
        jobs = in_window(jobs, *options.window)
    jobs = compressed(jobs, options.compress)
    fitting = in_order(job for job in jobs if fits_at_all(job, nodes))
    known = {job.name for job in fitting}
    left_out = [
        *(str(problem) for problem in trace.problems),
        *(_too_large(job, trace.lines.get(job.name)) for job in jobs if job.name not in known),
    ]
    several = options.seeds > 1
    content = StudyInput(
        tuple(nodes),
        fitting,
        drawn_priorities=trace.priorities_from_seed,
        is_resampled=several,
        warmup=options.warmup,
    )
    study = _study(trace.name, content, options, _DRAWN if several else _AS_IT_IS)
    head = replace(study.head, invented=trace.invented, left_out=tuple(left_out))
    return replace(study, head=head)


def _too_large(job: Job, line: int | None) -> str:
    """A sentence: which job, and what it asks of the empty cluster."""
    where = f"line {line}: " if line is not None else ""
    asked = ", ".join(f"{quantity} {name}" for name, quantity in job.requests) or "nothing"
    pods = f"{job.gang} pods together, each with {asked}" if job.gang > 1 else f"a pod with {asked}"
    return f"{where}{job.name}: does not fit into the empty cluster: {pods}"


def generated_study(
    name: str, generator: GeneratorOptions, nodes: Sequence[Node], options: StudyOptions
) -> Study:
    content = StudyInput(tuple(nodes), generator=generator, warmup=options.warmup)
    study = _study(name, content, options, _MADE_UP)
    unfit = [job for job in content.jobs_for(0) if not fits_at_all(job, nodes)]
    left_out = tuple(f"seed 0: {_too_large(job, None)}" for job in unfit)
    return replace(study, head=replace(study.head, left_out=left_out, is_made_up=True))


def _study(name: str, content: StudyInput, options: StudyOptions, arrivals: str) -> Study:
    data = encoded(content)
    jobs = [job for job in content.jobs_for(0) if fits_at_all(job, content.nodes)]
    head = StudyHead(
        trace=name,
        digest=blake2b(data, digest_size=16).hexdigest(),
        jobs=len(jobs),
        pods=sum(job.pods for job in jobs),
        nodes=len(content.nodes),
        resource=main_resource(content.nodes),
        policies=options.policies,
        seeds=tuple(range(options.seeds)),
        version=options.version,
        arrivals=arrivals,
        mapping=options.mapping,
        played=tuple(_played(options, max((job.arrival for job in jobs), default=0.0))),
    )
    return Study(data, head)


def _played(options: StudyOptions, span: float) -> Iterator[str]:
    if options.window is not None:
        begin, end = options.window
        yield f"only jobs that arrive from {begin:.15g} s to {end:.15g} s of the trace"
    if options.compress != 1:
        yield f"jobs arrive {options.compress:.15g} times as fast"
    if not span:
        yield "all jobs arrive at once, so that no time counts: figures an hour, work and goodput are 0"
    yield f"the first {options.warmup:.0%} of the time until the last arrival does not count"
