"""An event loop whose clock jumps: whenever all would wait, time passes at once.

Hours of a simulated cluster take as long as their work. Sockets on this machine work too, since what one
end sends the other can read at once; threads and subprocesses do not, because no timer waits for them.
"""

import asyncio
import math
import selectors
import time
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

EPOCH = 1_767_225_600.0  # simulated clusters begin with the year 2026


class StuckError(RuntimeError):
    """All tasks wait, and nothing will ever happen."""


class _JumpingSelector(selectors.BaseSelector):
    """If nothing can be read now, it lets the time pass that the loop would have waited: at once, or, for
    a spectator, so many times faster than the real clock."""

    def __init__(self, speed: float | None) -> None:
        self._real = selectors.DefaultSelector()
        self._speed = speed
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise StuckError("every task waits, and no timer is set that could wake one")
        if self._speed is not None:
            time.sleep(timeout / self._speed)
        self.now += timeout
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


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
