"""What is said of plans and refusals is true, whatever the cluster."""

import numpy as np
from hypothesis import given

from reprieve.model.whatif import without
from reprieve.placement.demand import Ask
from reprieve.placement.domains import place_together
from reprieve.placement.place import Unplaceable, survey
from reprieve.preemption.eligibility import eligible
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.policy import Policy
from reprieve.preemption.search import candidates
from reprieve.scheduler.reporting.decision import Preemption
from reprieve.scheduler.reporting.explanation import eviction_refusal, miss_of, preemption_of
from tests.properties.crowded import EVERYTHING, Crowd, crowds
from tests.properties.preempting import POLICIES, name_of, plans_of, pods_of, question_of
from tests.reference.policies import usual_rank

CROWDS = crowds(EVERYTHING)


@given(CROWDS, POLICIES)
def test_victims_and_spared_are_those_of_the_plan(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    plans = sorted(plans_of(question), key=usual_rank)
    if question is None or not plans:
        return
    made = preemption_of(plans, question, leaving=0, now=0)
    assert {victim.pod.name for victim in made.victims} == pods_of(question.view, plans[0].victims)
    assert {spared.unit for spared in made.spared} <= {unit.name for unit in plans[0].spared}
    assert sum(made.victim_nodes.values()) == made.pods == len(made.victims)
    assert all(victim.because.text and victim.because.code for victim in made.victims)
    assert [loser.domain for loser in made.losers] == [plan.domain for plan in plans[1:21]]
    assert_budgets(made)


def assert_budgets(made: Preemption) -> None:
    for budget in made.exceeded:
        listed = [victim for victim in made.victims if budget.budget in victim.budgets]
        assert len(listed) == budget.going > budget.allowed


@given(CROWDS, POLICIES)
def test_the_nearest_miss_is_one(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    if question is None:
        return
    found = place_together(question.demand, question.view)
    assert isinstance(found, Unplaceable)
    miss = miss_of(found, question.demand, question.profile)
    assert miss.pod.name in pods_of_demand(crowd)
    if miss.resource:
        view, node = found.view, found.view.nodes.rows[miss.node]
        row = view.axis.names.index(miss.resource)
        free = int(view.allocatable[row, node] - view.requested[row, node])
        assert int(view.pods.requests[row, found.pod]) - free == miss.short > 0
        assert not survey(Ask(view, found.pod, question.profile)).feasible[node]


@given(CROWDS, POLICIES)
def test_a_pod_that_is_told_that_none_helps_is_told_the_truth(crowd: Crowd, policy: Policy) -> None:
    """Even without all pods of lower priority it does not fit, and the pod that is named is why."""
    question = question_of(crowd, policy)
    refusal = candidates(question, now=0) if question is not None else []
    if question is None or not isinstance(refusal, NoPlan):
        return
    eviction = eviction_refusal(refusal, question, now=0)
    assert eviction.because.code == refusal.why
    if eviction.at_best is not None:
        units = policy.units(question.view)
        gone = units.pods_of(np.flatnonzero(eligible(units, question.demand, policy.rules, 0).allowed))
        found = place_together(question.demand, without(question.view, gone))
        assert isinstance(found, Unplaceable)
        assert eviction.at_best.pod.name == name_of(question.view, found.pod)


def pods_of_demand(crowd: Crowd) -> set[str]:
    return {pod["metadata"]["name"] for pod in crowd.newcomers}
