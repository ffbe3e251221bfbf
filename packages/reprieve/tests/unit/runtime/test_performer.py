"""Effects are carried out in order, a few at a time, again where that may help; each has one end."""

import asyncio
import logging
from collections.abc import Callable

import pytest
from tests.unit.runtime.fake_cluster import FakeCluster, Order, announce, bind, in_turn, pod

from reprieve.cluster.port import Answer, Lost, Refused, Succeeded
from reprieve.model.conditions import MARK
from reprieve.model.effects import Effect, Nominate, SetCondition, Target, WriteStatus
from reprieve.model.events import Done, Failed, Unknown
from reprieve.model.urgency import FIRST, Lane, Urgency
from reprieve.runtime.performer import DEFAULT_LIMITS, Performer, PerformerLimits, ReportQueue
from reprieve.supervision.backoff import Backoff
from reprieve_minicluster.virtual_time import run

End = Done | Failed | Unknown

BUSY = Refused("busy", again=True)
FORBIDDEN = Refused("forbidden", again=False)
MISSING = Refused("not found", again=False, missing=True)
LOST = Lost("connection reset")


def ends_of(
    effects: list[Effect], cluster: FakeCluster, limits: PerformerLimits = DEFAULT_LIMITS
) -> list[tuple[float, End]]:
    """How the effects ended, and when."""
    ends: list[tuple[float, End]] = []

    async def main() -> None:
        time = asyncio.get_running_loop().time
        performer = Performer(cluster, lambda end: ends.append((time(), end)), limits)
        performer.submit(effects)
        assert await performer.finish(10_000.0) == 0

    run(main())
    return ends


def end_of(answer: Callable[[Order], Answer]) -> End:
    ((_, end),) = ends_of([bind("p")], FakeCluster(answer))
    return end


def test_every_effect_ends_exactly_once() -> None:
    effects: list[Effect] = [bind("a"), announce("a"), announce("a"), bind("b"), announce("c")]
    ends = [end for _, end in ends_of(effects, FakeCluster())]
    assert sorted(map(str, ends)) == sorted(str(Done(effect)) for effect in effects)


@pytest.mark.parametrize(
    ("answers", "end"),
    [
        ([BUSY, Succeeded()], Done(bind("p"))),
        ([LOST, Succeeded()], Done(bind("p"))),
        ([FORBIDDEN], Failed(bind("p"), "forbidden")),
        ([BUSY, FORBIDDEN], Failed(bind("p"), "forbidden")),
        ([BUSY], Failed(bind("p"), "busy")),
        ([LOST], Unknown(bind("p"), "connection reset")),
        ([LOST, BUSY], Unknown(bind("p"), "busy")),
        ([BUSY, LOST], Unknown(bind("p"), "connection reset")),
        ([LOST, FORBIDDEN], Unknown(bind("p"), "forbidden")),
        ([MISSING], Failed(bind("p"), "not found", missing=True)),
        ([LOST, MISSING], Failed(bind("p"), "not found", missing=True)),
    ],
)
def test_how_answers_add_up(answers: list[Answer], end: End) -> None:
    """What may have happened is unknown: a refusal tells nothing about the attempts before it."""
    assert end_of(in_turn(*answers)) == end


def test_pauses_double_and_attempts_are_bounded() -> None:
    cluster = FakeCluster(in_turn(BUSY))
    ends_of([bind("p")], cluster, PerformerLimits(attempts=4, pauses=Backoff(0.5, 60.0)))
    assert [time for time, _ in cluster.tried] == [0.0, 0.5, 1.5, 3.5]


def test_a_final_refusal_is_not_tried_again() -> None:
    cluster = FakeCluster(in_turn(FORBIDDEN))
    ends_of([bind("p")], cluster)
    assert len(cluster.tried) == 1


def test_an_attempt_without_an_answer_is_given_up_in_time() -> None:
    cluster = FakeCluster(seconds=3600.0)
    limits = PerformerLimits(attempts=2, pauses=Backoff(1.0, 60.0), seconds_per_attempt=10.0)
    assert ends_of([bind("p")], cluster, limits) == [(21.0, Unknown(bind("p"), "no answer within 10 s"))]


