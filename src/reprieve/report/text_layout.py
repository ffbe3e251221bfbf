"""Lines with a style, and plain tables.

Knows nothing of clusters, and nothing of terminals: the caller turns a style into a colour, or ignores it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from reprieve.model.formatting import amount, counted, listed

__all__ = ["BLANK", "LineStyle", "TextLine", "amount", "counted", "folded", "indented", "listed", "table"]

_GAP = "  "
_INDENT = "  "
_NARROWEST = 20  # of a cell that is folded


class LineStyle(Enum):
    PLAIN = auto()
    HEADING = auto()
    GOOD = auto()
    BAD = auto()
    FAINT = auto()


@dataclass(frozen=True, slots=True)
class TextLine:
    """``hang``: the column where the rest of it begins if it is folded. ``whole``: it is never folded."""

    text: str = ""
    tone: LineStyle = LineStyle.PLAIN
    hang: int = field(default=0, compare=False)
    whole: bool = field(default=False, compare=False)


BLANK = TextLine()


def indented(lines: Iterable[TextLine], by: str = _INDENT) -> list[TextLine]:
    return [replace(line, text=(by + line.text).rstrip(), hang=line.hang + len(by)) for line in lines]


def folded(line: TextLine, width: int) -> list[TextLine]:
    """The line in as many as it needs to be no wider, broken between words, with its last cell hanging."""
    if len(line.text) <= width or line.whole:
        return [line]
    indent = len(line.text) - len(line.text.lstrip())
    has_room = width - line.hang >= _NARROWEST or line.hang <= indent
    hang = line.hang if has_room else indent + len(_INDENT)
    head, rest = line.text[: line.hang], line.text[line.hang :]
    if hang != line.hang and head.strip():  # its last cell gets lines of its own
        return [replace(line, text=head.rstrip()), *folded(_below(line, hang, rest), width)]
    end = line.text.rfind(" ", max(hang, indent) + 1, width + 1)
    if end < 0:
        return [line]
    below = _below(line, hang, line.text[end:].lstrip())
    return [replace(line, text=line.text[:end].rstrip()), *folded(below, width)]


def _below(line: TextLine, hang: int, text: str) -> TextLine:
    return replace(line, text=" " * hang + text, hang=hang)


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

    hang = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    return [
        TextLine(laid_out(header), LineStyle.FAINT, hang),
        *(TextLine(laid_out(row), hang=hang) for row in rows),
    ]
