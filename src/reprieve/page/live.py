"""How does a live picture stay up to date, and how do its readers learn of changes?

It takes what was collected ten times a second while there are readers, and rarely while there are none. It
runs in the event loop of the server; the scheduler never waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from reprieve.page.change_ring import ChangeBatch, ChangeRing
from reprieve.page.feed import FedSteps, fold_steps, slices
from reprieve.page.picture import Picture
from reprieve.supervision.mishaps import log_mishap

_PERIOD, _IDLE_PERIOD = 0.1, 2.0  # seconds
_SLICE = 500  # events that are folded before others get their turn

TakeSteps = Callable[[], Awaitable[FedSteps]]


@dataclass(slots=True)
class LivePicture:
    """``take``: what was collected since the last time."""

    take: TakeSteps
    picture: Picture = field(default_factory=Picture)
    ring: ChangeRing = field(default_factory=ChangeRing)
    closed: bool = False
    _readers: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _refreshing: set[asyncio.Future[None]] = field(default_factory=set)

    async def refresh(self) -> None:
        async with self._turn:
            for part in slices(await self.take(), _SLICE):
                self._fold(part)
                await asyncio.sleep(0)
            changes = self.picture.take_changes()
            if changes:
                self.ring.add(self.picture.time, changes, self.picture.resources())
                self._wake()

    async def refresh_within(self, seconds: float) -> None:
        """A scheduler in a long step shows nothing new; what was taken must not be lost for that."""
        task = asyncio.ensure_future(self.refresh())
        self._refreshing.add(task)
        task.add_done_callback(self._refreshing.discard)
        done, _ = await asyncio.wait({task}, timeout=seconds)
        for one in done:
            one.result()

    def _fold(self, steps: FedSteps) -> None:
        """An object that cannot be shown is left out, and the others are folded: twice changes nothing."""
        try:
            fold_steps(self.picture, steps)
        except Exception:
            for one in slices(steps, 1):
                try:
                    fold_steps(self.picture, one)
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
