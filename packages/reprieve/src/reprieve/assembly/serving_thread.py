"""How are probes answered while a decision runs? By a thread of their own, with an event loop of its own.

Threads do not exist in virtual time: there, what is served shares the event loop of the scheduler.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from reprieve.supervision.supervisor import log_mishap

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Opened:
    loop: asyncio.AbstractEventLoop
    end: asyncio.Event
    port: int


@asynccontextmanager
async def in_own_thread(serve: Callable[[], AbstractAsyncContextManager[int]]) -> AsyncIterator[int]:
    """Opens the context in a thread with an event loop, closes it there, and yields the port."""
    opened: Future[_Opened] = Future()
    closed: Future[None] = Future()

    async def main() -> None:
        end = asyncio.Event()
        async with serve() as port:
            opened.set_result(_Opened(asyncio.get_running_loop(), end, port))
            await end.wait()

    def work() -> None:
        try:
            asyncio.run(main())
        except Exception as error:
            if opened.done():
                log_mishap("serving of probes and metrics", error)
            else:
                opened.set_exception(error)
        finally:
            closed.set_result(None)

    # A daemon: a process that is told to end does not wait for a client of its metrics.
    threading.Thread(target=work, name="endpoints", daemon=True).start()
    there = await asyncio.wrap_future(opened)
    try:
        yield there.port
    finally:
        there.loop.call_soon_threadsafe(there.end.set)
        await asyncio.wrap_future(closed)


class ReadByScheduler(Protocol):
    """How is something read that belongs to the thread of the scheduler?"""

    async def __call__(self, read: Callable[[], T], /) -> T: ...


async def in_this_thread(read: Callable[[], T], /) -> T:
    """Read at once: the caller runs in the thread of the scheduler."""
    return read()


class BetweenSteps:
    """The event loop in which this was made reads, between two steps, for callers in other threads."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def __call__(self, read: Callable[[], T], /) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(in_this_thread(read), self._loop))
