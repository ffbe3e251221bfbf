"""An event loop whose clock jumps: whenever all would wait, time passes at once.

Hours of a simulated cluster take as long as their work. Sockets on this machine work too, since what one
end sends the other can read at once; threads and subprocesses do not, because no timer waits for them.
"""

import asyncio
import math
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

EPOCH = 1_767_225_600.0  # simulated clusters begin with the year 2026


class StuckError(RuntimeError):
    """All tasks wait, and nothing will ever happen."""


class _JumpingSelector(selectors.DefaultSelector):
    """If nothing can be read now, it lets the time pass that the loop would have waited: at once, or, for
    a spectator, so many times faster than the real clock."""

    def __init__(self, speed: float | None) -> None:
        super().__init__()
        self._speed = speed
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise StuckError("every task waits, and no timer is set that could wake one")
        if self._speed is not None:
            time.sleep(timeout / self._speed)
        self.now += timeout
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, speed: float | None = None) -> None:
        self._jumping = _JumpingSelector(speed)
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    @property
    def _clock_resolution(self) -> float:
        """What asyncio adds to the time to see which timers are due.

        The sum must differ from the time, or none ever is. With the smallest such number a timer fires
        exactly at its time, however late that is.
        """
        return math.ulp(self.time())

    @_clock_resolution.setter
    def _clock_resolution(self, _: float) -> None:
        """asyncio sets that of the real clock."""


def clock() -> float:
    """The time of day in the running simulation, in seconds since 1970."""
    return EPOCH + asyncio.get_running_loop().time()


def run(main: Coroutine[Any, Any, T], speed: float | None = None) -> T:
    """Like asyncio.run, in virtual time: so many seconds of it in a real one, or any number."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(speed)) as runner:
        return runner.run(main)
