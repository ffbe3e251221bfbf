"""The plans that are carried out: which of them an answer is for, and marks that none of them needs."""

import pytest
from tests.unit.scheduler.making import a_key, a_pod, target

from reprieve.model.effects import Evict, Nominate, Target
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.ledger.victims import VictimLedger
from reprieve.scheduler.plans.handover import Handover, Stage, Targets
from reprieve.scheduler.plans.open_plans import Plans

A, B = a_key("a"), a_key("b")
OLD, GROUP = target(a_pod("old")), Target("PodGroup", "default", "g", "uid-g")
EVICTION = Evict(OLD)


def a_plan(key: DemandKey, stage: Stage = Stage.EVICTING, *pending: Evict | Nominate) -> Handover:
    pod = Target("Pod", key.namespace, key.name, f"uid-{key.name}")
    return Handover("d-1", pod, ((pod, "n1"),), Targets((OLD,)), stage=stage, pending=frozenset(pending))


def plans_of(*plans: Handover, victims: VictimLedger | None = None) -> Plans:
    found = Plans(victims or VictimLedger())
    for plan in plans:
        found.keep(a_key(plan.preemptor.name), plan)
    return found


# --- answers -------------------------------------------------------------------------------------


def test_an_answer_is_for_the_plan_that_waits_for_it_and_only_once() -> None:
    plans = plans_of(a_plan(A, Stage.DRAINING), a_plan(B, Stage.EVICTING, EVICTION))
    assert plans.on_answered(EVICTION) == B
    assert plans.on_answered(EVICTION) is None


def test_two_plans_that_wait_for_the_same_get_an_answer_each() -> None:
    plans = plans_of(a_plan(A, Stage.EVICTING, EVICTION), a_plan(B, Stage.EVICTING, EVICTION))
    assert [plans.on_answered(EVICTION) for _ in range(3)] == [A, B, None]


def test_the_answer_to_what_a_dropped_plan_had_sent_is_for_no_plan() -> None:
    """A later plan has sent the same, and its answer comes later."""
    plans = plans_of(a_plan(A, Stage.EVICTING, EVICTION))
    plans.drop(A)
    plans.keep(B, a_plan(B, Stage.EVICTING, EVICTION))
    assert not plans.match_lost_answer(EVICTION)
    assert plans.on_answered(EVICTION) == B


def test_an_answer_that_came_is_not_awaited_from_a_plan_that_is_dropped_then() -> None:
    plans = plans_of(a_plan(A, Stage.EVICTING, EVICTION))
    assert plans.on_answered(EVICTION) == A
    plans.drop(A)
    plans.keep(B, a_plan(B, Stage.EVICTING, EVICTION))
    assert plans.on_answered(EVICTION) == B


def test_an_answer_that_was_lost_is_asked_for_again_as_long_as_a_plan_waits() -> None:
    plans = plans_of(a_plan(A, Stage.EVICTING, EVICTION))
    assert plans.match_lost_answer(EVICTION)
    assert plans.match_lost_answer(EVICTION)
    assert not plans.match_lost_answer(Nominate(OLD, "n1"))


# --- victims -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [Stage.MARKING, Stage.DRAINING, Stage.READY])
def test_only_plans_that_are_not_over_need_victims(stage: Stage) -> None:
    plans, is_open = plans_of(a_plan(A, stage)), stage is not Stage.READY
    assert plans.needed() == ({OLD} if is_open else set())
    assert plans.waiting_for(OLD) == ({A} if is_open else set())
    assert [key for key, _ in plans.concerned(OLD)] == ([A] if is_open else [])


# --- marks ---------------------------------------------------------------------------------------


def test_a_pod_that_is_marked_or_named_by_a_plan_is_a_victim_in_flight() -> None:
    victims = VictimLedger()
    plans = plans_of(a_plan(A), victims=victims)
    assert plans.victims_in_flight() == {OLD}
    plans.drop(A)
    assert plans.victims_in_flight() == set()
    victims.on_seen(OLD, marked=True)
    victims.on_seen(GROUP, marked=True)
    assert plans.victims_in_flight() == {OLD}


def test_marks_that_no_plan_needs_are_unused() -> None:
    victims = VictimLedger()
    plans = plans_of(a_plan(A, Stage.MARKING), victims=victims)
    victims.on_seen(OLD, marked=True)
    assert plans.unused_marks() == set()
    plans.drop(A)
    assert plans.unused_marks() == {OLD}
