"""Rows of CSV files of other projects, and what their importers share."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from reprieve_study.job import Job
from reprieve_study.text_lines import CsvTable
from reprieve_study.trace import FARTHEST, PriorityMapping, Trace, TraceProblem, in_order

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
        """Of rows that are wrong, ``problems`` tells."""
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
        """As the mapping has it; None if there is none."""
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
    """Of the first of these columns that there is; at least 0."""
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
    """Of a column of seconds, or of dates: those without a time zone are in UTC."""
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
    """As the name of a namespace; empty becomes the default one."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-") or "default"
