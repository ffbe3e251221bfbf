"""One inbox, one consumer: events from the cluster go in, effects for the performer come out."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from reprieve.cluster.port import ScheduledCluster
from reprieve.model.events import Event, Synced
from reprieve.model.moment import Moment
from reprieve.runtime.observers import Machine
from reprieve.runtime.performer import DEFAULT_LIMITS, Performer, PerformerLimits
from reprieve.runtime.solver_process import Improver, InProcess, Solver
from reprieve.scheduler.reporting.decision import Decision
from reprieve.supervision.supervisor import log_mishap

# After so many, or so long, sockets and timers get their turn.
_EVENTS_IN_A_ROW = 500
_DECISIONS_IN_A_ROW = 16
_SECONDS_IN_A_ROW = 0.02  # the lease must be renewed while decisions take long
_LONGEST_WAIT = 10.0  # after which the time of day is looked at again
_FAREWELL_SECONDS = 5.0  # for effects in flight when scheduling ends


def ignore(decision: Decision) -> None:
    """Stands in for callers that do not need the decisions."""


class Loop:
    def __init__(  # noqa: PLR0913, PLR0917  every one is needed
        self,
        scheduler: Machine,
        cluster: ScheduledCluster,
        clock: Callable[[], float],
        record: Callable[[Decision], None] = ignore,
        limits: PerformerLimits = DEFAULT_LIMITS,
        solver: Solver | None = None,
    ) -> None:
        """``clock`` tells the time of day; durations are measured on the clock of the event loop.

        ``solver``: where plans are improved; by default in this process, which virtual time needs.
        """
        self._scheduler = scheduler
        self._cluster = cluster
        self._clock = clock
        self._record = record
        self._inbox: list[Event] = []
        self._knows_all = False
        self._arrived = asyncio.Event()
        self._performer = Performer(cluster, self._put, limits)
        self._improver = Improver(solver or InProcess(), self._put)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Schedules for as long as the context is open, then lets effects in flight end."""
        try:
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(self.run())
                try:
                    yield
                finally:
                    task.cancel()
        finally:
            await self.finish(_FAREWELL_SECONDS)

    async def run(self) -> None:
        """Schedules until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch())
                tasks.create_task(self._consume())
        finally:
            release_memory()

    async def finish(self, seconds: float) -> int:
        await self._improver.close()
        return await self._performer.finish(seconds)

    def _put(self, event: Event) -> None:
        self._inbox.append(event)
        self._arrived.set()

    async def _watch(self) -> None:
        async for sight in self._cluster.watch():
            self._put(sight)
            if len(self._inbox) >= _EVENTS_IN_A_ROW:
                await asyncio.sleep(0)  # a first list can be long

    async def _consume(self) -> None:
        while True:
            self._observe()
            if self._inbox or self._decide_some():
                await asyncio.sleep(0)
            else:
                await self._wait()

    def _observe(self) -> None:
        """Shows the scheduler all that has arrived, before anything is decided."""
        events, self._inbox = self._inbox[:_EVENTS_IN_A_ROW], self._inbox[_EVENTS_IN_A_ROW:]
        self._arrived.clear()
        self._performer.submit(self._scheduler.observe(events, self._now()), self._scheduler.urgency)
        self._log_failures()
        self._end_moot_searches()
        if not self._knows_all and Synced() in events:
            self._knows_all = True
            settle_memory()

    def _decide_some(self) -> bool:
        """True if more may follow."""
        until = asyncio.get_running_loop().time() + _SECONDS_IN_A_ROW
        for _ in range(_DECISIONS_IN_A_ROW):
            if self._performer.holds_up:
                return False
            decided = self._scheduler.decide(self._now())
            self._log_failures()
            if decided is None:
                return False
            self._record(decided.decision)
            self._performer.submit(decided.effects, self._scheduler.urgency)
            if decided.improve is not None:
                self._improver.submit(decided.improve)
            self._end_moot_searches()
            if asyncio.get_running_loop().time() >= until:
                break
        return True

    def _end_moot_searches(self) -> None:
        """The demand is gone, was placed or was planned anew: the solver is free for the next one."""
        if self._improver.is_busy:
            self._improver.keep(self._scheduler.improving())

    def _log_failures(self) -> None:
        for failure in self._scheduler.failures():
            pause = failure.retry_at - asyncio.get_running_loop().time()
            log_mishap(f"scheduler: {failure.target}", failure.error, pause)

    async def _wait(self) -> None:
        """Until something arrives, or the scheduler has something to do.

        Some of that has a time of day, and the clock may be set meanwhile: no wait without a look is long.
        """
        while not self._arrived.is_set():
            # While decisions are held up, a demand whose time comes has to wait until an event arrives.
            due = None if self._performer.holds_up else self._scheduler.next_time()
            pause = None if due is None else due.seconds_from(self._now())
            if pause == 0.0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(None if pause is None else min(pause, _LONGEST_WAIT)):
                    await self._arrived.wait()

    def _now(self) -> Moment:
        return Moment(self._clock(), asyncio.get_running_loop().time())


_BLOCK = 16 << 20  # bytes


def settle_memory() -> None:
    """Called once, after the first list: most objects that there are now stay."""
    gc.freeze()  # the collector need not traverse them again and again
    # glibc returns the free end of its heap to the system, and a decision about thousands of nodes needs it
    # again, page by page: that is a fifth of its time. Once a large block was freed, glibc keeps twice as
    # much. The block itself is never touched, and takes no memory.
    bytes(_BLOCK)


def release_memory() -> None:
    """Called when scheduling ends: the objects may go."""
    gc.unfreeze()
