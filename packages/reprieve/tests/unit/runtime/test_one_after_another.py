"""Whether others are decided while what was decided is still being done: the order of effects, either way."""

import asyncio

from msgspec.structs import replace
from tests.unit.runtime.fake_cluster import FakeCluster, Order
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.assembly.scheduler_settings import limits_of
from reprieve.cluster.port import Answer, Refused, Succeeded
from reprieve.config import parse_feature_gates
from reprieve.model.effects import Announce, Bind, Evict, Nominate, SetCondition, WriteStatus
from reprieve.model.events import Seen, Synced
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve_minicluster.virtual_time import EPOCH, clock, run

CALL_SECONDS = 0.2
GATE = "SchedulerAsyncPreemption"


def refuse_to_evict(effect: Order) -> Answer:
    return Refused("no", again=False) if isinstance(effect, Evict) else Succeeded()


def played(gate: str, cluster: FakeCluster) -> list[Decision]:
    """An important pod takes the room of two, and two more find theirs."""
    decisions: list[Decision] = []
    limits = limits_of(parse_feature_gates(f"{GATE}={gate}"))

    async def main() -> None:
        async with Loop(Scheduler(), cluster, clock, decisions.append, limits).running():
            cluster.show([Seen(a_node("n1", cpu="4")), Seen(a_node("n2", cpu="1"))])
            cluster.show([Seen(a_pod(f"old-{i}", cpu="2", on="n1")) for i in range(2)])
            cluster.show([Seen(a_pod("first", cpu="4", priority=9))])
            cluster.show([Seen(a_pod(f"other-{i}", cpu="500m", priority=5 - i)) for i in range(2)])
            cluster.show([Synced()])
            await asyncio.sleep(30.0)

    run(main())
    return decisions


def calls(cluster: FakeCluster) -> list[tuple[float, str, str]]:
    """What was asked of the cluster, without the events for people."""
    kinds = {Nominate: "nominate", SetCondition: "mark", Evict: "evict", Bind: "bind"}
    tried = [
        (time, part)
        for time, order in cluster.tried
        for part in (order.parts if isinstance(order, WriteStatus) else (order,))
    ]
    return [
        (round(time, 3), kinds[type(effect)], effect.target.name)
        for time, effect in tried
        if not isinstance(effect, Announce) and getattr(effect, "type", "DisruptionTarget") != "PodScheduled"
    ]


def test_others_are_bound_while_victims_are_still_being_marked_and_evicted() -> None:
    cluster = FakeCluster(seconds=CALL_SECONDS)
    played("true", cluster)
    assert calls(cluster) == [
        (0.0, "nominate", "first"),
        (0.0, "bind", "other-0"),
        (0.0, "bind", "other-1"),
        (0.2, "mark", "old-0"),
        (0.2, "mark", "old-1"),
        (0.4, "evict", "old-0"),
        (0.4, "evict", "old-1"),
    ]


def test_without_the_gate_none_is_decided_before_all_is_done() -> None:
    cluster = FakeCluster(seconds=CALL_SECONDS)
    decisions = played("false", cluster)
    assert [what for _, *what in calls(cluster)] == [
        ["nominate", "first"],
        ["mark", "old-0"],
        ["mark", "old-1"],
        ["evict", "old-0"],
        ["evict", "old-1"],
        ["bind", "other-0"],
        ["bind", "other-1"],
    ]
    times = [round(decision.at - EPOCH, 3) for decision in decisions]
    assert times == [0.0, 0.8, 1.2], "after three calls and an event, then after one and an event"


def test_the_decisions_are_the_same() -> None:
    """Only the times differ, and what follows from the world's version."""
    on, off = (played(gate, FakeCluster(seconds=CALL_SECONDS)) for gate in ("true", "false"))
    assert [d.outcome for d in on] == [Outcome.PREEMPTS, Outcome.PLACED, Outcome.PLACED]
    assert [replace(d, id="", at=0.0) for d in on] == [replace(d, id="", at=0.0) for d in off]


def test_without_the_gate_an_eviction_that_fails_holds_nothing_up_for_ever() -> None:
    cluster = FakeCluster(refuse_to_evict, CALL_SECONDS)
    decisions = played("false", cluster)
    placed = [d.demand.name for d in decisions if d.outcome is Outcome.PLACED]
    assert placed == ["other-0", "other-1"]


def test_without_the_gate_times_that_come_meanwhile_do_not_keep_the_loop_busy() -> None:
    """Each call takes longer than a backoff: time could not pass if a call were repeated again and again."""
    cluster = FakeCluster(refuse_to_evict, seconds=3.0)
    assert [d.demand.name for d in played("false", cluster)] == ["first", "first", "other-0"]
