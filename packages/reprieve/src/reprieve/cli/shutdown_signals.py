"""Graceful shutdown of a command by SIGINT or SIGTERM."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ONE_AND_THE_SAME = 1.0  # seconds: one Ctrl-C may arrive twice, from the terminal and from a parent process


@contextmanager
def interruption(*, exit_on_second: bool = False) -> Iterator[asyncio.Event]:
    """An event that the first signal sets. ``exit_on_second``: the second signal exits at once."""
    event, loop = asyncio.Event(), asyncio.get_running_loop()
    handler = _exiting_on_second(event, loop) if exit_on_second else event.set
    for number in _SIGNALS:
        loop.add_signal_handler(number, handler)
    try:
        yield event
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _exiting_on_second(event: asyncio.Event, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    first = 0.0

    def handler() -> None:
        nonlocal first
        if not event.is_set():
            first = loop.time()
            event.set()
        elif loop.time() - first > _ONE_AND_THE_SAME:
            os._exit(1)

    return handler
