"""How does a command that takes longer than a second show that it works? On stderr.

A bar on a terminal; elsewhere one line, so that logs stay short.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from reprieve.cli.terminal import note, redraw

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
    """As the rest of a line; empty as long as too little is known. ``done``: within so many seconds."""
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
