"""A cluster that shows what it is given, and answers effects as it was told to, all in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field

from reprieve.cluster.port import Answer, ClusterEvent, Succeeded
from reprieve.model.effects import Announce, Bind, Effect, Target, Tone, WriteStatus
from reprieve.model.urgency import FIRST, Urgency

Order = Effect | WriteStatus


def pod(name: str) -> Target:
    return Target("Pod", "default", name, f"uid-{name}")


def bind(name: str, node: str = "n1") -> Bind:
    return Bind(pod(name), node)


def announce(name: str, note: str = "a note") -> Announce:
    return Announce(pod(name), Tone.NORMAL, "Testing", "Testing", note)


def succeed(_: Order) -> Answer:
    return Succeeded()


def in_turn(*answers: Answer) -> Callable[[Order], Answer]:
    """One answer after the other, the last one for ever."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@dataclass(slots=True)
class FakeCluster:
    """``tried`` tells when each effect was tried, and ``most_at_once`` how many were being tried together."""

    answer: Callable[[Order], Answer] = succeed
    seconds: float = 0.0  # that an answer takes
    tried: list[tuple[float, Order]] = field(default_factory=list)
    most_at_once: int = 0
    _under_way: int = 0
    _sights: asyncio.Queue[ClusterEvent] = field(default_factory=asyncio.Queue)

    def show(self, sights: Iterable[ClusterEvent]) -> None:
        for sight in sights:
            self._sights.put_nowait(sight)

    async def watch(self) -> AsyncIterator[ClusterEvent]:
        while True:
            yield await self._sights.get()

    async def perform(self, effect: Order, urgency: Urgency = FIRST) -> Answer:
        self.tried.append((asyncio.get_running_loop().time(), effect))
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            await asyncio.sleep(self.seconds)
            return self.answer(effect)
        finally:
            self._under_way -= 1
