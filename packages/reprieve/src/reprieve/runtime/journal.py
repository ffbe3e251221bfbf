"""Writes events, decisions and plan records to files as they happen, and reads them again.

A journal is a directory of files with a line for each thing; the oldest files are removed when there are too
many. Whatever goes wrong here, scheduling goes on. How a run is replayed from it is in ``journal_replay``.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.model.json import Json
from reprieve.model.moment import Moment
from reprieve.runtime import journal_lines as lines
from reprieve.runtime.journal_lines import Asked, Began, Entry, Recorded, UnreadableLineError
from reprieve.runtime.observers import Machine, Wrapped
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decided

_SUFFIX = ".jsonl"
_DIGITS = 8
_LONGEST_LINE = 512 << 20  # bytes: the first line of a run has the whole cluster
_OWNER_ONLY, _OWNER_ONLY_DIRECTORY = 0o600, 0o700  # a journal shows what runs in all namespaces


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is kept."""

    file_bytes: int = 64 * 2**20  # after which a new file is begun
    files: int = 8


DEFAULT_BOUNDS = Bounds()


class JournalError(Exception):
    """Why a journal cannot be read or replayed, as a sentence."""


# --- writing -------------------------------------------------------------------------------------


class Journal:
    def __init__(
        self,
        directory: Path,
        head: Json,
        complain: Callable[[str], None],
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        self._directory = directory
        self._complain = complain
        self._bounds = bounds
        self._file: BinaryIO | None = None
        self._size = 0
        self._stopped = False
        self._write(lambda: lines.head_line(head))

    def write_events(self, events: list[Event], now: Moment) -> None:
        """Called before the scheduler sees the events, so that those it fails with are written too."""
        self._write(lambda: lines.events_line(events, now))

    def write_decision(self, decided: Decided | None, now: Moment) -> None:
        self._write(lambda: lines.decision_line(decided.decision if decided is not None else None, now))

    def write_records(self, records: tuple[PlanRecord, ...], now: Moment) -> None:
        if records:
            self._write(lambda: lines.records_line(records, now.wall))

    def close(self) -> None:
        self._stopped = True
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, line: Callable[[], bytes]) -> None:
        if self._stopped:
            return
        try:
            self._append(line() + b"\n")
        except Exception as error:  # no error here is a reason to stop scheduling
            self.close()
            text = (
                f"the journal in {self._directory} ends here: {_reason(error)}; scheduling goes on without it"
            )
            self._complain(text)

    def _append(self, line: bytes) -> None:
        if self._file is None or self._size >= self._bounds.file_bytes:
            self._begin_file()
        assert self._file is not None
        left = memoryview(line)
        while left:
            left = left[self._file.write(left) :]
        self._size += len(line)

    def _begin_file(self) -> None:
        """Files that exist stay as they are: a run never appends to the file of another."""
        if self._file is not None:
            self._file.close()
        self._directory.mkdir(mode=_OWNER_ONLY_DIRECTORY, parents=True, exist_ok=True)
        known = _files(self._directory)
        for file in known:
            file.chmod(_OWNER_ONLY)  # also if it was not so before
        number = _number(known[-1]) + 1 if known else 1
        path = self._directory / f"{number:0{_DIGITS}}{_SUFFIX}"
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb", 0)
        self._size = 0
        too_many = max(0, len(known) + 1 - self._bounds.files)
        for oldest in known[:too_many]:
            oldest.unlink(missing_ok=True)


class Journaled(Wrapped):
    """A scheduler whose steps are all written to a journal."""

    def __init__(self, machine: Machine, journal: Journal) -> None:
        super().__init__(machine)
        self._journal = journal

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
        events = list(events)
        self._journal.write_events(events, now)
        effects = self._machine.observe(events, now)
        self._journal.write_records(self._machine.records(), now)
        return effects

    def decide(self, now: Moment) -> Decided | None:
        decided = self._machine.decide(now)
        self._journal.write_decision(decided, now)
        self._journal.write_records(self._machine.records(), now)
        return decided


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob(f"*{_SUFFIX}") if path.stem.isdigit())


def _number(path: Path) -> int:
    return int(path.stem)


# --- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JournalPosition:
    """A place between two lines: in the file of this number, after so many bytes and lines."""

    file: int
    offset: int
    line: int


def read_entries(directory: Path) -> Iterator[Entry]:
    """Every line, the oldest first; raises JournalError at one that cannot be read.

    A last line that is not whole is left out: the process ended while it wrote it.
    """
    return (entry for _, entry in read_located_entries(directory))


def read_located_entries(
    directory: Path, start: JournalPosition | None = None
) -> Iterator[tuple[JournalPosition, Entry]]:
    """Read lines from a position on, each with the position after it; its file must still be there."""
    cut: Path | None = None
    files = _found(directory)
    if start is not None and start.file < _number(files[0]):
        raise JournalError(f"{directory}: file {start.file} of the journal was removed while it was read")
    for path in files:
        if start is not None and _number(path) < start.file:
            continue
        begin = start if start is not None and _number(path) == start.file else _beginning(path)
        offset = begin.offset
        for number, line in _lines(path, begin):
            if not line.endswith(b"\n"):
                cut = path
                break
            found = _entry(path, number, line)
            if cut is not None and not isinstance(found, Began):
                raise JournalError(f"{cut}: the last line is not whole, and {path.name} goes on after it")
            cut = None
            offset += len(line)
            yield JournalPosition(_number(path), offset, number), found


def read_results(directory: Path) -> Iterator[Asked | Recorded]:
    """What came out of the schedulers, the oldest first: decisions and plan records.

    As ``entries``, but events are not decoded: most of a journal is events.
    """
    for path in _found(directory):
        for number, line in _lines(path, _beginning(path)):
            if lines.has_events(line) or not line.endswith(b"\n"):
                continue
            found = _entry(path, number, line)
            if isinstance(found, Asked | Recorded):
                yield found


def _found(directory: Path) -> list[Path]:
    if not directory.is_dir():
        wrong = "a file" if directory.exists() else "nothing"
        raise JournalError(f"{directory}: expected a directory with a journal, got {wrong}")
    found = _files(directory)
    if not found:
        raise JournalError(f"{directory}: expected a journal; `reprieve up --data-dir D` writes to D/journal")
    for before, after in pairwise(found):
        if _number(after) != _number(before) + 1:
            raise JournalError(f"{directory}: the files between {before.name} and {after.name} are missing")
    return found


def _beginning(path: Path) -> JournalPosition:
    return JournalPosition(_number(path), 0, 0)


def _lines(path: Path, begin: JournalPosition) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            file.seek(begin.offset)
            number = begin.line
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise JournalError(
                        f"{path}: line {number} is too long: expected at most {_LONGEST_LINE} bytes"
                    )
                yield number, line
    except OSError as error:
        raise JournalError(f"{path}: cannot be read: {_reason(error)}") from error


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        return lines.parsed_line(line)
    except UnreadableLineError as error:
        raise JournalError(f"{path}: line {number} {error}") from error


def _reason(error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number).lower() if number is not None else str(error)
