"""Does the event loop that schedules still turn? Written in its thread, read in the one that answers probes.

While a decision runs, nothing else runs in its thread. How long a decision may take is told here: from
``SLOW_SECONDS`` on the replica is not ready, because its lease expires; from ``STUCK_SECONDS`` on it is not
alive, because a restart is the better hope. What is done about it is decided by the kubelet.
"""

import asyncio
import logging
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)

SLOW_SECONDS = 10.0  # the default of renewDeadline: a leader that is blocked for so long leads no more
STUCK_SECONDS = 60.0
_BEAT_SECONDS = 0.5


class Heartbeat:
    """Every attribute is replaced as a whole, so that another thread may read it at any time.

    ``clock``: the same in all threads. Nothing is late before the first beat.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: float | None = None
        self._working_on: Callable[[], str] = str

    def read_from(self, working_on: Callable[[], str]) -> None:
        """A scheduler starts that tells what it is working on."""
        self._working_on = working_on

    def beat(self) -> None:
        self._last = self._clock()

    async def keep_beating(self) -> None:
        while True:
            self.beat()
            await asyncio.sleep(_BEAT_SECONDS)

    def blocked_seconds(self) -> float:
        """For how long the event loop has not turned."""
        last = self._last
        return 0.0 if last is None else self._clock() - last

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
