"""Which jobs does a file hold? The trace format: JSON lines, or CSV with a header.

A line that is wrong is left out, counted and named; nothing is guessed. Columns: ``arrival``, ``duration``,
and, each with a default, ``name``, ``pods``, ``cpu``, ``memory``, ``gpu``, ``priority``, ``gang``, ``whole``,
``tenant``, ``budget``, ``checkpoint``, ``grace``. Other formats are read by the importers beside this.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import msgspec

from reprieve.model.resources import CPU, MEMORY, milli
from reprieve_study.job import GPU, Job
from reprieve_study.text_lines import TraceError, csv_table, numbered_lines

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,200}[a-z0-9])?")
_TENANT = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_RESOURCES = {"cpu": CPU, "memory": MEMORY, "gpu": GPU}
MOST_PODS = 100_000
LOWEST_PRIORITY, HIGHEST_PRIORITY = -(2**31), 1_000_000_000
FARTHEST = 100 * 365 * 86_400.0  # seconds; a moment beyond it has another unit


@dataclass(frozen=True, slots=True)
class TraceProblem:
    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Trace:
    """``invented``: what the trace did not say and was made up, a sentence each. ``priorities_from_seed``:
    priorities to draw from, if the trace has none. ``lines``: of jobs, by name."""

    name: str
    jobs: tuple[Job, ...]
    problems: tuple[TraceProblem, ...] = ()
    invented: tuple[str, ...] = ()
    priorities_from_seed: tuple[int, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A digest of the jobs, whatever file they come from."""
        return blake2b(msgspec.json.encode(self.jobs), digest_size=16).hexdigest()


Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PriorityMapping:
    """Which priority each value of a column stands for."""

    column: str
    priorities: Mapping[str, int]

    def priority(self, value: str) -> int | None:
        return self.priorities.get(value)

    def wrong(self, value: str) -> str:
        """What is wrong with a value that is not in it."""
        known = ", ".join(self.priorities)
        return f"{self.column}: expected one of {known}, as --map says, got {value[:60]!r}"

    def expected(self, columns: Iterable[str]) -> str:
        """What is wrong with it, for a trace with other columns."""
        return f"--map: expected one of the columns {', '.join(columns)[:200]}, got {self.column!r}"


def read_trace(name: str, text: str, mapping: PriorityMapping | None = None) -> Trace:
    """Raises TraceError if it is no trace, or the mapping is for a column that it cannot have."""
    if mapping is not None and mapping.column not in _COLUMNS:
        raise TraceError(f"{name}: {mapping.expected(sorted(_COLUMNS))}")
    first = text.lstrip()[:1]
    rows = _json_rows(text) if first == "{" else _csv_rows(name, text)
    jobs: list[Job] = []
    problems: list[TraceProblem] = []
    lines: dict[str, int] = {}
    for line, row in rows:
        try:
            job = _with_priority(_job(_fields(row), line), _fields(row), mapping)
            if job.name in lines:
                raise _WrongFieldError("name", "a name that no other job has", job.name)
        except _WrongFieldError as wrong:
            problems.append(TraceProblem(line, str(wrong)))
        else:
            lines[job.name] = line
            jobs.append(job)
    if not jobs and not problems:
        raise TraceError(f"{name}: expected a job on each line, got an empty file")
    return Trace(name, in_order(jobs), tuple(problems), lines=lines)


