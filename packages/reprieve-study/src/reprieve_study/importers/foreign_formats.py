"""Traces of other projects: Alibaba's openb, Microsoft's Philly, and the Standard Workload Format.

Openb (hkust-adsl/kubernetes-scheduler-simulator) is CSV files of pods and of nodes. Columns of pods that are
read: name, cpu_milli, memory_mib, num_gpu, gpu_spec, qos, creation_time, deletion_time, and, if there is one,
scheduled_time; of nodes: sn, cpu_milli, memory_mib, gpu, model.

Philly as CSV (siasosp23/artifacts) is a line a job. Columns that are read: timestamp (or submit_time, time),
duration, num_gpus (or num_gpu, gpus), and, if there is one, cluster (or vc, user) as the tenant. A timestamp
is a date or a number of seconds.

SWF is lines of 18 numbers, with comments after a semicolon. Read are the submit time (2), the run time (4),
the processors (5, or 8 as asked), the memory a processor (7, or 10 as asked, in KB) and the user (12). A
mapping may use the columns 11 to 16.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil
from typing import TypeVar

from reprieve.model.objects import Node
from reprieve_study.job import GPU, Job
from reprieve_study.node_pools import node
from reprieve_study.text_lines import CsvTable, TraceError, numbered_lines
from reprieve_study.trace import FARTHEST, MOST_PODS, PriorityMapping, Trace, TraceProblem, in_order

Row = Mapping[str, str]
Made = TypeVar("Made")
_MOST = 1e12  # of any resource; more has another unit


class RowError(Exception):
    """What is wrong with a row, as a sentence."""


@dataclass(slots=True)
class ImportedRows:
    """``mapping``: of a column that there is."""

    table: CsvTable
    mapping: PriorityMapping | None = None
    problems: list[TraceProblem] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)  # of jobs, by name

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.table.columns)

    def jobs(self, job_of: Callable[[Row, int], Job]) -> list[Job]:
        return self.read(lambda row, line: self._kept(job_of(row, line), line))

    def _kept(self, job: Job, line: int) -> Job:
        self.lines[job.name] = line
        return job

    def read(self, made_of: Callable[[Row, int], Made]) -> list[Made]:
        """What is made of each row; ``problems`` tells of those that are wrong."""
        found = []
        for line, cells in self.table.rows():
            try:
                found.append(made_of(self._row(cells), line))
            except RowError as wrong:
                self.problems.append(TraceProblem(line, str(wrong)))
        return found

    def _row(self, cells: list[str] | None) -> Row:
        if cells is None:
            raise RowError("expected cells between commas, got quotes that do not end")
        if len(cells) != len(self.table.columns):
            raise RowError(f"expected {len(self.table.columns)} columns as in the header, got {len(cells)}")
        return dict(zip(self.table.columns, cells, strict=True))

    def priority(self, row: Row) -> int | None:
        """The priority that the mapping gives; None if there is none."""
        if self.mapping is None:
            return None
        value = row[self.mapping.column]
        found = self.mapping.priority(value)
        if found is None:
            raise RowError(self.mapping.wrong(value))
        return found

    def trace(
        self, name: str, jobs: Iterable[Job], invented: Iterable[str], drawn: tuple[int, ...] = ()
    ) -> Trace:
        return Trace(name, in_order(jobs), tuple(self.problems), tuple(invented), drawn, self.lines)


def number_in(row: Row, *columns: str, most: float = _MOST) -> float:
    """The number in the first of these columns that there is; at least 0."""
    column = next((column for column in columns if column in row), columns[0])
    return number_of(column, row.get(column, ""), most)


def number_of(name: str, text: str, most: float = _MOST) -> float:
    found = _number(text)
    if found is None or not 0 <= found <= most:
        raise RowError(f"{name}: expected a number from 0 to {most:.0f}, got {text[:60]!r}")
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def seconds_in(row: Row, *columns: str) -> float:
    """Seconds from a column of seconds, or of dates: those without a time zone are in UTC."""
    column = next((column for column in columns if column in row), columns[0])
    text = row.get(column, "")
    if _number(text) is None:  # first: 10001018 is a date, too
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise RowError(f"{column}: expected a number of seconds or a date, got {text[:60]!r}") from None
        text = str((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return number_of(column, text, FARTHEST)


def duration_in(row: Row, column: str) -> float:
    found = number_in(row, column, most=FARTHEST)
    if not found:
        raise RowError(f"{column}: expected more than 0 seconds, got {row[column][:60]!r}")
    return found


def drawn_sentence(priorities: Iterable[int]) -> str:
    return f"the trace has no priorities: they are drawn from {', '.join(map(str, priorities))}"


def label(text: str) -> str:
    """A text as the name of a namespace; empty becomes the default one."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-") or "default"


