"""Sentences and tables, and how they are laid out: as lines for a terminal, or as Markdown.

This module knows nothing of what they say.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reprieve.report.text_layout import BLANK, LineStyle, TextLine, table


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
    """Names of objects must not become markup."""
    for sign in "\\`*_<>|[]":
        text = text.replace(sign, f"\\{sign}")
    return text
