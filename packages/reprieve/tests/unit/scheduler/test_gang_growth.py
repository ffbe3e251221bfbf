"""Members of one gang that ask to grow: what they wait for, how they are decided, what is reported."""

import sys
from dataclasses import replace
from types import FrameType
from typing import Any

from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, granted, later, wanting
from tests.unit.scheduler.stage import Stage

from reprieve.model.effects import SetCondition
from reprieve.model.events import Failed, Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.queue.gang_growth import GangGrowth
from reprieve.scheduler.queue.queue import Standing
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

GANG = ("default", "train")
FIRST, SECOND = (DemandKey(DemandKind.RESIZE, "default", name) for name in ("g1", "g2"))


def member(number: int) -> Pod:
    return a_member(f"g{number}", "train", cpu="2", priority=9, on=f"n{number}")


def low(number: int) -> Pod:
    return a_pod(f"low{number}", cpu="2", priority=1, on=f"n{number}")


def stage(*things: KubernetesObject, window: float | None = 1.0) -> Stage:
    policies = {SCHEDULER_NAME: replace(REPRIEVE, resizes=DeferredResizes())}
    scheduler = Scheduler(replace(Settings(policies=policies), resize_window=window))
    nodes = [a_node(f"n{number}") for number in (1, 2, 3)]
    return Stage(scheduler, 1000.0).happens(*map(Seen, (*nodes, *things)), Synced())


def conditions(on: Stage) -> list[tuple[str, str]]:
    found = [effect for effect in on.wanted if isinstance(effect, SetCondition)]
    return [(one.status, one.message) for one in found if one.type == "reprieve.dev/ResizesGranted"]


def test_a_window_begins_with_the_first_and_ends_once() -> None:
    growth = GangGrowth(2.0)
    assert growth.waits_until(GANG, 10.0) == 12.0
    assert growth.waits_until(GANG, 11.0) == 12.0
    assert growth.waits_until(GANG, 12.0) is None
    growth.gather(GANG, [FIRST, SECOND])
    assert growth.waits_until(GANG, 12.5) == 14.5


def test_a_window_that_was_begun_for_members_that_are_gone_is_not_continued() -> None:
    growth = GangGrowth(2.0)
    growth.waits_until(GANG, 10.0)
    assert growth.waits_until(GANG, 100.0) == 102.0


def test_members_are_decided_in_their_order_and_know_of_each_other() -> None:
    growth = GangGrowth(2.0)
    growth.gather(GANG, [SECOND, FIRST])
    for expected in (SECOND, FIRST):
        assert growth.next_member() == expected
        growth.pass_member()
    assert growth.next_member() is None
    assert growth.decided_with(FIRST) == (SECOND,)
    growth.forget(FIRST)
    assert not growth.was_gathered(FIRST)
    assert growth.was_gathered(SECOND)


def test_all_that_asked_are_decided_in_one_go() -> None:
    on = stage(a_group("train", 9, 2), wanting(member(1), "3"), member(2), low(1), low(2), low(3))
    assert not on.decisions
    on.see(later(wanting(member(2), "3")))
    assert [(d.demand.name, d.outcome) for d in on.decisions] == [("g1", "Preempts"), ("g2", "Preempts")]
    assert [d.growth.beside for d in on.decisions if d.growth is not None] == [("g2",), ("g1",)]


def test_a_member_alone_does_not_wait() -> None:
    on = stage(a_group("train", 9, 1), wanting(member(1), "3"), low(1))
    assert [d.outcome for d in on.decisions] == ["Preempts"]


def test_pods_of_a_group_that_is_no_gang_do_not_wait() -> None:
    on = stage(a_group("train", 9), wanting(member(1), "3"), member(2), low(1))
    assert [d.outcome for d in on.decisions] == ["Preempts"]


def test_a_member_that_was_refused_does_not_wait_again() -> None:
    dear = a_pod("dear", cpu="2", priority=20, on="n1")
    on = stage(a_group("train", 9, 2), wanting(member(1), "3"), member(2), dear).after(1)
    assert [d.outcome for d in on.decisions] == ["Unschedulable"]
    on.after(20).lose(dear)
    assert [d.outcome for d in on.decisions] == ["Unschedulable", "FitsInPlace"]


def test_the_group_tells_how_many_have_it() -> None:
    on = stage(a_group("train", 9, 2), wanting(member(1), "3"), wanting(member(2), "3"), low(1), low(2))
    begins = "of 2 running pods have the resources that they ask for; waiting: "
    assert conditions(on) == [("False", f"0 {begins}g1 on n1, g2 on n2")]
    on.see(later(granted(wanting(member(1), "3"))))
    assert conditions(on)[-1] == ("False", f"1 {begins}g2 on n2")
    on.see(later(granted(wanting(member(2), "3"))))
    assert conditions(on)[-1] == ("True", "all 2 running pods have the resources that they ask for")