OPENB_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "qos", "creation_time", "deletion_time")
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu")
_BY_QOS = {"LS": 1000, "Guaranteed": 1000, "Burstable": 100, "BE": 0}
_MODEL = "alibabacloud.com/gpu-card-model"
_PODS_OF_A_NODE = "1001"  # as its YAML files have it


def read_openb(name: str, rows: ImportedRows) -> Trace:
    """Priorities follow from the QoS class, if no mapping is given."""
    pods = _OpenbPods()
    found = rows.jobs(lambda row, line: pods.job(row, line, _qos_priority(rows, row)))
    shown = ", ".join(f"{qos} {priority}" for qos, priority in _BY_QOS.items())
    invented = () if rows.mapping is not None else (f"priorities follow from the column qos: {shown}",)
    return rows.trace(name, found, (*invented, *pods.invented()))


def _qos_priority(rows: ImportedRows, row: Row) -> int:
    mapped = rows.priority(row)
    if mapped is not None:
        return mapped
    qos = row["qos"]
    if qos not in _BY_QOS:
        raise RowError(f"qos: expected one of {', '.join(_BY_QOS)}, got {qos[:60]!r}; see --map qos=…")
    return _BY_QOS[qos]


def nodes_of_openb(name: str, rows: ImportedRows) -> tuple[Node, ...]:
    """Raises TraceError: a cluster is read whole or not at all."""
    found = tuple(rows.read(_node))
    if rows.problems:
        raise TraceError(f"{name}: {rows.problems[0]}")
    names = [one.metadata.name for one in found]
    if len(set(names)) < len(names):
        raise TraceError(f"{name}: expected a name for each node, got one twice")
    return found


def _node(row: Row, _line: int) -> Node:
    if not row["sn"]:
        raise RowError("sn: expected a name, got nothing")
    offered = {**_cpu_and_memory(row), "pods": _PODS_OF_A_NODE}
    gpus = ceil(number_in(row, "gpu"))
    model = row.get("model", "")
    return node(row["sn"], {**offered, GPU: str(gpus)} if gpus else offered, {_MODEL: model} if model else {})


def _cpu_and_memory(row: Row) -> dict[str, str]:
    cpu, memory = number_in(row, "cpu_milli"), number_in(row, "memory_mib")
    return {"cpu": f"{cpu:.0f}m", "memory": f"{memory:.0f}Mi"}


@dataclass(slots=True)
class _OpenbPods:
    """Rows of pods, and how many of them say what jobs cannot."""

    never_ran: int = 0
    shares: int = 0
    models: int = 0

    def job(self, row: Row, line: int, priority: int) -> Job:
        begin, end = seconds_in(row, "creation_time"), seconds_in(row, "deletion_time")
        if end <= begin:
            raise RowError(f"deletion_time: expected more than creation_time, {begin:.15g}, got {end:.15g}")
        gpus = ceil(number_in(row, "num_gpu"))
        asked = tuple(_cpu_and_memory(row).items())
        scheduled = seconds_in(row, "scheduled_time") if row.get("scheduled_time") else None
        self.never_ran += "scheduled_time" in row and scheduled is None
        self.shares += gpus == 1 and row.get("gpu_milli", "1000") not in {"1000", ""}
        self.models += bool(row.get("gpu_spec"))
        ran = end - scheduled if scheduled is not None and begin < scheduled < end else end - begin
        return Job(
            name=f"pod-{line}",
            arrival=begin,
            duration=ran,
            requests=(*asked, (GPU, str(gpus))) if gpus else asked,
            priority=priority,
        )

    def invented(self) -> Iterator[str]:
        if self.never_ran:
            yield f"{self.never_ran} pods were never scheduled: they run for as long as they waited"
        if self.shares:
            yield f"{self.shares} pods request a share of a GPU, which counts as a whole one"
        if self.models:
            yield f"{self.models} pods name models of GPUs (gpu_spec), which is not taken over"


# --- Philly --------------------------------------------------------------------------------------


PHILLY_ARRIVALS = ("timestamp", "submit_time", "arrival", "time")
PHILLY_GPUS = ("num_gpus", "num_gpu", "gpus")
_PHILLY_TENANTS = ("cluster", "vc", "user")
_DRAWN = (0, 0, 100, 1000)
_GPUS_OF_A_NODE = 8


def is_philly(columns: frozenset[str]) -> bool:
    names = (("duration",), PHILLY_ARRIVALS, PHILLY_GPUS)
    return all(any(name in columns for name in same) for same in names)


