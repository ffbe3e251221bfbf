"""Is this replica alive, and is it ready? The answers to the probes of the kubelet.

A replica that only waits to become the leader is ready: it is there to take over. One that has begun to watch
its cluster, be it to take over fast, is ready when it has seen all of it.

While a decision runs, nothing else runs in the thread of the event loop. How long a decision may take is told
here: from ``SLOW_SECONDS`` on the replica is not ready, because its lease expires; from ``STUCK_SECONDS`` on
it is not alive, because a restart is the better hope. The kubelet decides what is done about it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence

from reprieve.model.effects import Effect
from reprieve.model.events import Event, Synced
from reprieve.model.moment import Moment
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decided
from reprieve.supervision.supervisor import HealthCheck, Supervisor

_log = logging.getLogger(__name__)

SLOW_SECONDS = 10.0  # the default of renewDeadline: a leader that is blocked for so long leads no more
STUCK_SECONDS = 60.0
_BEAT_SECONDS = 0.5


class Heartbeat:
    """Every attribute is replaced as a whole, so that another thread may read it at any time.

    ``elapsed``: the same clock in all threads. Nothing is late before the first beat.
    """

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._last: float | None = None
        self._working_on: Callable[[], str] = str

    def read_from(self, working_on: Callable[[], str]) -> None:
        """A scheduler starts that tells what it is working on."""
        self._working_on = working_on

    def beat(self) -> None:
        self._last = self._elapsed()

    async def keep_beating(self) -> None:
        while True:
            self.beat()
            await asyncio.sleep(_BEAT_SECONDS)

    def blocked_seconds(self) -> float:
        """Tell for how long the event loop has not turned."""
        last = self._last
        return 0.0 if last is None else self._elapsed() - last

    def late(self, limit: float) -> str:
        """What is wrong if the event loop has not turned for so many seconds; empty if it has."""
        seconds = self.blocked_seconds()
        if seconds < limit:
            return ""
        what = self._working_on()
        return f"blocked for {seconds:.0f} s{f', {what}' if what else ''}"


async def report_slow_steps(heartbeat: Heartbeat) -> None:
    """Logs once when the event loop is blocked, and once when it turns again. Runs in another thread."""
    longest = 0.0
    while True:
        wrong, seconds = heartbeat.late(SLOW_SECONDS), heartbeat.blocked_seconds()
        if wrong and not longest:
            _log.warning("scheduling is %s", wrong)
        elif longest and not wrong:
            _log.warning("scheduling goes on, after it was blocked for %.0f s", longest)
        longest = seconds if wrong else 0.0
        await asyncio.sleep(_BEAT_SECONDS)


class Readiness:
    """Observes the scheduler, to learn when it has seen the whole cluster.

    ``supervisor``: keeps the tasks of this replica running, and knows those that cannot go on. ``heartbeat``:
    knows how long the event loop has been blocked. The checks may be made in another thread than that of the
    event loop: what they read is replaced as a whole.
    """

    def __init__(self) -> None:
        self.supervisor = Supervisor()
        self.heartbeat = Heartbeat()
        self._watches = False
        self._knows_all = False
        self._stopping = False

    def on_watching(self) -> None:
        self._watches = True

    def on_synced(self) -> None:
        self._knows_all = True

    def on_stopping(self) -> None:
        self._stopping = True

    def alive(self) -> Iterator[HealthCheck]:
        """A process that can answer is alive, unless its event loop or one of its tasks cannot go on."""
        return self._running(STUCK_SECONDS)

    def ready(self) -> Iterator[HealthCheck]:
        yield from self._running(SLOW_SECONDS)
        yield "shutdown", "it is about to end" if self._stopping else ""
        unknown = self._watches and not self._knows_all
        yield "sched-handler-sync", "not all that the cluster has is known yet" if unknown else ""

    def _running(self, patience: float) -> Iterator[HealthCheck]:
        yield "ping", ""
        yield "scheduling-loop", self.heartbeat.late(patience)
        yield from self.supervisor.checks()

    def on_observed(self, events: Sequence[Event], effects: Sequence[Effect], now: Moment) -> None:
        if Synced() in events:
            self.on_synced()

    def on_decided(self, decided: Decided | None, now: Moment, seconds: float) -> None:
        pass

    def on_recorded(self, records: Sequence[PlanRecord]) -> None:
        pass
