"""What an event or a decision costs does not grow with open plans. Steps are counted, not timed."""

import sys
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, target
from tests.unit.scheduler.validation import validate

from reprieve.model.effects import Effect, Evict
from reprieve.model.events import Done, Event, Gone, Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

FEW, MANY = 10, 80
NODES = MANY + 5  # as many for few plans, so that only the plans differ


def calls_of(work: Callable[[], object]) -> int:
    """Calls of functions, of Python's and of C's."""
    count = 0

    def called(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


class Crowd:
    """Full nodes, and so many preemptors with open plans; the last preemptor is still to come."""

    def __init__(self, plans: int, *, answered: bool) -> None:
        self.scheduler = Scheduler(Settings(policies={SCHEDULER_NAME: REPRIEVE}))
        nodes = [a_node(f"n{i}") for i in range(NODES)]
        self.old = [a_pod(f"old-{i}", cpu="3", on=f"n{i}") for i in range(NODES)]
        self.observe([*map(Seen, nodes), *map(Seen, self.old), Synced()])
        for i in range(plans):
            self.preempts(f"new-{i}", answered=answered)
        assert len(self.scheduler._state.plans) == plans

    def observe(self, events: Iterable[Event]) -> list[Effect]:
        return self.scheduler.observe(events, on_one_clock(0.0))

    def preempts(self, name: str, *, answered: bool = True) -> None:
        """A pod comes and preempts another; the calls for that are all answered, or none is."""
        self.observe([Seen(a_pod(name, cpu="3", priority=9))])
        decided = self.scheduler.decide(on_one_clock(0.0))
        assert decided is not None
        effects = list(decided.effects)
        while answered and effects:
            effects = self.observe([Done(effect) for effect in effects])

    def one_leaves(self) -> None:
        """The first victim is gone; its preemptor, and no other demand, goes on."""
        victim = min(self.scheduler._state.plans.victims())
        self.observe([Gone(victim)])

    def another_shows_up(self) -> None:
        self.observe([Seen(a_pod("other", on="n1", cpu="0"))])


WORK: dict[str, Callable[[Crowd], object]] = {
    "another preemptor": lambda crowd: crowd.preempts("last"),
    "a victim leaves": Crowd.one_leaves,
    "a pod shows up": Crowd.another_shows_up,
}


# A victim that leaves while plans are draining wakes all demands that wait for room: each is work.
CASES = [(work, answered) for work in WORK for answered in (True, False)]
CASES.remove(("a victim leaves", True))


@pytest.mark.parametrize(("work", "answered"), CASES)
def test_the_cost_does_not_grow_with_open_plans(work: str, answered: bool) -> None:
    WORK[work](Crowd(FEW, answered=answered))  # what modules build on first use is not counted
    few, many = (calls_of(partial(WORK[work], crowd)) for crowd in crowds(answered=answered))
    assert many <= 1.2 * few, f"{few} calls with {FEW} plans, {many} with {MANY}"


def crowds(*, answered: bool) -> list[Crowd]:
    return [Crowd(plans, answered=answered) for plans in (FEW, MANY)]


def test_all_plans_go_on() -> None:
    """That what is counted is what happens: every plan evicts its own victim."""
    crowd = Crowd(FEW, answered=True)
    plans = [plan for _, plan in crowd.scheduler._state.plans]
    assert len({victim for plan in plans for victim in plan.victims}) == FEW
    validate(crowd.scheduler)
    assert {target(pod) for pod in crowd.old} >= set(crowd.scheduler._state.plans.victims())
    assert Evict(plans[0].victims[0]) not in plans[0].pending


def evicting(pods: int) -> Scheduler:
    """A group of so many pods is evicted whole; its deletes are accepted, and none of them is gone."""
    scheduler = Scheduler(Settings(policies={SCHEDULER_NAME: REPRIEVE}))
    nodes = [a_node(f"n{i}", labels={"host": f"n{i}"}) for i in range(NODES)]
    members = [a_member(f"t{i}", "train", cpu="3", priority=1, on=f"n{i}") for i in range(pods)]
    group = a_group("train", 1, disruptedWhole=True)
    new = a_pod("new", cpu="3", priority=9, nodeSelector={"host": "n0"})
    scheduler.observe(
        [*map(Seen, nodes), Seen(group), *map(Seen, members), Seen(new), Synced()], on_one_clock(0.0)
    )
    decided = scheduler.decide(on_one_clock(0.0))
    assert decided is not None
    effects = list(decided.effects)
    while effects:
        effects = scheduler.observe([Done(effect) for effect in effects], on_one_clock(0.0))
    assert len(scheduler._state.ledger.unit_evictions) == pods
    return scheduler


def test_the_cost_of_an_event_does_not_grow_with_a_unit_that_is_being_evicted() -> None:
    event = Seen(a_pod("other", on="n1", cpu="0"))
    evicting(FEW).observe([event], on_one_clock(0.0))
    few, many = (
        calls_of(partial(evicting(pods).observe, [event], on_one_clock(0.0))) for pods in (FEW, MANY)
    )
    assert many <= 1.2 * few, f"{few} calls with {FEW} pods, {many} with {MANY}"


def evicting_groups(count: int) -> Scheduler:
    """So many plans evict a group each; in half of them it is marked, and that is not answered yet."""
    scheduler = Scheduler(Settings(policies={SCHEDULER_NAME: REPRIEVE}))
    nodes = [a_node(f"n{i}") for i in range(NODES)]
    groups = [a_group(f"train-{i}", 1, disruptedWhole=True) for i in range(NODES)]
    pods = [a_member(f"t{i}", f"train-{i}", cpu="3", priority=1, on=f"n{i}") for i in range(NODES)]
    scheduler.observe([*map(Seen, nodes), *map(Seen, groups), *map(Seen, pods), Synced()], on_one_clock(0.0))
    for i in range(count):
        scheduler.observe([Seen(a_pod(f"new-{i}", cpu="3", priority=9))], on_one_clock(0.0))
        decided = scheduler.decide(on_one_clock(0.0))
        assert decided is not None
        effects = list(decided.effects)
        while effects:
            kept = [effect for effect in effects if i % 2 and effect.target.kind == "PodGroup"]
            done = [Done(effect) for effect in effects if effect not in kept]
            effects = scheduler.observe(done, on_one_clock(0.0)) if done else []
    assert len(scheduler._state.ledger.open_marks) == len(scheduler._state.plans.committing()) == count / 2
    return scheduler


def test_the_cost_of_an_event_grows_in_proportion_with_the_groups_that_are_being_evicted() -> None:
    event = Seen(a_pod("other", on="n1", cpu="0"))
    evicting_groups(FEW).observe([event], on_one_clock(0.0))
    few, many = (
        calls_of(partial(evicting_groups(count).observe, [event], on_one_clock(0.0))) for count in (FEW, MANY)
    )
    assert many <= few * MANY / FEW, f"{few} calls with {FEW} groups, {many} with {MANY}"
