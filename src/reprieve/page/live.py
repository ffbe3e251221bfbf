"""How does a live picture stay up to date, and how do its readers learn of changes?

It takes what was collected ten times a second while there are readers, and rarely while there are none. It
runs in the event loop of the server; the scheduler never waits for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from reprieve.model.events import Event
from reprieve.page.change_ring import ChangeBatch, ChangeRing
from reprieve.page.feed import FedResult, FedSteps, SchedulerBegins, fold_step
from reprieve.page.picture import Picture
from reprieve.supervision.mishaps import log_mishap

_PERIOD, _IDLE_PERIOD = 0.1, 2.0  # seconds
_SLICE = 500  # steps that are folded before others get their turn

TakeSteps = Callable[[], Awaitable[FedSteps]]


def _ring_of_now() -> ChangeRing:
    """A ring has far fewer revisions than milliseconds pass."""
    return ChangeRing(int(time.time() * 1000))


@dataclass(slots=True)
class LivePicture:
    """``take``: what was collected since the last time."""

    take: TakeSteps
    picture: Picture = field(default_factory=Picture)
    ring: ChangeRing = field(default_factory=_ring_of_now)
    closed: bool = False
    _readers: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _queued: asyncio.Future[None] | None = None
    _refreshing: set[asyncio.Future[None]] = field(default_factory=set)

    async def refresh(self) -> None:
        async with self._turn:
            await self._take_and_fold()

    async def refresh_within(self, seconds: float) -> None:
        """A scheduler in a long step shows nothing new; what was taken must not be lost for that.

        However many readers wait, one refresh is under way and one waits for it.
        """
        if self._queued is None:
            self._queued = asyncio.ensure_future(self._refresh_queued())
            self._refreshing.add(self._queued)
            self._queued.add_done_callback(self._refreshing.discard)
        done, _ = await asyncio.wait({self._queued}, timeout=seconds)
        for one in done:
            one.result()

    async def _refresh_queued(self) -> None:
        async with self._turn:
            self._queued = None  # what happens from here on may be too late for this one
            await self._take_and_fold()

    async def _take_and_fold(self) -> None:
        steps = await self.take()
        for number, step in enumerate((*steps.sights, *steps.results), start=1):
            self._fold(steps.at, step)
            if number % _SLICE == 0:
                await asyncio.sleep(0)
        if steps.sights or steps.results:
            self.picture.observe((), steps.at)
        changes = self.picture.take_changes()
        if changes:
            self.ring.add(self.picture.time, changes, self.picture.resources())
            self._wake()

    def _fold(self, at: float, step: Event | SchedulerBegins | FedResult) -> None:
        """What cannot be shown is left out, and all else is folded."""
        try:
            fold_step(self.picture, at, step)
        except Exception as error:
            log_mishap("page: something cannot be shown", error)

    async def keep_fresh(self) -> None:
        while not self.closed:
            await self.refresh()
            if self._readers:
                await asyncio.sleep(_PERIOD)
                continue
            self._wanted.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_IDLE_PERIOD):
                    await self._wanted.wait()

    def close(self) -> None:
        self.closed = True
        self._wake()

    @contextmanager
    def reading(self) -> Iterator[None]:
        self._readers += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._readers -= 1

    @property
    def readers(self) -> int:
        return self._readers

    async def after(self, revision: int, patience: float) -> Iterator[ChangeBatch] | None:
        """Waits so long for a change; nothing if none came. None as of ChangeRing."""
        if self.ring.revision == revision and not self.closed:
            changed = self._changed
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await changed.wait()
        return self.ring.after(revision)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
