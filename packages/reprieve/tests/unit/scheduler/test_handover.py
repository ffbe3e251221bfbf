"""A plan's life: every step only after the one before was acknowledged, and one end, whatever happens."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.scheduler.making import a_pod, leaving
from tests.unit.scheduler.serving import conditioned

from reprieve.model.conditions import MARK
from reprieve.model.effects import Announce, Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.objects import Condition
from reprieve.scheduler.plans.handover import (
    MARK_REASON,
    GroupsOfPods,
    Handover,
    NodesOfPods,
    Stage,
    Step,
    Targets,
    abandoned,
    acknowledged,
    is_marked,
    opened,
    vanished,
)


def pod(name: str) -> Target:
    return Target("Pod", "default", name, f"uid-{name}")


GROUP = Target("PodGroup", "default", "g", "uid-g")
PREEMPTOR, OLD, OLDER, GOING = map(pod, ("new", "old", "older", "going"))


def plan(*victims: Target, **fields: Any) -> Handover:
    nodes = NodesOfPods((v, "n1") for v in victims)
    made = Handover("d-1", PREEMPTOR, ((PREEMPTOR, "n1"),), Targets(victims), nodes)
    return replace(made, **fields)


def kinds(effects: tuple[Effect, ...]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def through(handover: Handover) -> Iterator[Step]:
    """Everything that is wanted is done, and nothing else happens."""
    step = opened(handover)
    yield step
    while step[0].pending:
        effect = min(step[0].pending, key=str)
        step = acknowledged(step[0], effect)
        yield step


def reached(handover: Handover, stage: Stage) -> Handover:
    return next(step[0] for step in through(handover) if step[0].stage is stage)


# --- step by step --------------------------------------------------------------------------------


def test_nominated_marked_evicted_and_only_then_drained() -> None:
    steps = list(through(plan(OLD)))
    assert [handover.stage for handover, _ in steps] == [
        Stage.NOMINATED,
        Stage.MARKING,
        Stage.EVICTING,
        Stage.DRAINING,
    ]
    assert [kinds(effects) for _, effects in steps] == [
        ["Nominate"],
        ["SetCondition"],
        ["Evict", "Announce"],
        ["Announce"],
    ]
    assert vanished(steps[-1][0], OLD)[0].stage is Stage.READY


def test_a_step_waits_for_all_of_the_step_before() -> None:
    marking = reached(plan(OLD, OLDER), Stage.MARKING)
    first, second = sorted(marking.pending, key=str)
    half, effects = acknowledged(marking, first)
    assert (half.stage, effects) == (Stage.MARKING, ())
    evicting, effects = acknowledged(half, second)
    assert evicting.stage is Stage.EVICTING
    assert {effect.target for effect in effects if isinstance(effect, Evict)} == {OLD, OLDER}


def test_every_pod_of_a_gang_is_nominated() -> None:
    places = ((pod("a"), "n1"), (pod("b"), "n2"))
    _, effects = opened(plan(OLD, places=places))
    assert effects == (Nominate(pod("a"), "n1"), Nominate(pod("b"), "n2"))


def test_a_mark_tells_the_decision_and_what_preempts() -> None:
    far = Target("Pod", "elsewhere", "secret", "uid-far")
    for preemptor, named in ((PREEMPTOR, "new"), (GROUP, "g"), (far, "with UID uid-far")):
        marking = reached(plan(OLD, preemptor=preemptor), Stage.MARKING)
        (mark,) = marking.pending
        kind = preemptor.kind.lower()
        text = (
            f"reprieve: preempting to accommodate a higher priority {kind} (decision d-1): "
            f"{kind} {named} of priority 0; more: reprieve why d-1"
        )
        assert mark == SetCondition(OLD, MARK, "True", MARK_REASON, text)


def test_a_group_that_goes_as_a_whole_is_marked_too_and_not_evicted() -> None:
    whole = plan(OLD, groups=GroupsOfPods(((OLD, GROUP),)))
    assert {effect.target for effect in reached(whole, Stage.MARKING).pending} == {OLD}
    assert {effect.target for effect in reached(whole, Stage.COMMITTING).pending} == {GROUP}
    assert {
        e.target for e in reached(plan(OLD, groups=GroupsOfPods(((OLD, GROUP),))), Stage.EVICTING).pending
    } == {OLD}


def test_a_victim_is_told_when_it_has_been_evicted() -> None:
    evicting = reached(plan(OLD, OLDER), Stage.EVICTING)
    _, effects = acknowledged(evicting, Evict(OLD))
    (told,) = effects
    assert isinstance(told, Announce)
    assert (told.target, told.reason) == (OLD, "Preempted")
    assert told.note == (
        "Preempted by pod new on node n1: the preemptor's priority is 0 (decision d-1); "
        "more: reprieve why pod/old -n default"
    )
    assert told.related == PREEMPTOR


def test_a_pod_that_waits_only_for_those_that_leave_anyway_evicts_nothing() -> None:
    draining, effects = acknowledged(opened(plan(leaving=(GOING,)))[0], Nominate(PREEMPTOR, "n1"))
    assert (draining.stage, effects) == (Stage.DRAINING, ())
    assert vanished(draining, GOING)[0].stage is Stage.READY


def test_a_pod_that_waits_for_none_is_ready_when_nominated() -> None:
    ready, effects = acknowledged(opened(plan())[0], Nominate(PREEMPTOR, "n1"))
    assert (ready.stage, effects) == (Stage.READY, ())


# --- pods that disappear -------------------------------------------------------------------------


def test_a_victim_that_vanished_before_is_neither_marked_nor_evicted() -> None:
    handover, effects = vanished(opened(plan(OLD, OLDER))[0], OLD)
    assert (handover.stage, effects) == (Stage.NOMINATED, ())
    marking, effects = acknowledged(handover, Nominate(PREEMPTOR, "n1"))
    assert [effect.target for effect in effects] == [OLDER]
    _, effects = acknowledged(marking, effects[0])
    assert [effect.target for effect in effects if isinstance(effect, Evict)] == [OLDER]


@pytest.mark.parametrize("stage", [Stage.MARKING, Stage.EVICTING])
def test_the_last_answer_that_is_awaited_may_be_that_a_pod_vanished(stage: Stage) -> None:
    handover, _ = vanished(reached(plan(OLD), stage), OLD)
    assert handover.stage is Stage.READY


def test_a_pod_that_vanished_by_itself_is_told_nothing_and_what_was_being_evicted_is() -> None:
    assert vanished(reached(plan(OLD), Stage.MARKING), OLD)[1] == ()
    assert kinds(vanished(reached(plan(OLD), Stage.EVICTING), OLD)[1]) == ["Announce"]
    assert vanished(reached(plan(OLD), Stage.DRAINING), OLD)[1] == ()


def test_a_group_that_is_gone_needs_no_mark() -> None:
    committing = reached(plan(OLD, groups=GroupsOfPods(((OLD, GROUP),))), Stage.COMMITTING)
    handover, _ = vanished(committing, GROUP)
    assert (handover.stage, set(handover.pending)) == (Stage.EVICTING, {Evict(OLD)})
    early, _ = vanished(opened(plan(OLD, groups=GroupsOfPods(((OLD, GROUP),))))[0], GROUP)
    assert [e.target for e in acknowledged(early, Nominate(PREEMPTOR, "n1"))[1]] == [OLD]


def test_it_is_ready_when_the_last_one_is_gone() -> None:
    draining = reached(plan(OLD, OLDER, leaving=(GOING,)), Stage.DRAINING)
    for name in (OLD, GOING):
        draining, _ = vanished(draining, name)
        assert draining.stage is Stage.DRAINING
    assert vanished(draining, OLDER)[0].stage is Stage.READY


def test_no_pod_waits_for_victims_that_only_go_along() -> None:
    draining = reached(plan(OLD, OLDER, elsewhere=frozenset({OLDER})), Stage.DRAINING)
    assert (draining.waits_for(OLD), draining.waits_for(OLDER)) == (True, False)
    assert vanished(draining, OLD)[0].stage is Stage.READY


def test_a_pod_that_has_nothing_to_do_with_it_changes_nothing() -> None:
    draining = reached(plan(OLD), Stage.DRAINING)
    assert not draining.concerns(pod("other"))
    assert vanished(draining, pod("other"))[0].stage is Stage.DRAINING


# --- abandoned -----------------------------------------------------------------------------------


def test_marks_that_led_to_nothing_are_cleared() -> None:
    ended, effects = abandoned(
        reached(plan(OLD, OLDER, groups=GroupsOfPods(((OLD, GROUP),))), Stage.COMMITTING)
    )
    assert (ended.stage, ended.pending) == (Stage.ABANDONED, frozenset())
    cleared = {(e.target, e.type, e.status) for e in effects if isinstance(e, SetCondition)}
    assert cleared == {(target, MARK, "False") for target in (OLD, OLDER, GROUP)}


def test_marks_of_those_that_are_gone_or_needed_elsewhere_are_left_alone() -> None:
    marking, _ = vanished(reached(plan(OLD, OLDER), Stage.MARKING), OLD)
    assert abandoned(marking, held={OLDER})[1] == ()


@pytest.mark.parametrize("stage", [Stage.NOMINATED, Stage.EVICTING, Stage.DRAINING])
def test_before_marks_and_after_evictions_there_is_nothing_to_clear(stage: Stage) -> None:
    assert abandoned(reached(plan(OLD), stage))[1] == ()


def a_mark(**fields: Any) -> Condition:
    ours: dict[str, Any] = {"type": MARK, "status": "True", "reason": MARK_REASON, "message": "reprieve: …"}
    return Condition(**{**ours, **fields})


def test_what_is_marked() -> None:
    running = a_pod("old", on="n1")
    marked = conditioned(running, a_mark())
    assert is_marked(marked)
    assert not is_marked(running)
    assert not is_marked(leaving(marked)), "it is on its way already"


@pytest.mark.parametrize(
    "condition",
    [
        a_mark(type="PodScheduled"),
        a_mark(status="False"),
        a_mark(reason="DeletionByTaintManager"),
        a_mark(message="default-scheduler: preempting to accommodate a higher priority pod"),
    ],
)
def test_what_is_not_our_mark(condition: Condition) -> None:
    assert not is_marked(conditioned(a_pod("old", on="n1"), condition))


# --- every reachable state -----------------------------------------------------------------------


def followers(handover: Handover) -> Iterator[Step]:
    yield from (acknowledged(handover, effect) for effect in sorted(handover.pending, key=str))
    targets = {*handover.victims, *handover.leaving, *handover.marks} - handover.gone
    yield from (vanished(handover, target) for target in sorted(targets))


@pytest.mark.parametrize("victims", [(), (OLD,), (OLD, OLDER), (OLD, OLDER, pod("oldest"))])
def test_in_every_state_the_order_holds_and_there_is_a_way_to_the_end(victims: tuple[Target, ...]) -> None:
    """Breadth first over acknowledgements and disappearances in any order."""
    start, first = opened(plan(*victims, leaving=(GOING,), groups=GroupsOfPods(((OLD, GROUP),))))
    seen, ahead = {start}, deque([start])
    order = list(Stage)
    assert kinds(first) == ["Nominate"]
    while ahead:
        handover = ahead.popleft()
        ways = list(followers(handover))
        assert ways or not handover.is_open, f"stuck in {handover}"
        for following, effects in ways:
            assert order.index(following.stage) >= order.index(handover.stage)
            if any(isinstance(effect, Evict) for effect in effects):
                assert handover.evicts_later
                assert following.stage is Stage.EVICTING
            assert not {e.target for e in effects if isinstance(e, Evict | SetCondition)} & following.gone
            if following.stage is Stage.READY:
                assert {*following.victims, *following.leaving} <= following.gone
            if following not in seen:
                seen.add(following)
                ahead.append(following)
    assert any(handover.stage is Stage.READY for handover in seen)