def test_an_attempt_that_raises_may_have_happened(mishaps: list[logging.LogRecord]) -> None:
    def stumble(_: Order) -> Answer:
        raise OSError("no route to host")

    assert end_of(stumble) == Unknown(bind("p"), "no route to host")
    assert {record.getMessage() for record in mishaps} == {
        "Bind of Pod default/p failed: OSError: no route to host"
    }


def test_effects_on_one_object_keep_their_order() -> None:
    effects: list[Effect] = [announce("p", str(i)) for i in range(5)]
    cluster = FakeCluster(in_turn(BUSY, Succeeded()), seconds=1.0)
    assert [end for _, end in ends_of(effects, cluster)] == [Done(effect) for effect in effects]
    assert cluster.most_at_once == 1


def test_only_so_many_at_once() -> None:
    cluster = FakeCluster(seconds=1.0)
    ends = ends_of([bind(f"p{i}") for i in range(10)], cluster, PerformerLimits(at_once=4))
    assert cluster.most_at_once == 4
    assert max(time for time, _ in ends) == 3.0


def test_a_pod_that_pauses_before_the_next_attempt_is_in_the_way_of_none() -> None:
    def answer(effect: Order, urgency: Urgency = FIRST) -> Answer:
        return BUSY if effect.target.name == "slow" else Succeeded()

    limits = PerformerLimits(at_once=1, attempts=3, pauses=Backoff(100.0, 200.0))
    ends = {
        end.effect.target.name: time
        for time, end in ends_of([bind("slow"), bind("p")], FakeCluster(answer), limits)
    }
    assert (ends["p"], ends["slow"]) == (0.0, 300.0)


def test_calls_that_hang_do_not_hold_up_the_others_for_long() -> None:
    class Hanging(FakeCluster):
        async def perform(self, effect: Order, urgency: Urgency = FIRST) -> Answer:
            await asyncio.sleep(9.0 if effect.target.name.startswith("hangs") else 0.0)
            return await super().perform(effect, urgency)

    hanging: list[Effect] = [bind(f"hangs{i}") for i in range(4)]
    limits = PerformerLimits(at_once=4, slot_seconds=3.0)
    ends = {
        e.effect.target.name: t
        for t, e in ends_of([*hanging, *(bind(f"p{i}") for i in range(9))], Hanging(), limits)
    }
    assert {time for name, time in ends.items() if name.startswith("p")} == {3.0}
    assert {time for name, time in ends.items() if name.startswith("hangs")} == {9.0}


def test_a_place_is_given_back_once() -> None:
    """Otherwise there would be more places after every call that took long."""
    cluster = FakeCluster(seconds=4.0)
    ends_of([bind(f"p{i}") for i in range(6)], cluster, PerformerLimits(at_once=2, slot_seconds=3.0))
    assert cluster.most_at_once == 4, "two calls that hang, and two with a place"


def test_an_object_can_be_served_again_after_its_line_was_empty() -> None:
    async def main() -> list[Effect]:
        done: list[Effect] = []
        performer = Performer(FakeCluster(), lambda end: done.append(end.effect))
        for note in ("first", "second"):
            performer.submit([announce("p", note)])
            await performer.finish(1.0)
        return done

    assert run(main()) == [announce("p", "first"), announce("p", "second")]


def test_finishing_takes_no_longer_than_it_may() -> None:
    async def main() -> tuple[int, float]:
        performer = Performer(FakeCluster(seconds=9.0), lambda _: None)
        performer.submit([bind("p"), bind("q"), announce("q")])
        return await performer.finish(5.0), asyncio.get_running_loop().time()

    assert run(main()) == (2, 5.0)


def test_finishing_with_nothing_under_way_takes_no_time() -> None:
    async def main() -> tuple[int, float]:
        return await Performer(FakeCluster(), lambda _: None).finish(5.0), asyncio.get_running_loop().time()

    assert run(main()) == (0, 0.0)


# --- the status of one object --------------------------------------------------------------------


def condition(name: str, type_: str = "PodScheduled", message: str = "") -> SetCondition:
    return SetCondition(pod(name), type_, "False", "Unschedulable", message)


