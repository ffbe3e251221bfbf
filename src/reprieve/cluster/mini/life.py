"""How a part of the cluster lives: it takes a step whenever something changed or its time has come."""

from collections.abc import Callable

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.observer import Observer


async def live(step: Callable[[], float | None], observer: Observer, clock: Clock) -> None:
    """``step`` says when it wants to be called again even if nothing changes."""
    with observer:
        while True:
            at = step()
            await observer.wait(None if at is None else max(0.0, at - clock()))
