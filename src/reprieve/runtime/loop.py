"""One inbox, one consumer: events from the cluster go in, effects for the performer come out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from reprieve.cluster.port import ScheduledCluster
from reprieve.model.events import Event, Synced
from reprieve.runtime import memory
from reprieve.runtime.improver import Improver, InProcess, Solver
from reprieve.runtime.observers import Machine
from reprieve.runtime.performer import DEFAULT_LIMITS, Performer, PerformerLimits
from reprieve.scheduler.decision import Decision
from reprieve.supervision.mishaps import log_mishap

# After so many, or so long, sockets and timers get their turn.
_EVENTS_IN_A_ROW = 500
_DECISIONS_IN_A_ROW = 16
_SECONDS_IN_A_ROW = 0.02  # the lease must be renewed while decisions take long
_FAREWELL_SECONDS = 5.0  # for effects in flight when scheduling ends


def ignore(decision: Decision) -> None:
    """For callers that do not need the decisions."""


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
        """``solver``: where plans are improved; by default in this process, which virtual time needs."""
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
            memory.release()

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
        self._performer.submit(self._scheduler.observe(events, self._clock()))
        self._log_failures()
        self._end_moot_searches()
        if not self._knows_all and Synced() in events:
            self._knows_all = True
            memory.settle()

    def _decide_some(self) -> bool:
        """True if more may follow."""
        until = self._clock() + _SECONDS_IN_A_ROW
        for _ in range(_DECISIONS_IN_A_ROW):
            if self._performer.holds_up:
                return False
            decided = self._scheduler.decide(self._clock())
            self._log_failures()
            if decided is None:
                return False
            self._record(decided.decision)
            self._performer.submit(decided.effects)
            if decided.improve is not None:
                self._improver.submit(decided.improve)
            self._end_moot_searches()
            if self._clock() >= until:
                break
        return True

    def _end_moot_searches(self) -> None:
        """The demand is gone, was placed or was planned anew: the solver is free for the next one."""
        if self._improver.is_busy:
            self._improver.keep(self._scheduler.improving())

    def _log_failures(self) -> None:
        for failure in self._scheduler.failures():
            log_mishap(f"scheduler: {failure.target}", failure.error, failure.retry_at - self._clock())

    async def _wait(self) -> None:
        # While decisions are held up, a demand whose time comes has to wait until an event arrives.
        until = None if self._performer.holds_up else self._scheduler.next_time()
        pause = None if until is None else max(until - self._clock(), 0.0)
        try:
            async with asyncio.timeout(pause):
                await self._arrived.wait()
        except TimeoutError:
            return
