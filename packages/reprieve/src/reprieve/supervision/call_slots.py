"""Slots for calls: so many run at once, and one that hangs gives its slot back.

Otherwise as many calls as there are slots could stop all others.
"""

import asyncio
from types import TracebackType


class CallSlots:
    """``seconds``: after which a call that hangs no longer counts."""

    def __init__(self, at_once: int, seconds: float) -> None:
        self.free = asyncio.Semaphore(at_once)
        self.seconds = seconds

    def one(self) -> "CallSlot":
        return CallSlot(self)


class CallSlot:
    """One of the slots, taken for as long as the context is open. A class, since every call takes one."""

    def __init__(self, slots: CallSlots) -> None:
        self._slots = slots
        self._is_taken = False
        self._hanging: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        await self._slots.free.acquire()
        self._is_taken = True
        self._hanging = asyncio.get_running_loop().call_later(self._slots.seconds, self._give_back)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._hanging is not None:
            self._hanging.cancel()
        self._give_back()

    def _give_back(self) -> None:
        """Give the slot back once: at the end of the call, or at the time limit."""
        if self._is_taken:
            self._is_taken = False
            self._slots.free.release()
