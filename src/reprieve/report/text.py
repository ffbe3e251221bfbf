"""How things are put on a page: lines with a tone, plain tables, amounts and lists in words.

Knows nothing of clusters, and nothing of terminals: whoever prints a line turns its tone into a colour, or
does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from reprieve.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY

NAMES_SHOWN = 4
_GAP = "  "
_INDENT = "  "
_UNITS = ((50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki"))


class Tone(Enum):
    PLAIN = auto()
    HEADING = auto()
    GOOD = auto()
    BAD = auto()
    FAINT = auto()


@dataclass(frozen=True, slots=True)
class Line:
    text: str = ""
    tone: Tone = Tone.PLAIN


BLANK = Line()


def indented(lines: Iterable[Line]) -> list[Line]:
    return [replace(line, text=(_INDENT + line.text).rstrip()) for line in lines]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int] = ()) -> list[Line]:
    """Columns as wide as what is in them; those named as numbers stand to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    right = frozenset(numbers)

    def laid_out(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return _GAP.join(padded).rstrip()

    return [Line(laid_out(header), Tone.FAINT), *(Line(laid_out(row)) for row in rows)]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], shown: int = NAMES_SHOWN) -> str:
    """The first few, and how many more there are; one more is named rather than counted."""
    if len(names) <= shown + 1:
        return ", ".join(names)
    return f"{', '.join(names[:shown])} and {len(names) - shown} more"


def amount(resource: str, number: int) -> str:
    """A number in the unit of its column, written as Kubernetes writes quantities; bytes are rounded."""
    if resource == CPU:
        return f"{number}m" if 0 < number < 1000 else _plain(number / 1000, 3)
    return _bytes(number) if resource in (MEMORY, EPHEMERAL_STORAGE) else str(number)


def _bytes(number: int) -> str:
    for power, unit in _UNITS:
        if number >= 1 << power:
            return _plain(number / (1 << power), 1) + unit
    return str(number)


def _plain(number: float, decimals: int) -> str:
    return f"{number:.{decimals}f}".rstrip("0").rstrip(".")
