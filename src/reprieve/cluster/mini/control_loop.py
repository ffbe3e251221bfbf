"""How a part of the cluster lives: it takes a step whenever something changed or its time has come."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.sqlite_backend import StorageError

_BREATHER = 1.0  # seconds until a write that could not be kept is worth another try


class ControlLoop(Protocol):
    @property
    def informer(self) -> Informer: ...

    def step(self) -> float | None:
        """Says when it wants to be called again even if nothing changes."""


async def run(enter: Callable[[], ControlLoop], clock: Clock) -> None:
    """After a write that could not be kept, a new one takes over: it knows what there is, and no more."""
    while True:
        try:
            await _live(enter(), clock)
        except StorageError:
            await asyncio.sleep(_BREATHER)


async def _live(one: ControlLoop, clock: Clock) -> None:
    with one.informer:
        while True:
            at = one.step()
            await one.informer.wait(None if at is None else max(0.0, at - clock()))
