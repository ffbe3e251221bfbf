"""Plans that disturb least hold under all constraints, and are never worse than those of the ceiling."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from reprieve.preemption.least_disturbance.prices import Prices
from reprieve.preemption.ranking import rank

from reprieve.model.whatif import without
from reprieve.placement.effort import Effort
from reprieve.preemption.least_disturbance.model_of_question import RoomsInReach, reach_of
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.question import Question
from reprieve.preemption.reprieve import holds
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from tests.properties.crowded import EVERYTHING, Crowd, crowds
from tests.properties.preempting import question_of, takeable_of

LEAST = replace(REPRIEVE, search=LEAST_DISTURBANCE)


@pytest.mark.parametrize("breaks_no_budget", [False, True])
@given(crowd=crowds(EVERYTHING, gang=True))
def test_plans_are_sound_and_no_worse(breaks_no_budget: bool, crowd: Crowd) -> None:
    question = question_of(crowd, replace(LEAST, breaks_no_budget=breaks_no_budget))
    if question is None:
        return
    found = candidates(question, now=0)
    if isinstance(found, NoPlan):
        usual = replace(REPRIEVE, breaks_no_budget=breaks_no_budget)
        assert isinstance(candidates(replace(question, policy=usual), now=0), NoPlan)
        return
    for plan in found:
        gone = [row for unit in plan.victims for row in unit.pods]
        assert holds(question.demand, plan.placement, without(question.view, gone), question.profile)
        assert not (breaks_no_budget and plan.broken)
        assert plan.quality is not None
        cost, bound, ceiling = (
            [value for _, value in values]
            for values in (plan.quality.cost, plan.quality.bound, plan.quality.ceiling_cost)
        )
        assert breaks_no_budget or cost <= ceiling
        assert bound <= cost
        assert not plan.quality.proved or bound == cost


@given(crowd=crowds(EVERYTHING, gang=True))
def test_ceilings_are_those_of_the_whole_model(crowd: Crowd) -> None:
    question = question_of(crowd, LEAST)
    if question is None:
        return
    takeable, target = takeable_of(question), len(question.demand.pods)
    reach = reach_of(question, takeable, np.ones(len(question.view.nodes), np.bool_), math.inf)
    prices = Prices(question, takeable.units, takeable.accounts, None, reach.units)
    rooms = RoomsInReach(question, takeable, reach, target, prices.of)
    whole = rooms.below(math.inf)
    assert rooms.levels == whole.levels
    assert rooms.levels_within_budgets == whole.levels_within_budgets


@given(crowd=crowds(EVERYTHING, gang=True))
def test_further_placements_are_sound_and_no_worse(crowd: Crowd) -> None:
    one = question_of(crowd, replace(REPRIEVE, placements_tried=1))
    if one is None:
        return
    found = candidates(with_effort(one), now=0)
    more = candidates(with_effort(replace(one, policy=replace(REPRIEVE, placements_tried=4))), now=0)
    if isinstance(found, NoPlan) or isinstance(more, NoPlan):
        assert isinstance(found, NoPlan) and isinstance(more, NoPlan)
        return
    usual = {plan.domain: rank(plan, REPRIEVE.ranking) for plan in found}
    for plan in more:
        gone = [row for unit in plan.victims for row in unit.pods]
        assert holds(one.demand, plan.placement, without(one.view, gone), one.profile)
        assert rank(plan, REPRIEVE.ranking) <= usual[plan.domain]


def with_effort(question: Question) -> Question:
    return replace(question, demand=replace(question.demand, effort=Effort(10_000)))
