"""Ending a command politely: by Ctrl-C, or by whoever ends the process."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ONE_AND_THE_SAME = 1.0  # seconds: a shell and what it runs may both pass on the wish to end


@contextmanager
def interruption(*, at_once_if_told_twice: bool = False) -> Iterator[asyncio.Event]:
    """An event that is set by the first signal."""
    event, loop = asyncio.Event(), asyncio.get_running_loop()
    told = _impatient(event, loop) if at_once_if_told_twice else event.set
    for number in _SIGNALS:
        loop.add_signal_handler(number, told)
    try:
        yield event
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _impatient(event: asyncio.Event, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    first = 0.0

    def told() -> None:
        nonlocal first
        if not event.is_set():
            first = loop.time()
            event.set()
        elif loop.time() - first > _ONE_AND_THE_SAME:
            os._exit(1)

    return told
