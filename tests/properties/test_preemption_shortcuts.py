"""What is done faster than it is explained gives the same answer."""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import ge
from pathlib import Path
from typing import cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.objects import Pod
from reprieve.model.snapshot import NOWHERE
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask
from reprieve.placement.domains import Domain
from reprieve.placement.place import Placement, place, survey
from reprieve.preemption.budgets import Joint
from reprieve.preemption.criteria import CRITERIA, DISTURBANCE, Candidates, Criterion
from reprieve.preemption.node_bounds import roughly_bounded
from reprieve.preemption.node_pruning import NodeSearch, lower_bounds, plan_bounds
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.policy import Policy, Question, Shortcuts
from reprieve.preemption.potential_nodes import potential_nodes_of
from reprieve.preemption.reprieve import EveryConstraint, PlacedDemand, RoomAndPorts, Trial, WhereItMatters
from reprieve.preemption.search import candidates, plan_in
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import Unit, numbers_of
from reprieve.scheduler.planning.victims_in_flight import counting_on
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, Size, crowds
from tests.properties.preempting import POLICIES, evictable_of, pods_of, question_of
from tests.properties.worlds import decoded
from tests.reference.plain.victims import excess
from tests.reference.searching import best_plan
from tests.scenarios.making import demand_of, snapshot_of
from tests.scenarios.reading import Scenario, read_scenario

SEEDS = st.integers(0, 2**32 - 1)
SCENARIOS = Path(__file__).parents[1] / "scenarios"
MANY = Size(nodes=12, pods_per_node=3)

EAGER, NONE = Shortcuts(1, 1, 1), Shortcuts(*[sys.maxsize] * 3)

Order = tuple[Criterion, ...]


def unbounded(criterion: Criterion) -> Criterion:
    """The same, but only finished plans can be compared by it."""
    return replace(criterion, of_victims=criterion.of_victims or (lambda _: 0), bound=None)


# Any order of any of the criteria; of some, no lower bound is known.
ORDERS = st.lists(
    st.builds(
        lambda criterion, bounded: criterion if bounded else unbounded(criterion),
        st.sampled_from([*CRITERIA.values()]),
        st.integers(0, 9).map(bool),
    ),
    unique_by=lambda criterion: criterion.name,
).map(tuple)


def units_of(question: Question) -> list[Unit]:
    evictable = evictable_of(question)
    return [evictable.units.unit(int(number)) for number in np.flatnonzero(evictable.allowed)]


# --- sparing -------------------------------------------------------------------------------------


def placed(question: Question) -> PlacedDemand | None:
    """The demand placed with every eligible unit removed."""
    gone = np.array([pod for unit in units_of(question) for pod in unit.pods], np.int64)
    placement = place(question.demand, without(question.view, gone))
    if not isinstance(placement, Placement):
        return None
    return PlacedDemand(question.demand, placement, question.profile, question.view, gone)


def assert_alike(crowd: Crowd, seed: int, make: Callable[[Question, PlacedDemand], Trial]) -> None:
    """Units are put back in any order, and each time both say the same."""
    question = question_of(crowd)
    case = placed(question) if question is not None else None
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
def test_only_those_that_matter_need_be_asked_about_the_rest(crowd: Crowd, seed: int) -> None:
    assert_alike(crowd, seed, lambda question, case: WhereItMatters(case, evictable_of(question).matter))


# --- pruning -------------------------------------------------------------------------------------


def plan_on(question: Question, row: int) -> Plan | None:
    """As planning node by node finds it."""
    nodes = question.view.nodes
    domain = Domain(nodes.names[row], np.arange(len(nodes)) == row)
    return plan_in(domain, question, evictable_of(question))


def asked(crowd: Crowd, policy: Policy, order: Order) -> Question | None:
    return question_of(crowd, replace(policy, disturbance=order))


Rank = tuple[float, ...]


def bounds_of(question: Question, part: Candidates) -> Iterator[tuple[Plan | None, Rank, Rank]]:
    """For each candidate node the plan there, its cost, and the lower bound of that, equally long."""
    bounds = lower_bounds([part], question.criteria)
    for i, row in enumerate(part.nodes.tolist()):
        plan = plan_on(question, row)
        cost = tuple(plan.cost) if plan is not None else ()
        yield plan, cost[: len(bounds)], tuple(bound[i] for bound in bounds)


@given(crowds(EVERYTHING, gang=False), POLICIES, ORDERS)
def test_bounds_are_what_plans_cost_where_the_victims_are_known(
    crowd: Crowd, policy: Policy, order: Order
) -> None:
    """Where units are reprieved in two orders, the plan is the better of the two."""
    question = asked(crowd, policy, order)
    if question is None:
        return
    least: dict[str, tuple[Rank, Rank]] = {}
    seen = plan_bounds(potential_nodes_of(question, evictable_of(question)))
    for turn, part in enumerate(part for part in seen.exact if len(part.nodes)):
        known = seen.costs(part.nodes, question.criteria)
        for row, (plan, measured, bound) in zip(part.nodes.tolist(), bounds_of(question, part), strict=True):
            assert plan is not None
            at_least = cast(Rank, known.get((row, turn), bound))
            _, before = least.get(plan.domain, (measured, at_least))
            least[plan.domain] = measured, min(before, at_least)
    assert all(measured == at_least for measured, at_least in least.values())


@given(crowds(EVERYTHING, gang=False), POLICIES, ORDERS)
def test_plans_from_columns_are_those_that_are_made_node_by_node(
    crowd: Crowd, policy: Policy, order: Order
) -> None:
    question = asked(crowd, policy, order)
    if question is None:
        return
    for candidate in NodeSearch(question, evictable_of(question)).worth_planning():
        if candidate.known is not None:
            assert candidate.known() == plan_on(question, candidate.node)


