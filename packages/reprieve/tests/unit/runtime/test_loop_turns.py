"""The loop delays nothing for long: it observes long lists in parts, and leaves what stays alone."""

import asyncio
import gc
from collections.abc import Iterable
from itertools import pairwise

from tests.unit.runtime.fake_cluster import FakeCluster
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.model.effects import Effect
from reprieve.model.events import Event, Seen, Synced
from reprieve.model.moment import Moment
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decided
from reprieve_minicluster.virtual_time import VirtualTimeLoop, clock, run

PODS = 1800


class Counting(Scheduler):
    """Remembers how many events it was shown at a time, before anything was decided."""

    def __init__(self) -> None:
        super().__init__()
        self.portions: list[int] = []

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
        shown = list(events)
        if sum(self.portions) <= PODS:
            self.portions.append(len(shown))
        return super().observe(shown, now)


def test_others_get_their_turn_while_a_long_list_is_looked_at() -> None:
    async def main() -> tuple[list[int], int]:
        cluster, scheduler, turns = FakeCluster(), Counting(), 0
        cluster.show([Seen(a_node("n1")), *(Seen(a_pod(f"p{i}")) for i in range(PODS)), Synced()])
        async with Loop(scheduler, cluster, clock).running():
            while sum(scheduler.portions) <= PODS:
                turns += 1
                await asyncio.sleep(0)
        return scheduler.portions, turns

    portions, turns = run(main())
    assert max(portions) <= 500
    assert turns >= 4


class Slow(Scheduler):
    """Every decision takes a second."""

    def __init__(self) -> None:
        super().__init__()
        self.decided = 0

    def decide(self, now: Moment) -> Decided | None:
        decided = super().decide(now)
        self.decided += decided is not None
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop._jumping.now += decided is not None
        return decided


def test_others_get_their_turn_between_two_decisions_that_take_long() -> None:
    async def main() -> list[int]:
        cluster, scheduler, seen = FakeCluster(), Slow(), [0]
        cluster.show([Seen(a_node("n1", cpu="100")), *(Seen(a_pod(f"p{i}")) for i in range(40)), Synced()])
        async with Loop(scheduler, cluster, clock).running():
            while scheduler.decided < 40:
                seen.append(scheduler.decided)
                await asyncio.sleep(0)
        return seen

    seen = run(main())
    assert max(after - before for before, after in pairwise(seen)) == 1


def test_what_a_cluster_consists_of_is_frozen_for_as_long_as_it_is_scheduled() -> None:
    async def main() -> tuple[int, int]:
        cluster = FakeCluster()
        cluster.show([Seen(a_node("n1")), Synced()])
        async with Loop(Scheduler(), cluster, clock).running():
            await asyncio.sleep(1.0)
            during = gc.get_freeze_count()
        return during, gc.get_freeze_count()

    during, then = run(main())
    assert during > 1000
    assert then == 0
