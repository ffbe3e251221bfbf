"""Rows of CSV files of other projects, and what their importers share."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from reprieve.study.job import Job
from reprieve.study.trace import Trace, TraceProblem, in_order

Row = Mapping[str, str]


class RowError(Exception):
    """What is wrong with a row, as a sentence."""


@dataclass(slots=True)
class ImportedRows:
    """``columns``: of the header, without spaces around them."""

    text: str
    columns: frozenset[str] = field(init=False)
    problems: list[TraceProblem] = field(default_factory=list)

    def __post_init__(self) -> None:
        header = next(csv.reader(io.StringIO(self.text)), [])
        self.columns = frozenset(name.strip() for name in header)

    def jobs(self, job_of: Callable[[Row, int], Job]) -> list[Job]:
        """Of rows that are wrong, ``problems`` tells."""
        reader = csv.DictReader(io.StringIO(self.text), skipinitialspace=True)
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        found = []
        for row in reader:
            try:
                found.append(job_of(_whole(row), reader.line_num))
            except RowError as wrong:
                self.problems.append(TraceProblem(reader.line_num, str(wrong)))
        return found

    def trace(
        self, name: str, jobs: Iterable[Job], invented: Iterable[str], drawn: tuple[int, ...] = ()
    ) -> Trace:
        return Trace(name, in_order(jobs), tuple(self.problems), tuple(invented), drawn)


def _whole(row: Mapping[str | None, str | list[str] | None]) -> Row:
    if None in row or None in row.values():
        raise RowError("expected as many columns as the header has")
    return {str(key): str(value) for key, value in row.items()}


def number_in(row: Row, *columns: str) -> float:
    """Of the first of these columns that there is; at least 0."""
    column = next((column for column in columns if column in row), columns[0])
    text = row.get(column, "")
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found >= 0):
        raise RowError(f"{column}: expected a number, at least 0, got {text[:60]!r}")
    return found


def label(text: str) -> str:
    """As the name of a namespace; empty becomes the default one."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-") or "default"
