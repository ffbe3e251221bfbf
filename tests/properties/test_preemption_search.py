"""The search against its plain reading, and against the best plan there is."""

from hypothesis import given

from reprieve.preemption.policy import Question
from reprieve.preemption.search import domains, plan_in
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, Size, crowds
from tests.properties.preempting import PRIORITY_CEILING, evictable_of, plans_of, question_of
from tests.reference.brute_force import PlainSearch, optimum
from tests.reference.policies import usual_rank

SMALL = Size(nodes=3, pods_per_node=3, newcomers=3)
MOST_UNITS = 8


def assert_as_told(question: Question | None) -> None:
    if question is None:
        return
    evictable = evictable_of(question)
    for domain in domains(question, evictable):
        assert plan_in(domain, question, evictable) == PlainSearch(question, domain, evictable).plan()


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
    evictable = evictable_of(question)
    if evictable.allowed.sum() > MOST_UNITS:
        return
    found, ideal = plans_of(question), optimum(question, evictable)
    assert ideal is not None or not found
    assert all(usual_rank(plan) >= usual_rank(ideal) for plan in found if ideal is not None)
    if len(question.demand.pods) == 1:
        assert bool(found) == (ideal is not None), "where only room matters, a pod misses no plan"
        assert ideal is None or found[0].cost == ideal.cost, "and has the best"
        # In a domain of a topology, the plan may be on a node that was not looked at by itself.
        if ideal is not None and not question.demand.topology_key:
            assert found[0].quality is not None
            assert found[0].quality.proved
