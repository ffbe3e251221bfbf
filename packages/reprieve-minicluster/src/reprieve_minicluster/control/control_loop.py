"""How a component of the cluster runs: it takes a step at every change, and when its timer is due.

A step that raises anything but a StorageError ends the loop: the supervisor starts it again.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Protocol

from reprieve.cluster.api.timestamps import Clock
from reprieve_minicluster.control.object_guard import ObjectWork, object_guard
from reprieve_minicluster.store import EventType, Informer, StorageError, Store, WatchEvent

_RETRY_SECONDS = 1.0  # after a write that the backend could not store


class ControlLoop(Protocol):
    @property
    def informer(self) -> Informer: ...

    def step(self) -> float | None:
        """Returns when it must be called again even if nothing changes; None for never."""

    def close(self) -> None: ...


async def run_forever(start: Callable[[], ControlLoop], clock: Clock) -> None:
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
    with closing(loop):
        while True:
            at = loop.step()
            await loop.informer.wait(None if at is None else max(0.0, at - clock()))


class GuardedLoop(ABC):
    """Sees every change of some resource types, and then works; an object that fails is set aside."""

    def __init__(self, store: Store, name: str, resources: Sequence[str]) -> None:
        self._store = store
        self._clock = store.clock
        self._guard = object_guard(store, name)
        self.informer = Informer(store, resources)

    def step(self) -> float | None:
        for change in self.informer.poll():
            work = ObjectWork("observe", change.object.key)
            at_once = change.type is EventType.DELETED
            self._guard.run(work, partial(self._on_change, change), at_once=at_once)
        self._work()
        self._guard.retry_due()
        return earliest(self._next_at(), self._guard.next_at())

    def close(self) -> None:
        self.informer.close()

    @abstractmethod
    def _on_change(self, change: WatchEvent) -> None: ...

    @abstractmethod
    def _work(self) -> None: ...

    @abstractmethod
    def _next_at(self) -> float | None:
        """When it has to work again even if nothing changes; None for never."""
