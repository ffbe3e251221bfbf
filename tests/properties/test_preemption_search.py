"""The search against its plain reading, and against the best plan there is."""

from hypothesis import given

from reprieve.preemption.question import Question
from reprieve.preemption.search import domains, plan_in
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, Size, crowds
from tests.properties.preempting import PRIORITY_CEILING, plans_of, question_of, takeable_of
from tests.reference.brute_force import PlainSearch, optimum
from tests.reference.policies import usual_rank

SMALL = Size(nodes=3, pods_per_node=3, newcomers=3)
MOST_UNITS = 8


def assert_as_told(question: Question | None) -> None:
    if question is None:
        return
    takeable = takeable_of(question)
    for domain in domains(question, takeable):
        assert plan_in(domain, question, takeable) == PlainSearch(question, domain, takeable).plan()


@given(crowds(ROOM_ONLY))
def test_the_search_does_what_the_design_says(crowd: Crowd) -> None:
    """In particular the ceiling is the lowest for which the placement succeeds, found by trying them all."""
    assert_as_told(question_of(crowd, PRIORITY_CEILING))


@given(crowds(EVERYTHING))
def test_also_where_constraints_look_beyond_a_node(crowd: Crowd) -> None:
    assert_as_told(question_of(crowd, PRIORITY_CEILING))


@given(crowds(ROOM_ONLY, SMALL))
def test_nothing_is_better_than_the_best(crowd: Crowd) -> None:
    question = question_of(crowd)
    if question is None or question.demand.needed < len(question.demand.pods):
        return
    takeable = takeable_of(question)
    if takeable.allowed.sum() > MOST_UNITS:
        return
    found, ideal = plans_of(question), optimum(question, takeable)
    assert ideal is not None or not found
    assert all(usual_rank(plan) >= usual_rank(ideal) for plan in found if ideal is not None)
    if len(question.demand.pods) == 1:
        assert bool(found) == (ideal is not None), "where only room matters, a pod misses no plan"
        assert ideal is None or found[0].cost == ideal.cost, "and has the best"
        assert ideal is None or (found[0].quality is not None and found[0].quality.proved)
