"""What is asked of one node says the same as the columns do of it: every check, and every score."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.model.things import a_node, a_pod, container
from tests.unit.placement.asking import ask_about

from reprieve.model.resources import BOUND
from reprieve.model.score_cache import ALL
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.merits import _CHECKS, _OWN_SCORERS, _SCORERS_OF_ONE
from reprieve.placement.profile import DEFAULT_PROFILE, Preference, Profile, ResourceWeight, Strategy
from tests.properties.agreement import ask_of
from tests.properties.vocabulary import GPU, MANY_RESOURCES
from tests.properties.worlds import World, worlds


def weighing(*names: str) -> tuple[ResourceWeight, ...]:
    return tuple(ResourceWeight(name, weight) for weight, name in enumerate(names, 1))


PROFILES = {
    "default": DEFAULT_PROFILE,
    "many": Profile(strategy_resources=MANY_RESOURCES, balanced_resources=MANY_RESOURCES),
    "most": Profile(
        strategy=Strategy.MOST_ALLOCATED,
        strategy_resources=MANY_RESOURCES,
        balanced_resources=weighing(GPU, "memory"),
        ignored_resource_groups=frozenset({"example.com"}),
    ),
    "pods": Profile(strategy_resources=weighing("pods"), balanced_resources=weighing("pods")),
    "few": Profile(
        strategy_resources=weighing("pods", GPU), balanced_resources=weighing("pods", "ephemeral-storage")
    ),
}
FOUR = partial(st.lists, min_size=4, max_size=4)


@pytest.mark.parametrize("constraint", _CHECKS, ids=[constraint.__name__ for constraint in _CHECKS])
@given(world=worlds(frozenset({"resources", "node"})))
def test_a_check_agrees_with_its_constraint(constraint: Constraint, world: World) -> None:
    for profile in (PROFILES["default"], PROFILES["most"]):
        for ask in asks_in(world, profile):
            refused = [rejection.rows for rejection in constraint(ask)]
            for node in range(len(ask.view.nodes)):
                is_refused = any(rows[node] for rows in refused)
                assert _CHECKS[constraint](ask, ask.shape, node) is not is_refused


@pytest.mark.parametrize("preference", _SCORERS_OF_ONE)
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@given(world=worlds(frozenset({"resources"})))
def test_a_score_agrees_with_its_columns(preference: Preference, profile: Profile, world: World) -> None:
    for ask in asks_in(world, profile):
        assert_same_scores(ask, preference)


@pytest.mark.parametrize("preference", _SCORERS_OF_ONE)
@given(capacity=FOUR(st.integers(0, BOUND - 1)), used=FOUR(st.integers(0, 256 * BOUND)))
def test_they_agree_on_large_amounts(preference: Preference, capacity: list[int], used: list[int]) -> None:
    """Columns divide floats: what a node has is exact as such, and a sum that is not exceeds all that."""
    pod = a_pod(containers=[container(cpu="1", memory="1Gi")])
    view = ask_about(pod, [a_node("n0"), a_node("n1")]).view
    allocatable, requested = view.allocatable.copy(), view.requested.copy()
    allocatable[:2] = np.reshape(capacity, (2, 2))
    requested[:2] = np.reshape(used, (2, 2))
    view = replace(view, allocatable=allocatable, requested=requested, nonzero=requested[:2])
    assert_same_scores(Ask(view, 0), preference)


def assert_same_scores(ask: Ask, preference: Preference) -> None:
    scores = _OWN_SCORERS[preference](ask, ALL)
    for node in range(len(ask.view.nodes)):
        score = _SCORERS_OF_ONE[preference](ask, ask.shape, node)
        if score is None:
            assert preference is Preference.BALANCE
            assert len(ask.profile.balanced_resources) > 2
        else:
            assert score == (0 if scores is None else scores[node])


def asks_in(world: World, profile: Profile) -> list[Ask]:
    """About the newcomer, and about every pod that is there."""
    ask = ask_of(world, profile)
    return [Ask(ask.view, row, profile) for row in range(len(ask.view.pods))]
