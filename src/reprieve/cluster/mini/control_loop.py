"""How a component of the cluster runs: it takes a step at every change, and when its timer is due.

A step that raises anything but a StorageError ends the loop: the supervisor starts it again.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.sqlite_backend import StorageError

_RETRY_SECONDS = 1.0  # after a write that the backend could not store


class ControlLoop(Protocol):
    @property
    def informer(self) -> Informer: ...

    def step(self) -> float | None:
        """Returns when it must be called again even if nothing changes; None for never."""


async def run(start: Callable[[], ControlLoop], clock: Clock) -> None:
    """After a write that failed, start a new one: the memory of the old one may differ from the store."""
    while True:
        try:
            await _run(start(), clock)
        except StorageError:
            await asyncio.sleep(_RETRY_SECONDS)


def earliest(*moments: float | None) -> float | None:
    """The first moment of those that there are."""
    return min((moment for moment in moments if moment is not None), default=None)


async def _run(loop: ControlLoop, clock: Clock) -> None:
    with loop.informer:
        while True:
            at = loop.step()
            await loop.informer.wait(None if at is None else max(0.0, at - clock()))
