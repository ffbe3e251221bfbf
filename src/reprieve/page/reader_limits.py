"""How much may readers cost the process that serves them? So many at once, and a small part of its time.

What is served, and which rights readers have, is not known here.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar

from reprieve.page.sources import PageRefusedError

T = TypeVar("T")

_REST = 4  # times as long as the last piece of work took: until the next one begins


@dataclass(slots=True)
class ReaderPlaces:
    """``most``: at once. ``each``: of them, for one reader. ``taken``: what is said when all are."""

    most: int
    each: int
    taken: str
    _readers: Counter[str | None] = field(default_factory=Counter)

    @contextmanager
    def one(self, reader: str | None) -> Iterator[None]:
        """For as long as the context is open; raises PageRefusedError. ``reader``: as of ReaderSight."""
        if self._readers.total() >= self.most:
            raise PageRefusedError(self.taken, HTTPStatus.SERVICE_UNAVAILABLE)
        if reader is not None and self._readers[reader] >= self.each:
            text = f"{self.each} requests of this user are open already: close another tab, or wait"
            raise PageRefusedError(text, HTTPStatus.SERVICE_UNAVAILABLE)
        self._readers[reader] += 1
        try:
            yield
        finally:
            self._readers[reader] -= 1
            if not self._readers[reader]:
                del self._readers[reader]


@dataclass(slots=True)
class WorkPace:
    """Work one piece after the other, with rests: all together takes a fifth of the time, and no more.

    Python runs one thread at a time, so that work for readers would slow down the thread that schedules.
    """

    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _next: float = 0.0

    async def run(self, work: Callable[[], T]) -> T:
        clock = asyncio.get_running_loop().time
        async with self._turn:
            await asyncio.sleep(self._next - clock())
            began = clock()
            try:
                return work()
            finally:
                ended = clock()
                self._next = ended + _REST * (ended - began)
