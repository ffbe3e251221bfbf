"""The plans under way: which of them an answer is for, and marks that nobody needs any more."""

import pytest

from reprieve.model.effects import Evict, Nominate, Target
from reprieve.model.objects import Condition, Pod
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.handover import MARK, MARK_REASON, Handover, Stage
from reprieve.scheduler.plans import Plans
from tests.unit.scheduler.making import a_key, a_pod, leaving, target
from tests.unit.scheduler.serving import conditioned

A, B = a_key("a"), a_key("b")
OLD = target(a_pod("old"))
EVICTION = Evict(OLD)


def a_plan(key: DemandKey, stage: Stage = Stage.EVICTING, *pending: Evict | Nominate) -> Handover:
    pod = Target("Pod", key.namespace, key.name, f"uid-{key.name}")
    return Handover("d-1", pod, ((pod, "n1"),), (OLD,), stage=stage, pending=frozenset(pending))


def plans_of(*plans: Handover) -> Plans:
    found = Plans()
    for plan in plans:
        found.keep(a_key(plan.preemptor.name), plan)
    return found


def marked() -> Pod:
    mark = Condition(type=MARK, status="True", reason=MARK_REASON, message="reprieve: preempting …")
    return conditioned(a_pod("old", on="n1"), mark)


# --- answers -------------------------------------------------------------------------------------


def test_an_answer_is_for_the_plan_that_waits_for_it_and_only_once() -> None:
    plans = plans_of(a_plan(A, Stage.DRAINING), a_plan(B, Stage.EVICTING, EVICTION))
    assert plans.answered(EVICTION) == B
    assert plans.answered(EVICTION) is None


def test_two_plans_that_wait_for_the_same_get_an_answer_each() -> None:
    plans = plans_of(a_plan(A, Stage.EVICTING, EVICTION), a_plan(B, Stage.EVICTING, EVICTION))
    assert [plans.answered(EVICTION) for _ in range(3)] == [A, B, None]


def test_the_answer_to_what_a_dropped_plan_had_sent_is_for_nobody() -> None:
    """A later plan has sent the same, and its answer comes later."""
    plans = plans_of(a_plan(A, Stage.EVICTING, EVICTION))
    plans.drop(A)
    plans.keep(B, a_plan(B, Stage.EVICTING, EVICTION))
    assert not plans.must_know(EVICTION)
    assert plans.answered(EVICTION) == B


def test_an_answer_that_came_is_not_awaited_from_a_plan_that_is_dropped_then() -> None:
    plans = plans_of(a_plan(A, Stage.EVICTING, EVICTION))
    assert plans.answered(EVICTION) == A
    plans.drop(A)
    plans.keep(B, a_plan(B, Stage.EVICTING, EVICTION))
    assert plans.answered(EVICTION) == B


def test_an_answer_that_was_lost_is_asked_for_again_as_long_as_somebody_waits() -> None:
    plans = plans_of(a_plan(A, Stage.EVICTING, EVICTION))
    assert plans.must_know(EVICTION)
    assert plans.must_know(EVICTION)
    assert not plans.must_know(Nominate(OLD, "n1"))


# --- whom they concern ---------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [Stage.MARKING, Stage.DRAINING, Stage.READY])
def test_only_plans_that_are_not_over_need_anybody(stage: Stage) -> None:
    plans, is_open = plans_of(a_plan(A, stage)), stage is not Stage.READY
    assert plans.needed() == ({OLD} if is_open else set())
    assert plans.waiting_for(OLD) == ({A} if is_open else set())
    assert [key for key, _ in plans.concerned(OLD)] == ([A] if is_open else [])


# --- marks ---------------------------------------------------------------------------------------


def test_a_pod_that_is_marked_or_named_by_a_plan_is_a_victim_in_flight() -> None:
    plans = plans_of(a_plan(A))
    assert plans.victims_in_flight() == {OLD}
    plans.drop(A)
    assert plans.victims_in_flight() == set()
    plans.saw(marked())
    assert plans.victims_in_flight() == {OLD}


def test_who_leaves_or_is_gone_is_not_marked_any_more() -> None:
    for end in ("leaves", "gone", "cleared"):
        plans = Plans()
        plans.saw(marked())
        match end:
            case "leaves":
                plans.saw(leaving(marked()))
            case "gone":
                plans.lost(OLD)
            case _:
                plans.saw(a_pod("old", on="n1"))
        assert plans.victims_in_flight() == set()


def test_marks_that_no_plan_needs_are_unused() -> None:
    plans = plans_of(a_plan(A, Stage.MARKING))
    plans.saw(marked())
    assert plans.unused_marks() == set()
    plans.drop(A)
    assert plans.unused_marks() == {OLD}


def test_litter_is_swept_after_a_while() -> None:
    plans = Plans()
    assert not plans.is_time_to_sweep(0.0, litter=True)
    assert plans.next_time() == 30.0
    assert not plans.is_time_to_sweep(29.9, litter=True)
    assert plans.is_time_to_sweep(30.0, litter=True)
    assert plans.next_time() == 60.0, "if it is not gone by then, once more"
    assert not plans.is_time_to_sweep(60.0, litter=False)
    assert plans.next_time() is None
