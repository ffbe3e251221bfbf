"""How much may readers cost the process that serves them, and how do long answers reach them?

So many at once, and a small part of its time. What is served, and which rights readers have, is not known
here.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar

from aiohttp import web

from reprieve.page.sources import PageRefusedError
from reprieve.supervision.supervisor import log_mishap

T = TypeVar("T")

_SIGN_OF_LIFE_SECONDS = 15.0
_STALLED_SECONDS = 10.0  # a reader that takes nothing for so long is dropped
_DELIVERY_SECONDS = 120.0  # for a whole picture
_PIECE = 1 << 16  # bytes
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
        """Takes a place while the context is open. Raises PageRefusedError. ``reader``: as of ReaderSight."""
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


def _elapsed() -> float:
    return asyncio.get_running_loop().time()


@dataclass(slots=True)
class WorkPace:
    """Work one piece after the other, with rests: all together takes a fifth of the time, and no more.

    Python runs one thread at a time, so that work for readers would slow down the thread that schedules.
    """

    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _next: float = 0.0

    async def run(self, work: Callable[[], T]) -> T:
        async with self._turn:
            await asyncio.sleep(self._next - _elapsed())
            began = _elapsed()
            try:
                return work()
            finally:
                ended = _elapsed()
                self._next = ended + _REST * (ended - began)


# --- long answers --------------------------------------------------------------------------------


@asynccontextmanager
async def answering(request: web.Request, response: web.StreamResponse) -> AsyncIterator[None]:
    """Ends the connection on errors: nothing else can tell that an answer that has begun is not whole."""
    await response.prepare(request)
    try:
        yield
    except ConnectionResetError:
        pass
    except Exception as error:
        # A reader that is too slow is dropped with what waits for it in buffers, and loads the page anew.
        if not isinstance(error, TimeoutError):
            log_mishap(named_request(request), error)
        if request.transport is not None:
            request.transport.abort()


async def delivered(request: web.Request, body: bytes, headers: Mapping[str, str]) -> web.StreamResponse:
    """Sends the body in pieces: a reader that takes none is dropped, and one that is slow has an end, too."""
    response = web.StreamResponse(headers={**headers, "Content-Length": str(len(body))})
    async with answering(request, response), asyncio.timeout(_DELIVERY_SECONDS):
        for start in range(0, len(body), _PIECE):
            await _send(response, body[start : start + _PIECE])
        await response.write_eof()
    return response


@dataclass(slots=True)
class ChangeStream:
    request: web.Request
    response: web.StreamResponse
    _sent_at: float = field(default_factory=_elapsed)

    @property
    def is_open(self) -> bool:
        """A reader that goes away gives its place back soon, and not only when there is something to send."""
        return is_connected(self.request)

    async def send(self, data: bytes) -> None:
        self._sent_at = _elapsed()
        await _send(self.response, data)

    async def show_life(self) -> None:
        if _elapsed() - self._sent_at >= _SIGN_OF_LIFE_SECONDS:
            await self.send(b":\n\n")


async def _send(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(_STALLED_SECONDS):
        await response.write(data)


def named_request(request: web.Request) -> str:
    """The path as it was sent: a line break is still spelled out."""
    return f"page: {request.url.raw_path}"


def is_connected(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()