def test_what_goes_into_one_status_is_one_write_and_each_effect_has_its_own_end() -> None:
    cluster, nominate = FakeCluster(), Nominate(pod("p"), "n1")
    effects: list[Effect] = [nominate, condition("p"), announce("p"), condition("q")]
    ends = [end for _, end in ends_of(effects, cluster)]
    assert [tried for _, tried in cluster.tried] == [
        WriteStatus(pod("p"), (nominate, condition("p"))),
        announce("p"),
        condition("q"),
    ]
    assert sorted(map(str, ends)) == sorted(str(Done(effect)) for effect in effects)


def test_the_same_part_is_written_one_after_the_other() -> None:
    cluster = FakeCluster()
    first, second = condition("p", MARK, "a"), condition("p", MARK, "b")
    other = condition("p", "Other")
    ends_of([first, second, other], cluster)
    assert [tried for _, tried in cluster.tried] == [first, WriteStatus(pod("p"), (second, other))]


def test_what_was_written_together_fails_together() -> None:
    effects: list[Effect] = [Nominate(pod("p"), ""), condition("p")]
    ends = [end for _, end in ends_of(effects, FakeCluster(in_turn(FORBIDDEN)))]
    assert ends == [Failed(effect, "forbidden") for effect in effects]


# --- reports wait for what starts pods or makes room ---------------------------------------------


def test_a_report_that_is_replaced_before_it_is_sent_ends_as_the_later_one() -> None:
    cluster = FakeCluster(in_turn(FORBIDDEN))
    first, second = condition("p", message="a"), condition("p", message="b")
    ends = [end for _, end in ends_of([first, second], cluster)]
    assert [tried for _, tried in cluster.tried] == [second]
    assert ends == [Failed(first, "forbidden"), Failed(second, "forbidden")]


def test_what_is_reported_of_a_pod_is_not_written_when_it_is_bound() -> None:
    cluster = FakeCluster()
    ends = [end for _, end in ends_of([condition("p"), bind("p")], cluster)]
    assert [tried for _, tried in cluster.tried] == [bind("p")]
    assert ends == [Done(condition("p")), Done(bind("p"))]


def test_a_bind_waits_for_no_event_and_for_no_report() -> None:
    cluster = FakeCluster(seconds=1.0)
    reports: list[Effect] = [announce(f"p{i}") for i in range(40)]
    reports += [condition(f"p{i}") for i in range(40)]
    ends = ends_of([*reports, bind("p39"), bind("q")], cluster, PerformerLimits(at_once=4, reports_at_once=2))
    times = {end.effect: time for time, end in ends}
    assert (times[bind("p39")], times[bind("q")]) == (1.0, 1.0)
    assert cluster.most_at_once == 4, "two reports beside the binds"


def test_calls_are_carried_out_by_the_priority_of_their_demands() -> None:
    cluster = FakeCluster(seconds=1.0)

    async def main() -> None:
        performer = Performer(cluster, lambda _: None, PerformerLimits(at_once=1))
        names = ["a", "b", "c", "d"]
        performer.submit(map(bind, names), lambda e: Urgency(Lane.BIND, names.index(e.target.name)))
        await performer.finish(100.0)

    run(main())
    assert [order.target.name for _, order in cluster.tried] == ["d", "c", "b", "a"]


def test_a_new_reason_goes_first_then_namespaces_in_turn_and_members_of_a_group_together() -> None:
    queue, said = ReportQueue(), []
    for name, group, rewords in (
        ("a/old", "", True),
        ("a/one", "", False),
        ("a/g-0", "g", False),
        ("a/two", "", False),
        ("a/g-1", "g", False),
        ("b/one", "", False),
        ("b/two", "", False),
    ):
        target = Target("Pod", name[0], name[2:], name)
        queue.put((target, False), Urgency(Lane.REPORT, group=group, rewords=rewords))
    while len(queue):
        said.append(f"{queue.pop()[0].uid}")
    assert said == ["a/one", "b/one", "a/g-0", "b/two", "a/g-1", "a/two", "a/old"]
