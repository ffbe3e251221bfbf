"""A gang whose pods make room each for itself: its plans are as good as any other's."""

from dataclasses import replace

from hypothesis import given

from reprieve.model.whatif import without
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.pod_by_pod import plans_pod_by_pod
from reprieve.preemption.policy import Question
from reprieve.preemption.reprieve import holds
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import pods_alone
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, crowds
from tests.properties.preempting import question_of

ALONE = replace(REPRIEVE, units=pods_alone)


def plans(crowd: Crowd) -> list[tuple[Question, Plan]]:
    question = question_of(crowd, ALONE)
    found = plans_pod_by_pod(question, 0, candidates) if question is not None else []
    return [(question, plan) for plan in found] if question and not isinstance(found, NoPlan) else []


def fits(question: Question, plan: Plan, spared: int = -1) -> bool:
    """Whether the plan holds if this one of its victims stays."""
    gone = [row for i, unit in enumerate(plan.victims) if i != spared for row in unit.pods]
    return holds(question.demand, plan.placement, without(question.view, gone), question.profile)


@given(crowds(EVERYTHING, gang=True))
def test_with_the_victims_gone_enough_pods_have_room(crowd: Crowd) -> None:
    for question, plan in plans(crowd):
        assert len(plan.places) >= question.demand.needed
        assert fits(question, plan)


@given(crowds(ROOM_ONLY, gang=True))
def test_no_pod_goes_in_vain(crowd: Crowd) -> None:
    for question, plan in plans(crowd):
        assert not any(fits(question, plan, spared=i) for i in range(len(plan.victims)))


@given(crowds(EVERYTHING, gang=True))
def test_only_pods_go_what_are_less_important_than_one_of_the_gang(crowd: Crowd) -> None:
    for question, plan in plans(crowd):
        priorities = question.view.pods.priority
        highest = max(int(priorities[pod]) for pod in question.demand.pods)
        assert all(len(unit.pods) == 1 for unit in plan.victims)
        assert all(int(priorities[row]) < highest for unit in plan.victims for row in unit.pods)


@given(crowds(ROOM_ONLY, gang=True))
def test_budgets_are_counted_for_all_that_go(crowd: Crowd) -> None:
    for question, plan in plans(crowd):
        victims = [row for unit in plan.victims for row in unit.pods]
        view = question.view
        broken = 0
        for budget in view.budgets:
            guarded = view.pods.matching(budget.selector, frozenset({budget.namespace}))
            charged = [
                row
                for row in victims
                if guarded[row] and view.pods.compiled[row].pod.metadata.name not in budget.disrupted
            ]
            broken += max(0, len(charged) - max(0, budget.allowed))
        assert plan.broken == broken
