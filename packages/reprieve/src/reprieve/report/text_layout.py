"""Lines with a style, and plain tables.

Knows nothing of clusters, and nothing of terminals: the caller turns a style into a colour, or ignores it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from reprieve.model.formatting import amount, counted, listed, visible

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


# --- sentences and tables ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    tone: LineStyle = LineStyle.PLAIN


@dataclass(frozen=True, slots=True)
class Table:
    """``numbers``: the columns that are right-aligned. ``left_out``: how many rows there are besides."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    left_out: int = 0


Block = Sentence | Table
PARAGRAPH = Sentence("")


def text_lines(blocks: Iterable[Block]) -> list[TextLine]:
    lines: list[TextLine] = []
    for block in blocks:
        match block:
            case Sentence(text, tone):
                if tone is not LineStyle.PLAIN and lines:
                    lines.append(BLANK)
                lines.append(TextLine(text, tone))
            case Table(header, rows, numbers, left_out):
                lines += [BLANK, *table(header, rows, numbers)]
                if left_out:
                    lines.append(TextLine(f"and {left_out} more", LineStyle.FAINT))
                lines.append(BLANK)
    while lines and lines[-1] == BLANK:
        lines.pop()
    return [line for i, line in enumerate(lines) if not (line == BLANK and i and lines[i - 1] == BLANK)]


def markdown(blocks: Iterable[Block]) -> str:
    parts: list[str] = []
    for block in blocks:
        match block:
            case Sentence(text, LineStyle.PLAIN | LineStyle.FAINT):
                parts += [_escaped(text)] if text else []
            case Sentence(text, LineStyle.HEADING):
                parts.append(f"### {_escaped(text)}")
            case Sentence(text):
                parts.append(f"**{_escaped(text)}**")
            case Table(header, rows, numbers, left_out):
                parts.append("\n".join(_markdown_table(header, rows, numbers)))
                if left_out:
                    parts.append(f"and {left_out} more")
    return "\n\n".join(parts)


def _markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[int]
) -> Iterator[str]:
    yield f"| {' | '.join(cell.capitalize() for cell in header)} |"
    yield f"|{'|'.join('---:' if i in numbers else '---' for i in range(len(header)))}|"
    for row in rows:
        yield f"| {' | '.join(map(_escaped, row))} |"


def _escaped(text: str) -> str:
    """Names of objects must not become markup, nor begin a line of their own."""
    text = visible(text)
    for sign in "\\`*_<>|[]":
        text = text.replace(sign, f"\\{sign}")
    return text
