"""Which lines, and which cells, does the text of a trace have?

No format that is read has line breaks within a cell, so that a quote without its end spoils one line only.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from reprieve.cluster.api.compression import DamagedFileError, uncompressed

# Not as splitlines: a JSON string may contain other separators.
_LINE = re.compile(r"[^\r\n]*(\r\n|\n|\r|\Z)")


class TraceError(Exception):
    """A trace cannot be read at all, as a sentence."""


def decoded_text(name: str, content: bytes) -> str:
    """Unpacked first, if it is a gzip file: archives have those."""
    try:
        return unpacked(name, content).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceError(f"{name}: expected a text file in UTF-8, got other bytes at {error.start}") from None


def unpacked(name: str, content: bytes) -> bytes:
    try:
        return uncompressed(content)
    except DamagedFileError as error:
        raise TraceError(f"{name}: {error}") from error


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, counted from 1."""
    for number, found in enumerate(_LINE.finditer(text), start=1):
        line = found[0].rstrip("\r\n")
        if line.strip():
            yield number, line


@dataclass(frozen=True, slots=True)
class CsvTable:
    """``columns``: of the header, without spaces around them; ``line``: where it is."""

    columns: tuple[str, ...]
    line: int
    text: str

    def rows(self) -> Iterator[tuple[int, list[str] | None]]:
        """Cells without spaces around them; None: quotes without an end, or a cell that is far too long."""
        lines = numbered_lines(self.text)
        next(lines, None)
        for number, line in lines:
            yield number, _cells(line)


def csv_table(name: str, text: str) -> CsvTable:
    line, header = next(numbered_lines(text), (1, ""))
    columns = tuple(_cells(header) or (header.strip(),))  # one, if its quotes have no end
    twice = next((column for i, column in enumerate(columns) if column in columns[:i]), None)
    if twice is not None:
        raise TraceError(f"{name}: expected each column once, got {twice[:60]!r} twice")
    return CsvTable(columns, line, text)


def _cells(line: str) -> list[str] | None:
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        row = next(csv.reader([line], skipinitialspace=True, strict=True))
    except csv.Error:
        return None
    return [cell.strip() for cell in row]