@given(crowds(EVERYTHING, gang=False), POLICIES)
def test_no_plan_costs_less_than_its_bound_by_any_criterion(crowd: Crowd, policy: Policy) -> None:
    question = asked(crowd, policy, DISTURBANCE)
    if question is None:
        return
    potential = potential_nodes_of(question, evictable_of(question))
    for part in (plan_bounds(potential).bounded, roughly_bounded(potential)):
        for plan, measured, at_least in bounds_of(question, part):
            assert plan is None or all(map(ge, measured, at_least))


def assert_same_answer(question: Question | None) -> None:
    """The best plans, the best of them, and why there is none are the same with shortcuts and without."""
    if question is None:
        return
    quick, plain = (candidates(replace(question, shortcuts=taken), now=0) for taken in (EAGER, NONE))
    assert best_of(question, quick) == best_of(question, plain)
    one, other = (best_plan(replace(question, shortcuts=taken), now=0) for taken in (EAGER, NONE))
    assert _unproved(one) == _unproved(other)


def _unproved(found: Plan | NoPlan) -> Plan | NoPlan:
    """Without what is known of it, which took more or less effort."""
    if isinstance(found, NoPlan):
        forbidden = found.forbidden
        return replace(found, forbidden=replace(forbidden, quality=None)) if forbidden is not None else found
    return replace(found, quality=None)


def best_of(question: Question, found: list[Plan] | NoPlan) -> list[Plan | NoPlan] | Plan | NoPlan:
    if isinstance(found, NoPlan):
        return _unproved(found)
    ordered = sorted(found, key=lambda plan: (plan.cost, plan.domain))[: question.most]
    if question.policy.search.refined is None:
        return [*map(_unproved, ordered)]
    # The best is sought on all nodes, whichever other plans were made on the way.
    return [_unproved(ordered[0])]


@given(crowds(EVERYTHING, gang=False), POLICIES, ORDERS, st.booleans(), st.integers(1, 3))
def test_pruning_changes_no_answer_whatever_the_order_of_the_criteria(
    crowd: Crowd, policy: Policy, order: Order, strict: bool, most: int
) -> None:
    policy = replace(policy, disturbance=order, breaks_no_budget=strict)
    question = question_of(crowd, policy)
    assert_same_answer(replace(question, most=most) if question is not None else None)


@given(crowds(ROOM_ONLY, MANY, gang=False), POLICIES, ORDERS)
def test_nor_where_most_nodes_are_pruned(crowd: Crowd, policy: Policy, order: Order) -> None:
    question = asked(crowd, policy, order)
    assert_same_answer(replace(question, most=2) if question is not None else None)


@given(crowds(EVERYTHING, MANY, gang=False), POLICIES, SEEDS, st.integers(1, 6))
def test_nor_does_a_plan_that_needs_no_victim_in_flight(
    crowd: Crowd, policy: Policy, seed: int, count: int
) -> None:
    question = question_of(crowd, policy)
    if question is None:
        return
    running = np.flatnonzero(question.view.where != NOWHERE).tolist()
    in_flight = random.Random(seed).sample(running, min(count, len(running)))
    find = counting_on(np.array(sorted(in_flight), np.int64))
    quick, plain = (find(replace(question, shortcuts=taken), 0.0) for taken in (EAGER, NONE))
    assert best_of(question, quick) == best_of(question, plain)


def test_pruning_sees_the_pods_that_a_unit_takes_along() -> None:
    """A unit on the node has a pod on another, and only that one is in the way."""
    path = SCENARIOS / "interactions" / "a-unit-leaves-with-its-constraints.yaml"
    scenario = read_scenario(path)
    assert isinstance(scenario, Scenario)
    view = snapshot_of(scenario)
    demand = demand_of(scenario, view)
    question = Question(demand, view, survey(Ask(view, demand.pods[0])), REPRIEVE)
    promising = [
        candidate.node for candidate in NodeSearch(question, evictable_of(question)).worth_planning()
    ]
    assert view.nodes.rows["n1"] in promising


# --- units at no risk ----------------------------------------------------------------------------


@given(crowds(EVERYTHING, gang=True), POLICIES, st.booleans())
def test_units_at_no_risk_make_no_difference(crowd: Crowd, policy: Policy, strict: bool) -> None:
    assert_same_answer(question_of(crowd, replace(policy, breaks_no_budget=strict)))


# --- budgets -------------------------------------------------------------------------------------


@given(crowds(EVERYTHING), SEEDS)
def test_budgets_are_counted_anew_with_each_that_is_spared(crowd: Crowd, seed: int) -> None:
    question = question_of(crowd)
    if question is None:
        return
    objects = [decoded(thing) for thing in crowd.objects]
    pods = {pod.metadata.name: pod for pod in objects if isinstance(pod, Pod)}
    going = units_of(question)
    random.Random(seed).shuffle(going)
    evictable = evictable_of(question)
    shares = evictable.shares.exceeding(evictable.units.mask(numbers_of(going)))
    counting = Joint(evictable.accounts, shares)

    def plain(units: list[Unit]) -> int:
        return excess(objects, [pods[name] for name in pods_of(question.view, units)])

    while going:
        assert counting.broken(going) == plain(going)
        for unit in going:
            others = [u for u in going if u is not unit]
            assert counting.breaks(unit.number) == (plain(others) < plain(going))
        counting.refund(going.pop().number)
