"""A tree of groups fits exactly when any placement exists, and preempts exactly when that makes one possible.

Compared with trying everything, on small clusters.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings

from reprieve.model.snapshot import NOWHERE
from reprieve.model.whatif import without
from reprieve.placement.domains import place_together
from reprieve.placement.effort import NO_EFFORT, Effort
from reprieve.placement.place import Placement
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.policy import Question, Search
from reprieve.preemption.reprieve import holds
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import LEAST_DISTURBANCE, PRIORITY_CEILING, REPRIEVE
from tests.properties.random_gangs import ROOM, TIED
from tests.properties.random_trees import TreeWorld, built_tree, seeded_tree
from tests.reference.demands import tree_demand
from tests.reference.searching import best
from tests.reference.tree_fits import keeps_its_word, tree_fits

WORLDS = 5_000 if settings().max_examples > 1000 else 200
BATCH = WORLDS // 4
FEATURES = (ROOM, ROOM, TIED)


def worlds_of(batch: int) -> Iterator[TreeWorld]:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        yield seeded_tree(seed, FEATURES[seed % 3])


@pytest.mark.parametrize("batch", range(4))
def test_a_tree_fits_if_it_fits(batch: int) -> None:
    fitting = rescued = 0
    for world in worlds_of(batch):
        view, rows = built_tree(world)
        demand = tree_demand(view, rows, everybody=True, effort=Effort(100_000))
        found = place_together(demand, view)
        assert isinstance(found, Placement) is tree_fits(view, rows)
        assert not demand.effort.fell_short
        if isinstance(found, Placement):
            places = {pod: n for pod, n in zip(demand.pods, found.nodes, strict=True) if n != NOWHERE}
            assert keeps_its_word(view, places)
            assert holds(demand, found, view, DEFAULT_PROFILE)
            fitting += 1
            in_order = place_together(replace(demand, effort=NO_EFFORT), view)
            rescued += not isinstance(in_order, Placement)
    assert 0 < fitting < BATCH
    assert rescued  # or the worlds are too easy


@pytest.mark.parametrize("search", [PRIORITY_CEILING, LEAST_DISTURBANCE])
def test_a_tree_preempts_if_that_helps(search: Search) -> None:
    plans = 0
    for seed in range(WORLDS // 2):
        view, rows = built_tree(seeded_tree(seed, FEATURES[seed % 3]))
        demand = tree_demand(view, rows, effort=Effort(100_000))
        unplaced = place_together(demand, view)
        if isinstance(unplaced, Placement):
            continue
        lower = np.flatnonzero((view.where != NOWHERE) & (view.pods.priority < demand.priority))
        question = Question(demand, view, unplaced.survey, policy=replace(REPRIEVE, search=search))
        found = candidates(question, now=0)
        assert isinstance(found, NoPlan) is not tree_fits(without(view, lower), rows)
        if not isinstance(found, NoPlan):
            plan = best(found)
            left = without(view, [row for unit in plan.victims for row in unit.pods])
            assert keeps_its_word(left, dict(plan.places))
            assert holds(demand, plan.placement, left, DEFAULT_PROFILE)
            plans += 1
    assert plans
