"""Lines on a terminal, or wherever the output goes.

Results go to stdout and notes to stderr. There is colour only on a terminal, and never if NO_COLOR is set.
"""

import os
from collections.abc import Iterable

import click

from reprieve.report.text import Line, Tone


def show(lines: Iterable[Line]) -> None:
    # None leaves it to click, which looks whether stdout is a terminal.
    color = False if os.environ.get("NO_COLOR") else None
    for line in lines:
        click.echo(painted(line), color=color)


def painted(line: Line) -> str:
    match line.tone:
        case Tone.HEADING:
            return click.style(line.text, bold=True)
        case Tone.GOOD:
            return click.style(line.text, fg="green")
        case Tone.BAD:
            return click.style(line.text, fg="red")
        case Tone.FAINT:
            return click.style(line.text, dim=True)
        case Tone.PLAIN:
            return line.text


def note(sentence: object) -> None:
    click.echo(str(sentence), err=True)
