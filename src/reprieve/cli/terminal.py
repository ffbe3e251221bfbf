"""Lines on the terminal: results to stdout, notes to stderr.

Colour only if stdout is a terminal and NO_COLOR is not set.
"""

import os
from collections.abc import Iterable

import click

from reprieve.report.text_layout import LineStyle, TextLine


def show(lines: Iterable[TextLine]) -> None:
    # None: click checks whether stdout is a terminal.
    color = False if os.environ.get("NO_COLOR") else None
    for line in lines:
        click.echo(styled(line), color=color)


def styled(line: TextLine) -> str:
    match line.tone:
        case LineStyle.HEADING:
            return click.style(line.text, bold=True)
        case LineStyle.GOOD:
            return click.style(line.text, fg="green")
        case LineStyle.BAD:
            return click.style(line.text, fg="red")
        case LineStyle.FAINT:
            return click.style(line.text, dim=True)
        case LineStyle.PLAIN:
            return line.text


def note(sentence: object) -> None:
    click.echo(str(sentence), err=True)
