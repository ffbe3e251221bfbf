"""The shell around the scheduler: it wakes for events and for times, and carries everything out."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest
from tests.unit.runtime.fake_cluster import FakeCluster, in_turn
from tests.unit.scheduler.making import a_node, a_pod, bound, target

from reprieve.cluster.port import ClusterEvent, Lost, Refused, Succeeded
from reprieve.model.effects import Announce, Bind, Effect, SetCondition
from reprieve.model.events import Gone, Seen, Synced
from reprieve.model.moment import Moment, on_one_clock
from reprieve.model.objects import Pod
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.shape import CompiledPod
from reprieve.runtime.loop import Loop
from reprieve.runtime.observers import ObservedScheduler
from reprieve.runtime.performer import PerformerLimits
from reprieve.runtime.readiness import Readiness
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve_minicluster.virtual_time import EPOCH, clock, run

Story = Callable[[FakeCluster], Awaitable[None]]


def decisions_of(cluster: FakeCluster, story: Story, limits: PerformerLimits | None = None) -> list[Decision]:
    """What is decided while a story is told, and one day after it."""
    decisions: list[Decision] = []

    async def main() -> None:
        loop = Loop(Scheduler(), cluster, clock, decisions.append, limits or PerformerLimits())
        running = asyncio.create_task(loop.run())
        await story(cluster)
        await asyncio.sleep(86400.0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert await loop.finish(60.0) == 0

    run(main())
    return decisions


def shows(*sights: ClusterEvent) -> Story:
    async def story(cluster: FakeCluster) -> None:
        cluster.show(sights)

    return story


def tried(cluster: FakeCluster, kind: type[Effect]) -> list[tuple[float, Effect]]:
    return [(time, effect) for time, effect in cluster.tried if isinstance(effect, kind)]


def test_what_is_shown_is_placed_and_recorded() -> None:
    cluster = FakeCluster()
    (decision,) = decisions_of(cluster, shows(Seen(a_node("n1")), Seen(a_pod("p")), Synced()))
    assert (decision.outcome, decision.nodes, decision.at) == (Outcome.PLACED, ("n1",), EPOCH)
    assert tried(cluster, Bind) == [(0.0, Bind(target(a_pod("p")), "n1"))]


def test_events_go_before_decisions() -> None:
    """The small pod came first, but when it is looked at, the important one is there too."""
    small, large = a_pod("small", cpu="1"), a_pod("large", cpu="1", priority=9)
    first, second, *_ = decisions_of(
        FakeCluster(), shows(Seen(a_node("n1", cpu="1")), Synced(), Seen(small), Seen(large))
    )
    assert (first.demand, first.outcome) == (target(large), Outcome.PLACED)
    assert (second.demand, second.outcome) == (target(small), Outcome.UNSCHEDULABLE)


def test_events_that_come_between_decisions_are_looked_at_first() -> None:
    """A hundred pods are in line when a node that all prefer appears: the rest goes there."""
    cluster = FakeCluster()

    async def story(cluster: FakeCluster) -> None:
        pods = [Seen(a_pod(f"p{i:03}")) for i in range(100)]
        cluster.show([Seen(a_node("n1", cpu="1000")), *pods, Synced()])
        for _ in range(4):
            await asyncio.sleep(0)
        cluster.show([Gone(target(a_node("n1", cpu="1000"))), Seen(a_node("n2", cpu="1000"))])

    decisions = decisions_of(cluster, story)
    nodes = [decision.nodes for decision in decisions]
    assert nodes.index(("n2",)) > 0
    assert nodes == sorted(nodes)


def test_it_wakes_by_itself_when_a_time_has_come() -> None:
    """The bind is refused, so the pod is tried again when its backoff of one second is over."""
    cluster = FakeCluster(lambda e: Refused("no", again=False) if isinstance(e, Bind) else Succeeded())

    async def story(cluster: FakeCluster) -> None:
        cluster.show([Seen(a_node("n1")), Seen(a_pod("p")), Synced()])
        await asyncio.sleep(3.5)
        cluster.answer = in_turn(Succeeded())

    decisions = decisions_of(cluster, story)
    assert [decision.at - EPOCH for decision in decisions] == [0.0, 1.0, 3.0, 7.0]


def test_a_lost_bind_is_sent_again() -> None:
    answers = in_turn(Lost("gone astray"), Succeeded())
    cluster = FakeCluster(lambda e: answers(e) if isinstance(e, Bind) else Succeeded())
    decisions_of(cluster, shows(Seen(a_node("n1")), Seen(a_pod("p")), Synced()), PerformerLimits(attempts=1))
    assert [time for time, _ in tried(cluster, Bind)] == [0.0, 10.0]


def test_how_effects_ended_comes_back_to_the_scheduler() -> None:
    cluster = FakeCluster()
    decisions_of(cluster, shows(Seen(a_node("n1")), Seen(a_pod("p")), Synced()))
    ((_, told),) = tried(cluster, Announce)
    assert isinstance(told, Announce)
    assert told.note == "Successfully assigned default/p to n1"


def test_an_unschedulable_pod_is_told_and_placed_when_a_node_comes() -> None:
    cluster = FakeCluster()

    async def story(cluster: FakeCluster) -> None:
        cluster.show([Seen(a_pod("p")), Synced()])
        await asyncio.sleep(60.0)
        cluster.show([Seen(a_node("n1"))])
        await asyncio.sleep(1.0)
        cluster.show([Seen(bound(a_pod("p"), "n1"))])

    first, second = decisions_of(cluster, story)
    assert (first.outcome, second.outcome, second.at) == (Outcome.UNSCHEDULABLE, Outcome.PLACED, EPOCH + 60.0)
    assert len(tried(cluster, SetCondition)) == 1


def test_nothing_is_decided_while_nothing_happens() -> None:
    """A pod that fits nowhere is looked at again every five minutes, and otherwise left in peace."""
    decisions = decisions_of(FakeCluster(), shows(Seen(a_pod("p")), Synced()))
    assert [decision.at - EPOCH for decision in decisions] == [300.0 * i for i in range(289)]


def test_an_object_that_the_scheduler_fails_on_is_logged_and_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, mishaps: list[logging.LogRecord]
) -> None:
    def compile_unless_broken(pod: Pod) -> CompiledPod:
        if pod.metadata.name == "bad" and clock() < EPOCH + 2.0:
            raise RuntimeError("it broke")
        return compile_pod(pod)

    monkeypatch.setattr("reprieve.scheduler.mirror.world.compile_pod", compile_unless_broken)
    cluster = FakeCluster()
    shown = shows(Seen(a_node("n1")), Seen(a_pod("bad")), Seen(a_pod("good")), Synced())
    decisions_of(cluster, shown)
    assert [(time, effect.target.name) for time, effect in tried(cluster, Bind)] == [
        (0.0, "good"),
        (3.0, "bad"),
    ]
    assert [record.getMessage() for record in mishaps] == [
        f"scheduler: Pod default/bad failed: RuntimeError: it broke; retrying in {seconds} s"
        for seconds in (1, 2)
    ]


def test_an_observer_that_fails_changes_nothing(mishaps: list[logging.LogRecord]) -> None:
    class Failing(Readiness):
        def on_observed(self, events: object, effects: object, now: Moment) -> None:
            raise RuntimeError("it broke")

    machine = ObservedScheduler(Scheduler(), lambda: 0.0, (Failing(),))
    machine.observe([Seen(a_node("n1")), Seen(a_pod("p")), Synced()], on_one_clock(0.0))
    decided = machine.decide(on_one_clock(0.0))
    assert decided is not None
    assert decided.decision.outcome is Outcome.PLACED
    assert [record.getMessage() for record in mishaps] == ["observer Failing failed: RuntimeError: it broke"]
