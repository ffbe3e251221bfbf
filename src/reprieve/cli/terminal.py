"""The only place where commands write: results to stdout, notes to stderr.

Control characters in text are spelled out, so that no object can send escape sequences to a terminal. Colour
only if stdout is a terminal and NO_COLOR is not set.
"""

import os
import sys
from collections.abc import Iterable
from shutil import get_terminal_size

import click

from reprieve.model.formatting import visible
from reprieve.report.text_layout import LineStyle, TextLine, folded


def show(lines: Iterable[TextLine]) -> None:
    # None: click checks whether stdout is a terminal.
    color = False if os.environ.get("NO_COLOR") else None
    for line in lines:
        click.echo(styled(line), color=color)


def show_fitting(lines: Iterable[TextLine]) -> None:
    """On a terminal, lines are folded to its width; elsewhere they stay whole, for grep and for files."""
    width = get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else sys.maxsize
    show(part for line in lines for part in folded(line, width))


def say(text: str) -> None:
    """A result of one line, or of several: line breaks are kept."""
    click.echo(visible_lines(text))


def note(sentence: object) -> None:
    click.echo(visible_lines(str(sentence)), err=True)


def prompt(text: str) -> None:
    """Ends without a line break."""
    click.echo(visible(text), nl=False, err=True)


def redraw(text: str) -> None:
    """The last line of a terminal on stderr, anew; without text, the line is erased."""
    click.echo(f"\r\x1b[K{visible(text)}", nl=False, err=True)


def styled(line: TextLine) -> str:
    text = visible(line.text)
    match line.tone:
        case LineStyle.HEADING:
            return click.style(text, bold=True)
        case LineStyle.GOOD:
            return click.style(text, fg="green")
        case LineStyle.BAD:
            return click.style(text, fg="red")
        case LineStyle.FAINT:
            return click.style(text, dim=True)
        case LineStyle.PLAIN:
            return text


def visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))