def test_a_member_that_is_gone_waits_for_nothing() -> None:
    on = stage(a_group("train", 9, 2), wanting(member(1), "3"), member(2), low(1))
    on.lose(wanting(member(1), "3"))
    assert conditions(on)[-1] == ("True", "the only running pod has the resources that it asks for")


def test_a_condition_that_could_not_be_written_is_written_again() -> None:
    on = stage(a_group("train", 9, 2), wanting(member(1), "3"), member(2), low(1))
    (failed,) = (one for one in on.wanted if isinstance(one, SetCondition) and "Resizes" in one.type)
    on.happens(Failed(failed, "the server is busy"))
    before = len(conditions(on))
    on.after(2)
    assert len(conditions(on)) > before


def test_where_all_is_known_nothing_is_waited_for() -> None:
    on = stage(a_group("train", 9, 2), wanting(member(1), "3"), member(2), low(1), window=0.0)
    assert [d.outcome for d in on.decisions] == ["Preempts"]


def test_without_a_window_each_is_decided_by_itself() -> None:
    on = stage(a_group("train", 9, 2), wanting(member(1), "3"), member(2), low(1), window=None)
    assert [d.outcome for d in on.decisions] == ["Preempts"]
    assert conditions(on) == []


# --- gangs of many members -----------------------------------------------------------------------


def a_large_gang(count: int, *more: KubernetesObject) -> Scheduler:
    """All members but one have asked, and none of them fits."""
    policies = {SCHEDULER_NAME: replace(REPRIEVE, resizes=DeferredResizes())}
    scheduler = Scheduler(replace(Settings(policies=policies), resize_window=1.0))
    numbers = range(count)
    nodes = [a_node(f"n{number}") for number in (*numbers, count)]
    asking = [wanting(member(number), "4") for number in numbers]
    things = [*nodes, a_group("train", 9, 2), *asking, member(count), *map(low, numbers), *more]
    scheduler.observe([*map(Seen, things), Synced()], on_one_clock(1000.0))
    return scheduler


def calls_of_one_decision(count: int) -> int:
    scheduler, calls = a_large_gang(count), 0

    def called(_: FrameType, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        assert scheduler.decide(on_one_clock(1000.0)) is None
    finally:
        sys.setprofile(before)
    return calls


def test_members_that_wait_cost_in_proportion() -> None:
    calls_of_one_decision(10)  # what modules build on first use is not counted
    assert calls_of_one_decision(80) <= 4.5 * calls_of_one_decision(20)


def test_many_members_that_wait_keep_no_event_waiting_and_hide_no_other_demand() -> None:
    scheduler = a_large_gang(150, a_pod("late", cpu="1", priority=1))
    assert scheduler.decide(on_one_clock(1000.0)) is None
    assert scheduler.pending()[Standing.ACTIVE] == 51
    assert scheduler.next_time().seconds_from(on_one_clock(1000.0)) == 0.0
    decided = scheduler.decide(on_one_clock(1000.0))
    assert decided is not None
    assert decided.decision.demand.name == "late"
    assert scheduler.decide(on_one_clock(1000.0)) is None
    assert scheduler.next_time().on_one_clock == 1001.0


def test_a_member_that_is_gone_is_not_waited_for() -> None:
    members = wanting(member(1), "3"), member(2), member(3)
    on = stage(a_group("train", 9, 2), *members, low(1), low(3)).lose(member(2))
    assert not on.decisions
    on.see(later(wanting(member(3), "3")))
    assert [d.demand.name for d in on.decisions] == ["g1", "g3"]


# --- what comes in between -----------------------------------------------------------------------


def names_of_all_decisions(scheduler: Scheduler) -> list[str]:
    found = []
    while (decided := scheduler.decide(on_one_clock(1000.0))) is not None:
        found.append(decided.decision.demand.name)
    return found


def a_gang_whose_first_member_is_decided() -> Scheduler:
    scheduler = a_large_gang(3)
    scheduler.observe([Seen(later(wanting(member(3), "3")))], on_one_clock(1000.0))
    decided = scheduler.decide(on_one_clock(1000.0))
    assert decided is not None
    assert decided.decision.demand.name == "g0"
    return scheduler


def test_a_more_important_demand_comes_before_the_rest_of_a_gang() -> None:
    scheduler = a_gang_whose_first_member_is_decided()
    pods = [a_pod(name, cpu="1", priority=number) for name, number in (("equal", 9), ("urgent", 10))]
    scheduler.observe(map(Seen, pods), on_one_clock(1000.0))
    assert names_of_all_decisions(scheduler) == ["urgent", "g1", "g2", "g3", "equal"]


def test_a_member_in_backoff_is_left_out() -> None:
    scheduler = a_gang_whose_first_member_is_decided()
    scheduler._state.queue.retry(DemandKey(DemandKind.RESIZE, "default", "g2"), 1000.0)
    assert names_of_all_decisions(scheduler) == ["g1", "g3"]
    decided = scheduler.decide(on_one_clock(1001.0))
    assert decided is not None
    assert decided.decision.demand.name == "g2"
