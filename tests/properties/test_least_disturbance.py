"""Plans that disturb least hold under all constraints, and are never worse than those of the ceiling."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from reprieve.model.whatif import without
from reprieve.placement.effort import Effort
from reprieve.preemption.least_disturbance.model_of_question import RoomsInReach, reach_of
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.policy import Question
from reprieve.preemption.reprieve import holds
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from tests.properties.crowded import EVERYTHING, Crowd, crowds
from tests.properties.preempting import PRIORITY_CEILING, evictable_of, question_of


@pytest.mark.parametrize("breaks_no_budget", [False, True])
@given(crowd=crowds(EVERYTHING, gang=True))
def test_plans_are_sound_and_no_worse(breaks_no_budget: bool, crowd: Crowd) -> None:
    question = question_of(crowd, replace(REPRIEVE, breaks_no_budget=breaks_no_budget))
    if question is None:
        return
    found = candidates(question, now=0)
    if isinstance(found, NoPlan):
        usual = replace(PRIORITY_CEILING, breaks_no_budget=breaks_no_budget)
        assert isinstance(candidates(replace(question, policy=usual), now=0), NoPlan)
        return
    for plan in found:
        gone = [row for unit in plan.victims for row in unit.pods]
        assert holds(question.demand, plan.placement, without(question.view, gone), question.profile)
        assert not (breaks_no_budget and plan.broken)
    quality = found[0].quality
    assert quality is not None
    cost, bound, ceiling = (
        [value for _, value in values] for values in (quality.cost, quality.bound, quality.ceiling_cost)
    )
    assert breaks_no_budget or not ceiling or cost <= ceiling
    assert bound <= cost
    assert not quality.proved or bound == cost


@given(crowd=crowds(EVERYTHING, gang=True))
def test_ceilings_are_those_of_the_whole_model(crowd: Crowd) -> None:
    question = question_of(crowd, REPRIEVE)
    if question is None:
        return
    evictable, target = evictable_of(question), len(question.demand.pods)
    reach = reach_of(question, evictable, np.ones(len(question.view.nodes), np.bool_), math.inf)
    rooms = RoomsInReach(question, evictable, reach, target)
    whole = rooms.below(math.inf)
    assert rooms.levels == whole.levels
    assert rooms.levels_within_budgets == whole.levels_within_budgets


@given(crowd=crowds(EVERYTHING, gang=True))
def test_further_placements_are_sound_and_no_worse(crowd: Crowd) -> None:
    one = question_of(crowd, replace(PRIORITY_CEILING, placements_tried=1))
    if one is None:
        return
    found = candidates(with_effort(one), now=0)
    more = candidates(with_effort(replace(one, policy=replace(PRIORITY_CEILING, placements_tried=4))), now=0)
    if isinstance(found, NoPlan) or isinstance(more, NoPlan):
        assert isinstance(found, NoPlan) and isinstance(more, NoPlan)
        return
    usual = {plan.domain: tuple(plan.cost) for plan in found}
    for plan in more:
        gone = [row for unit in plan.victims for row in unit.pods]
        assert holds(one.demand, plan.placement, without(one.view, gone), one.profile)
        assert tuple(plan.cost) <= usual[plan.domain]


def with_effort(question: Question) -> Question:
    return replace(question, demand=replace(question.demand, effort=Effort(10_000)))
