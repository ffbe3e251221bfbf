"""The only place where commands write: results to stdout, notes and progress to stderr.

Control characters in text are spelled out, so that no object can send escape sequences to a terminal. Colour
only if stdout is a terminal and NO_COLOR is not set.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import Any, TypeVar

import click

from reprieve.model.formatting import visible
from reprieve.report.text_layout import LineStyle, TextLine, folded

F = TypeVar("F", bound=Callable[..., Any])


def show(lines: Iterable[TextLine]) -> None:
    # None: click checks whether stdout is a terminal.
    color = False if os.environ.get("NO_COLOR") else None
    for line in lines:
        click.echo(styled(line), color=color)


def show_fitting(lines: Iterable[TextLine]) -> None:
    """Folds lines to the width of a terminal; elsewhere they stay whole, for grep and for files."""
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


# --- progress ------------------------------------------------------------------------------------


# A command that takes longer than a second shows that it works: as a bar on a terminal, and elsewhere in one
# line, so that logs stay short.
_QUIET_SECONDS = 1.0
_BETWEEN_SECONDS = 0.1
_WIDTH = 30
_ESTIMATED_AFTER_SECONDS = 5.0


class ProgressBar:
    """``about``: what is done, as in "reading the cluster"."""

    def __init__(self, about: str) -> None:
        self._about = about
        self._began = time.monotonic()
        self._shown_at = 0.0
        self._first: int | None = None  # what was done before this began
        self._lock = threading.Lock()
        self._is_open = True

    def show(self, done: int, expected: int) -> None:
        """``expected``: 0 or no more than ``done``: unknown."""
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if now - self._began < _QUIET_SECONDS or now - self._shown_at < _BETWEEN_SECONDS:
            return
        if done < expected:
            filled = _WIDTH * done // expected
            bar = f"{'#' * filled}{'.' * (_WIDTH - filled)}"
            left = time_left(now - self._began, done - self._first, expected - done)
            self._draw(f"{bar} {done} of {expected}{left}", now)
        else:
            self._draw(f"{done}", now)

    def begin(self) -> None:
        """Shows that something is done, without saying how much."""
        self._draw("", time.monotonic())

    def close(self) -> None:
        with self._lock:
            self._is_open = False
            if self._shown_at and sys.stderr.isatty():
                redraw("")

    def _draw(self, amount: str, now: float) -> None:
        with self._lock:
            if not self._is_open:
                return
            if sys.stderr.isatty():
                redraw(f"{self._about}… {amount}")
            elif not self._shown_at:
                note(f"{self._about}…")
            self._shown_at = now


def time_left(seconds: float, done: int, left: int) -> str:
    """The rest of a line; empty as long as too little is known. ``done``: within so many seconds."""
    if seconds < _ESTIMATED_AFTER_SECONDS or done <= 0:
        return ""
    expected = seconds * left / done
    if expected < 60:
        return f", about {max(1, round(expected))} s left"
    minutes = round(expected / 60)
    return f", about {minutes} min left" if minutes < 120 else f", about {round(minutes / 60)} h left"


@contextmanager
def progress_bar(about: str) -> Iterator[ProgressBar]:
    """Shows itself after a second, also if the work reports nothing until then."""
    bar = ProgressBar(about)
    timer = threading.Timer(_QUIET_SECONDS, bar.begin)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        bar.close()


# --- documents -----------------------------------------------------------------------------------

_OLDER = "v1alpha1"
DOCUMENT_FORMATS = ("json", "yaml")
OLDER_FORMATS = (f"json={_OLDER}", f"yaml={_OLDER}")


def output_flag(*formats: str) -> Callable[[F], F]:
    """-o, with these values; the first is the default."""
    return click.option(
        "-o", "--output", type=click.Choice(formats), default=formats[0], help="Output format."
    )


def format_and_version(output: str) -> tuple[str, str]:
    """Splits a value of -o: json or yaml, and the apiVersion; OLDER_FORMATS stand for the one before."""
    from reprieve.scheduler.reporting.decision_document import API_VERSION
    from reprieve.scheduler.reporting.older_decisions import V1ALPHA1

    name, _, version = output.partition("=")
    return name, V1ALPHA1 if version == _OLDER else API_VERSION


def say_document(document: object, form: str = "json") -> None:
    """``form``: one of DOCUMENT_FORMATS."""
    if form == "json":
        return say(json.dumps(document, indent=2))
    import yaml

    return say(yaml.safe_dump(document, sort_keys=False).removesuffix("\n"))