def in_order(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Jobs by arrival; the first arrives at 0."""
    found = sorted(jobs, key=lambda job: (job.arrival, job.name))
    first = found[0].arrival if found else 0.0
    return tuple(replace(job, arrival=job.arrival - first) for job in found) if first else tuple(found)


# --- lines ---------------------------------------------------------------------------------------


def _json_rows(text: str) -> Iterator[tuple[int, Fields | str]]:
    for number, line in numbered_lines(text):
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            yield number, f"expected a JSON object, got something that cannot be read: {error}"
            continue
        yield number, row if isinstance(row, dict) else "expected a JSON object"


def _csv_rows(name: str, text: str) -> Iterator[tuple[int, Fields | str]]:
    table = csv_table(name, text)
    columns = table.columns
    if "arrival" not in columns:
        raise TraceError(f"{name}: expected a header with the column arrival, got {', '.join(columns)[:200]}")
    for column in columns:
        if column not in _COLUMNS:
            yield table.line, f"{column[:60]!r}: {_known_columns()}; this column is not read"
    for number, cells in table.rows():
        if cells is None:
            yield number, "expected cells between commas, got quotes that do not end"
        elif len(cells) > len(columns):
            yield number, f"expected {len(columns)} columns, got {len(cells)}"
        else:
            given = zip(columns, cells, strict=False)
            yield number, {column: cell for column, cell in given if cell and column in _COLUMNS}


def _fields(row: Fields | str) -> Fields:
    if isinstance(row, str):
        raise _WrongFieldError("", row, None)
    return row


# --- fields --------------------------------------------------------------------------------------


class _WrongFieldError(Exception):
    def __init__(self, field: str, expected: str, got: object) -> None:
        shown = f", got {_text(got)[:60]!r}" if field else ""
        super().__init__(f"{field}: expected {expected}{shown}" if field else expected)


def _job(row: Fields, line: int) -> Job:
    unknown = [name for name in row if name not in _COLUMNS]
    if unknown:
        raise _WrongFieldError("", f"{unknown[0][:60]}: {_known_columns()}, got {unknown[0][:60]!r}", None)
    for needed in ("arrival", "duration"):
        if needed not in row:
            raise _WrongFieldError(needed, "a number of seconds", "nothing")
    given = {name: _COLUMNS[name](name, value) for name, value in row.items() if name not in _RESOURCES}
    asked = [(_RESOURCES[name], _amount(name, row[name])) for name in _RESOURCES if name in row]
    job = Job(**{"name": f"job-{line}", **given, "requests": tuple(asked)})  # type: ignore[arg-type]
    if job.gang > job.pods:
        raise _WrongFieldError("gang", f"at most the number of pods, {job.pods}", job.gang)
    return job


def _with_priority(job: Job, row: Fields, mapping: PriorityMapping | None) -> Job:
    if mapping is None:
        return job
    value = _text(row.get(mapping.column, ""))
    priority = mapping.priority(value)
    if priority is None:
        raise _WrongFieldError("", mapping.wrong(value), None)
    return replace(job, priority=priority)


def _text(value: object) -> str:
    """A value as the file has it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _known_columns() -> str:
    return f"expected one of the columns {', '.join(sorted(_COLUMNS))}"


def _seconds(name: str, value: object) -> float:
    """A number of seconds, at least 0."""
    found = _number(value)
    if found is not None and found > FARTHEST:
        raise _WrongFieldError(name, f"a number of seconds from 0 to {FARTHEST:.0f}", value)
    if found is None or found < 0:
        raise _WrongFieldError(name, "a number of seconds, at least 0", value)
    return found


def _positive(name: str, value: object) -> float:
    found = _seconds(name, value)
    if not found:
        raise _WrongFieldError(name, "a number of seconds, more than 0", value)
    return found


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):  # JSON has whole numbers of any length
        return None
    return found if math.isfinite(found) else None


def _whole(least: int, most: int) -> Callable[[str, object], int]:
    def read(name: str, value: object) -> int:
        found = _number(value)
        if found is None or not found.is_integer() or not least <= found <= most:
            raise _WrongFieldError(name, f"a whole number from {least} to {most}", value)
        return int(found)

    return read


def _flag(name: str, value: object) -> bool:
    text = str(value).lower()
    if text not in {"true", "false", "1", "0"}:
        raise _WrongFieldError(name, "true or false", value)
    return text in {"true", "1"}


def _matching(pattern: re.Pattern[str], expected: str) -> Callable[[str, object], str]:
    def read(name: str, value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _WrongFieldError(name, expected, value)
        return value

    return read


def _amount(name: str, value: object) -> str:
    found = milli(str(value)) if isinstance(value, str | int | float) else None
    if found is None or found < 0:
        raise _WrongFieldError(name, "a quantity such as 500m, 2 or 1Gi", value)
    return str(value)


_COLUMNS: Mapping[str, Callable[[str, object], object]] = {
    "arrival": _seconds,
    "duration": _positive,
    "name": _matching(_NAME, "lower-case letters, digits, - and ."),
    "pods": _whole(1, MOST_PODS),
    "cpu": _amount,
    "memory": _amount,
    "gpu": _amount,
    "priority": _whole(LOWEST_PRIORITY, HIGHEST_PRIORITY),
    "gang": _whole(0, MOST_PODS),
    "whole": _flag,
    "tenant": _matching(_TENANT, "lower-case letters, digits and -"),
    "budget": _whole(0, MOST_PODS),
    "checkpoint": _seconds,
    "grace": _seconds,
}


def written(jobs: Sequence[Job]) -> bytes:
    """Jobs as JSON lines, which ``read_trace`` reads again."""
    return b"".join(msgspec.json.encode(_row(job)) + b"\n" for job in jobs)


def _row(job: Job) -> dict[str, object]:
    asked = dict(job.requests)
    row: dict[str, object] = {
        "name": job.name,
        "arrival": job.arrival,
        "duration": job.duration,
        "pods": job.pods,
        **{column: asked[resource] for column, resource in _RESOURCES.items() if resource in asked},
        "priority": job.priority,
        "tenant": job.tenant,
        "grace": job.grace,
    }
    more = {"gang": job.gang, "whole": job.whole, "checkpoint": job.checkpoint}
    row |= {name: value for name, value in more.items() if value}
    return row if job.budget is None else {**row, "budget": job.budget}
