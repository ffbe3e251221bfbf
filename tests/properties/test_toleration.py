"""Tolerations in random crowds: no pod is preempted early, and no demand waits in vain or too long."""

import math
import random
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.objects import KubernetesObject, Pod
from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.eligibility import TIMELESS, Verdict, eligible
from reprieve.preemption.plan import NoPlan, Why
from reprieve.preemption.policy import Policy, Question
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.toleration import tolerating
from reprieve.preemption.units import Unit, pods_alone
from tests.properties.crowded import Crowd
from tests.properties.preempting import POLICIES, answer, question_of, unspent
from tests.properties.tolerant import NOW, tolerant_crowd, tolerant_crowds
from tests.properties.worlds import decoded
from tests.reference.plain.toleration import may_be_taken_from

CROWDS = tolerant_crowds()
START = NOW.timestamp()
MOMENTS = st.floats(START - 100, START + 4000)


def objects_of(crowd: Crowd) -> tuple[KubernetesObject, ...]:
    return tuple(map(decoded, (*crowd.objects, *crowd.newcomers)))


def verdict_of(question: Question, now: float) -> Verdict:
    policy = question.policy
    return eligible(policy.units(question.view), question.demand, policy.rules, now)


def members(question: Question, unit: Unit) -> list[Pod]:
    return [question.view.pods.compiled[row].pod for row in unit.pods]


def ends(question: Question, now: float) -> list[float]:
    """The moments after this at which tolerations end."""
    until = verdict_of(question, now).until
    if until is None:
        return []
    return sorted({float(end) for end in until if now < end < math.inf})


# --- the rule ------------------------------------------------------------------------------------


@given(CROWDS, POLICIES)
def test_columns_say_what_the_objects_say(crowd: Crowd, policy: Policy) -> None:
    question, objects = question_of(crowd, policy), objects_of(crowd)
    if question is None:
        return
    units = policy.units(question.view)
    until = tolerating(units, question.demand, START).until
    for number in np.unique(units.of_pod[units.of_pod != NOWHERE]).tolist():
        unit = units.unit(number)
        plain = may_be_taken_from(objects, members(question, unit), question.demand.priority)
        # What no timestamp can tell is as good as never.
        expected = math.inf if plain > 253_402_300_799 else plain
        assert (-math.inf if until is None else until[number]) == expected, unit.name


@given(CROWDS, POLICIES, MOMENTS)
def test_no_pod_is_taken_or_even_looked_at_early(crowd: Crowd, policy: Policy, now: float) -> None:
    question, objects = question_of(crowd, policy), objects_of(crowd)
    plans = candidates(question, now) if question is not None else []
    for plan in [] if isinstance(plans, NoPlan) else plans:
        assert question is not None
        for unit in (*plan.victims, *plan.spared):
            pods = members(question, unit)
            assert may_be_taken_from(objects, pods, question.demand.priority) <= now


# --- the moment ----------------------------------------------------------------------------------


@given(CROWDS, POLICIES, MOMENTS, st.floats(0, 1))
def test_nothing_changes_before_the_moment_that_is_told(
    crowd: Crowd, policy: Policy, now: float, share: float
) -> None:
    question = question_of(crowd, policy)
    found = candidates(question, now) if question is not None else None
    if question is None or not isinstance(found, NoPlan) or found.retry_at is None:
        return
    assert found.retry_at > now
    between = now + share * (found.retry_at - now)
    if between < found.retry_at:
        assert candidates(question, between) == found
        near = np.zeros(len(question.view.pods), np.bool_)
        near[list(found.held)] = True
        in_reach = policy.units(question.view).with_any(near)
        before, then = verdict_of(question, now).allowed, verdict_of(question, between).allowed
        assert (before == then)[in_reach].all()
    assert verdict_of(question, found.retry_at).allowed.sum() > verdict_of(question, now).allowed.sum()


@given(CROWDS, POLICIES, MOMENTS)
def test_a_pod_that_will_have_a_plan_is_told_a_moment(crowd: Crowd, policy: Policy, now: float) -> None:
    question = question_of(crowd, policy)
    found = candidates(question, now) if question is not None else None
    if question is None or not isinstance(found, NoPlan):
        return
    for moment in ends(question, now):
        if not isinstance(candidates(question, moment), NoPlan):
            assert found.retry_at is not None
            assert found.retry_at <= moment
            assert found.held


@given(CROWDS, POLICIES, MOMENTS)
def test_a_pod_that_is_held_back_by_tolerations_alone_has_a_plan_without_them(
    crowd: Crowd, policy: Policy, now: float
) -> None:
    question = question_of(crowd, policy)
    found = candidates(question, now) if question is not None else None
    if question is not None and isinstance(found, NoPlan) and found.why is Why.PROTECTED:
        heedless = replace(question, policy=replace(policy, rules=TIMELESS))
        without = candidates(heedless, now)
        reached = any(not isinstance(candidates(question, moment), NoPlan) for moment in ends(question, now))
        assert reached or not isinstance(without, NoPlan)


def test_enough_is_tolerated() -> None:
    """Otherwise the properties above say nothing."""
    questions = [question_of(tolerant_crowd(seed)) for seed in range(300)]
    found = [candidates(q, START) for q in questions if q is not None]
    refusals = [no for no in found if isinstance(no, NoPlan)]
    assert sum(no.retry_at is not None for no in refusals) > 20
    assert sum(no.why is Why.PROTECTED and no.retry_at is None for no in refusals) > 5
    assert len(found) - len(refusals) > 50


# --- a feature that is not used ------------------------------------------------------------------


def unannotated(crowd: Crowd) -> Crowd:
    plain = [
        {**thing, "metadata": {**thing["metadata"], "annotations": {}}}
        if thing["kind"] == "PriorityClass"
        else thing
        for thing in crowd.objects
    ]
    return Crowd(plain, crowd.newcomers)


@given(CROWDS, POLICIES)
def test_without_annotations_the_rule_changes_nothing(crowd: Crowd, policy: Policy) -> None:
    question = question_of(unannotated(crowd), policy)
    if question is not None:
        heedless = replace(question, policy=replace(policy, rules=TIMELESS))
        assert candidates(unspent(question), START) == candidates(unspent(heedless), START)


@given(CROWDS)
def test_pods_that_go_alone_have_their_own_clocks(crowd: Crowd) -> None:
    """What groups say makes no difference where they are not looked at."""
    silent = [
        {**thing, "spec": {**thing["spec"], "priorityClassName": ""}, "status": {}}
        if thing["kind"] in ("PodGroup", "CompositePodGroup")
        else thing
        for thing in crowd.objects
    ]
    alone = replace(REPRIEVE, units=pods_alone)
    assert answer(crowd, alone) == answer(Crowd(silent, crowd.newcomers), alone)


@given(CROWDS, POLICIES, st.integers(0, 2**32 - 1))
def test_the_order_of_rows_never_shows(crowd: Crowd, policy: Policy, seed: int) -> None:
    rng, objects = random.Random(seed), list(crowd.objects)
    rng.shuffle(objects)
    assert answer(Crowd(objects, crowd.newcomers), policy) == answer(crowd, policy)
