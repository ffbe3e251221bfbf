"""Exposure says of random crowds what the search may do: the same pods are eligible, at every moment."""

from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.eligibility import eligible
from reprieve.preemption.exposure import exposure
from reprieve.preemption.policy import Policy
from tests.properties.crowded import Crowd
from tests.properties.preempting import POLICIES, question_of
from tests.properties.tolerant import NOW, tolerant_crowds

START = NOW.timestamp()


@given(tolerant_crowds(), POLICIES, st.floats(START, START + 4000))
def test_the_pods_that_are_open_are_those_that_are_eligible(crowd: Crowd, policy: Policy, now: float) -> None:
    question = question_of(crowd, policy)
    if question is None:
        return
    units, demand = policy.units(question.view), question.demand
    allowed = eligible(units, demand, policy.rules, now).allowed
    found = {one.pod: one for one in exposure(question.view, policy, START)}
    assert {*found} == {row for row, number in enumerate(units.of_pod.tolist()) if number != NOWHERE}
    own = {question.view.pods.groups[pod] for pod in demand.pods} - {None}
    for pod, one in found.items():
        if one.held_by_budget or question.view.pods.groups[pod] in own:
            continue  # budgets, and a demand's own group, are for the search
        level = [step for step in one.least_preemptors(START) if step.since <= now][-1].priority
        is_open = level is not None and demand.priority >= level
        assert is_open == allowed[units.of_pod[pod]], one
