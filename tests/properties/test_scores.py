"""How nodes are preferred for themselves and for their room: columns agree with the plain reading."""

import pytest
from hypothesis import given

from reprieve.placement.profile import DEFAULT_PROFILE, Profile, ResourceWeight, ShapePoint, Strategy
from reprieve.placement.resource_scores import allocation, balance
from reprieve.placement.scoring import image_score, node_affinity_score, taint_score
from tests.properties.agreement import assert_same_scores
from tests.properties.vocabulary import MANY_RESOURCES
from tests.properties.worlds import World, worlds
from tests.reference.plain import scores as plain

UP_AND_DOWN = (ShapePoint(0, 0), ShapePoint(33, 7), ShapePoint(70, 3), ShapePoint(100, 10))
STRATEGIES = {
    "default": DEFAULT_PROFILE,
    "least": Profile(strategy_resources=MANY_RESOURCES),
    "most": Profile(strategy=Strategy.MOST_ALLOCATED, strategy_resources=MANY_RESOURCES),
    "shape": Profile(
        strategy=Strategy.REQUESTED_TO_CAPACITY_RATIO,
        strategy_resources=MANY_RESOURCES,
        strategy_shape=UP_AND_DOWN,
    ),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(world=worlds(frozenset({"resources"})))
def test_allocation(strategy: str, world: World) -> None:
    assert_same_scores(world, allocation, plain.allocation, STRATEGIES[strategy])


@pytest.mark.parametrize(
    "balanced", [DEFAULT_PROFILE.balanced_resources, MANY_RESOURCES], ids=["two", "many"]
)
@given(world=worlds(frozenset({"resources"})))
def test_balance(balanced: tuple[ResourceWeight, ...], world: World) -> None:
    profile = Profile(balanced_resources=balanced)
    assert_same_scores(world, balance, plain.balance, profile)


@given(worlds(frozenset({"node"})))
def test_taints(world: World) -> None:
    assert_same_scores(world, taint_score, plain.taints)


@given(worlds(frozenset({"node"})))
def test_node_affinity(world: World) -> None:
    assert_same_scores(world, node_affinity_score, plain.affinity)


@given(worlds(frozenset({"images", "resources"})))
def test_images(world: World) -> None:
    assert_same_scores(world, image_score, plain.images)