def read_philly(name: str, rows: ImportedRows) -> Trace:
    found = rows.jobs(lambda row, line: _philly_job(row, line, rows.priority(row)))
    invented = (
        "cpu and memory are 8 cores and 32 GiB a GPU",
        f"a job of more than {_GPUS_OF_A_NODE} GPUs is a gang of pods of up to {_GPUS_OF_A_NODE}",
    )
    if rows.mapping is not None:
        return rows.trace(name, found, invented)
    return rows.trace(name, found, (drawn_sentence(_DRAWN), *invented), _DRAWN)


def _philly_job(row: Row, line: int, priority: int | None) -> Job:
    gpus = ceil(number_in(row, *PHILLY_GPUS, most=MOST_PODS))
    if gpus < 1:
        raise RowError(f"GPUs: expected at least 1, got {gpus}")
    pods = ceil(gpus / _GPUS_OF_A_NODE)
    each = ceil(gpus / pods)
    tenant = next((row[column] for column in _PHILLY_TENANTS if row.get(column)), "")
    return Job(
        name=f"job-{line}",
        arrival=seconds_in(row, *PHILLY_ARRIVALS),
        duration=duration_in(row, "duration"),
        pods=pods,
        gang=pods if pods > 1 else 0,
        requests=(("cpu", str(8 * each)), ("memory", f"{32 * each}Gi"), (GPU, str(each))),
        priority=priority or 0,
        tenant=label(tenant),
    )


# --- Standard Workload Format --------------------------------------------------------------------


SWF_COLUMNS = {"status": 10, "user": 11, "group": 12, "executable": 13, "queue": 14, "partition": 15}
_FIELDS, _CORES_OF_A_POD = 18, 16


def is_swf(text: str) -> bool:
    """A comment, or a line of 18 numbers."""
    first = next((line for _, line in numbered_lines(text)), "")
    return first.lstrip().startswith(";") or len(first.split()) == _FIELDS


def read_swf(name: str, text: str, mapping: PriorityMapping | None = None) -> Trace:
    if mapping is not None and mapping.column not in SWF_COLUMNS:
        raise TraceError(f"{name}: {mapping.expected(SWF_COLUMNS)}")
    jobs, problems, lines = [], [], {}
    for number, line in numbered_lines(text):
        content = line.partition(";")[0].split()
        if not content:
            continue
        try:
            job = _with_priority(_swf_job(content, number), content, mapping)
        except RowError as wrong:
            problems.append(TraceProblem(number, str(wrong)))
        else:
            jobs.append(job)
            lines[job.name] = number
    gangs = f"a job of more than {_CORES_OF_A_POD} processors is a gang of pods of up to {_CORES_OF_A_POD}"
    invented = (gangs,) if mapping is not None else (drawn_sentence(_DRAWN), gangs)
    drawn = () if mapping is not None else _DRAWN
    return Trace(name, in_order(jobs), tuple(problems), invented, drawn, lines)


def _with_priority(job: Job, content: list[str], mapping: PriorityMapping | None) -> Job:
    if mapping is None:
        return job
    value = content[SWF_COLUMNS[mapping.column]]
    priority = mapping.priority(value)
    if priority is None:
        raise RowError(mapping.wrong(value))
    return replace(job, priority=priority)


def _swf_job(content: list[str], line: int) -> Job:
    if len(content) != _FIELDS:
        raise RowError(f"expected {_FIELDS} numbers, got {len(content)}")
    values = [_swf_number(word) for word in content]
    submitted, runs = values[1], values[3]
    cores = next(_known(values[4], values[7]), 0.0)
    if cores > MOST_PODS * _CORES_OF_A_POD:
        raise RowError(f"expected at most {MOST_PODS * _CORES_OF_A_POD} processors, got {cores:.0f}")
    if submitted < 0 or runs <= 0 or cores < 1:
        raise RowError("expected a submit time, a run time and processors, got a job that did not run")
    pods = ceil(cores / _CORES_OF_A_POD)
    each = ceil(cores / pods)
    kilobytes = next(_known(values[6], values[9]), 0.0)
    memory = (("memory", f"{ceil(kilobytes * each)}Ki"),) if kilobytes else ()
    return Job(
        name=f"job-{line}",
        arrival=submitted,
        duration=runs,
        pods=pods,
        gang=pods if pods > 1 else 0,
        requests=(("cpu", str(each)), *memory),
        tenant=label(f"user-{values[11]:.0f}" if values[11] >= 0 else ""),
    )


def _swf_number(word: str) -> float:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if abs(found) > FARTHEST:
        raise RowError(f"expected {_FIELDS} numbers of at most {FARTHEST:.0f}, got {word[:60]!r}")
    if math.isnan(found):
        raise RowError(f"expected {_FIELDS} numbers, got {word[:60]!r}")
    return found


def _known(*values: float) -> Iterator[float]:
    """-1 stands for what is not known."""
    return (value for value in values if value > 0)
