"""Lines with a style, and plain tables.

Knows nothing of clusters, and nothing of terminals: the caller turns a style into a colour, or ignores it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from reprieve.model.formatting import amount, counted, listed

__all__ = ["BLANK", "LineStyle", "TextLine", "amount", "counted", "indented", "listed", "table"]

_GAP = "  "
_INDENT = "  "


class LineStyle(Enum):
    PLAIN = auto()
    HEADING = auto()
    GOOD = auto()
    BAD = auto()
    FAINT = auto()


@dataclass(frozen=True, slots=True)
class TextLine:
    text: str = ""
    tone: LineStyle = LineStyle.PLAIN


BLANK = TextLine()


def indented(lines: Iterable[TextLine]) -> list[TextLine]:
    return [replace(line, text=(_INDENT + line.text).rstrip()) for line in lines]


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int] = ()
) -> list[TextLine]:
    """Columns as wide as their content; the columns in ``numbers`` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    right = frozenset(numbers)

    def laid_out(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return _GAP.join(padded).rstrip()

    return [TextLine(laid_out(header), LineStyle.FAINT), *(TextLine(laid_out(row)) for row in rows)]
