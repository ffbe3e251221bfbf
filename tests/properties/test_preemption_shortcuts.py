"""What is done faster than it is explained gives the same answer."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.objects import Pod
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask
from reprieve.placement.domains import Domain
from reprieve.placement.place import Placement, place, survey
from reprieve.preemption.budgets import Joint, accounts
from reprieve.preemption.node_pruning import glance, worth_planning
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import REPRIEVE, Policy
from reprieve.preemption.question import Question
from reprieve.preemption.ranking import rank
from reprieve.preemption.reprieve import EveryConstraint, RoomAndPorts, Settled, Trial, WhereItMatters
from reprieve.preemption.search import plan_in
from reprieve.preemption.units import Unit
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, Size, crowds
from tests.properties.preempting import POLICIES, plans_of, pods_of, question_of, takeable_of
from tests.properties.worlds import decoded
from tests.reference.plain.victims import excess
from tests.scenarios.making import demand_of, snapshot_of
from tests.scenarios.reading import Scenario, read_scenario

SEEDS = st.integers(0, 2**32 - 1)
SCENARIOS = Path(__file__).parents[1] / "scenarios"
MANY = Size(nodes=45, pods_per_node=3)


def units_of(question: Question) -> list[Unit]:
    takeable = takeable_of(question)
    return [takeable.units.unit(int(number)) for number in np.flatnonzero(takeable.allowed)]


# --- sparing -------------------------------------------------------------------------------------


def settled(question: Question) -> Settled | None:
    """The demand placed with everybody gone who may be taken."""
    gone = np.array([pod for unit in units_of(question) for pod in unit.pods], np.int64)
    placement = place(question.demand, without(question.view, gone))
    if not isinstance(placement, Placement):
        return None
    return Settled(question.demand, placement, question.profile, question.view, gone)


def assert_alike(crowd: Crowd, seed: int, make: Callable[[Question, Settled], Trial]) -> None:
    """Units are put back in any order, and each time both say the same."""
    question = question_of(crowd)
    case = settled(question) if question is not None else None
    if question is None or case is None:
        return
    quick, plain = make(question, case), EveryConstraint(case)
    units = units_of(question)
    random.Random(seed).shuffle(units)
    for unit in units:
        assert quick.put_back(unit) == plain.put_back(unit), unit.name


@given(crowds(ROOM_ONLY), SEEDS)
def test_room_and_ports_are_all_that_matters_where_nothing_else_does(crowd: Crowd, seed: int) -> None:
    assert_alike(crowd, seed, lambda _, case: RoomAndPorts(case))


@given(crowds(EVERYTHING), SEEDS)
def test_only_those_who_matter_need_be_asked_about_the_rest(crowd: Crowd, seed: int) -> None:
    assert_alike(crowd, seed, lambda question, case: WhereItMatters(case, takeable_of(question).matter))


# --- a glance ------------------------------------------------------------------------------------


def best_on(question: Question, rows: list[int]) -> Plan | None:
    """Planning node by node."""
    nodes, takeable = question.view.nodes, takeable_of(question)
    domains = [Domain(nodes.names[row], np.arange(len(nodes)) == row) for row in rows]
    plans = [plan for domain in domains if (plan := plan_in(domain, question, takeable))]
    return min(plans, key=rank, default=None)


def assert_glance_suffices(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    if question is None:
        return
    promising = [row for row, *_ in worth_planning(question, takeable_of(question))]
    everywhere = [int(row) for row in np.flatnonzero(question.found.curable())]
    assert best_on(question, promising) == best_on(question, everywhere)


@given(crowds(ROOM_ONLY, MANY, gang=False), POLICIES)
def test_prices_are_what_plans_cost(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    if question is None:
        return
    seen = glance(question, takeable_of(question))
    for row, price in seen.exact.in_order(question.view.nodes):
        plan = best_on(question, [row])
        assert plan is not None
        assert rank(plan) == price


@given(crowds(EVERYTHING, MANY, gang=False), POLICIES)
def test_no_plan_is_cheaper_than_it_looks(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    if question is None:
        return
    seen = glance(question, takeable_of(question))
    for row, price in seen.at_least.and_(seen.unclear).in_order(question.view.nodes):
        plan = best_on(question, [row])
        assert plan is None or rank(plan) >= price


@given(crowds(EVERYTHING, MANY, gang=False), POLICIES)
def test_the_best_plans_are_those_that_planning_everywhere_finds(crowd: Crowd, policy: Policy) -> None:
    question = question_of(crowd, policy)
    if question is None:
        return
    everywhere = [int(row) for row in np.flatnonzero(question.found.curable())]
    everything = sorted(filter(None, (best_on(question, [row]) for row in everywhere)), key=rank)
    assert sorted(plans_of(question), key=rank)[:20] == everything[:20]


@given(crowds(EVERYTHING, gang=False), POLICIES)
def test_a_glance_does_not_lose_the_best_plan(crowd: Crowd, policy: Policy) -> None:
    assert_glance_suffices(crowd, policy)


@given(crowds(ROOM_ONLY, MANY, gang=False), POLICIES)
def test_a_glance_at_many_nodes_leaves_a_few(crowd: Crowd, policy: Policy) -> None:
    assert_glance_suffices(crowd, policy)


def test_a_glance_sees_whom_a_unit_takes_with_it() -> None:
    """A unit on the node has a pod on another, and only that one is in the way."""
    path = SCENARIOS / "interactions" / "a-unit-leaves-with-its-constraints.yaml"
    scenario = read_scenario(path)
    assert isinstance(scenario, Scenario)
    view = snapshot_of(scenario)
    demand = demand_of(scenario, view)
    question = Question(demand, view, survey(Ask(view, demand.pods[0])))
    promising = [row for row, *_ in worth_planning(question, takeable_of(question))]
    assert view.nodes.rows["n1"] in promising


# --- budgets -------------------------------------------------------------------------------------


@given(crowds(EVERYTHING), SEEDS)
def test_budgets_are_counted_anew_with_each_who_is_spared(crowd: Crowd, seed: int) -> None:
    question = question_of(crowd)
    if question is None:
        return
    objects = [decoded(thing) for thing in crowd.objects]
    pods = {pod.metadata.name: pod for pod in objects if isinstance(pod, Pod)}
    going = units_of(question)
    random.Random(seed).shuffle(going)
    counting = Joint(accounts(REPRIEVE.stocks(question.view)), going)

    def plain(units: list[Unit]) -> int:
        return excess(objects, [pods[name] for name in pods_of(question.view, units)])

    while going:
        assert counting.broken(going) == plain(going)
        for unit in going:
            others = [u for u in going if u is not unit]
            assert counting.breaks(unit) == (plain(others) < plain(going))
        counting.spare(going.pop())
