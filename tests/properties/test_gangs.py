"""A gang whose members differ fits exactly when any placement exists, and preempts only when none does.

Compared with trying everything, on small clusters.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import settings

from reprieve.model.columns import Mask
from reprieve.model.events import Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.model.snapshot import NOWHERE
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask, Promised
from reprieve.placement.domains import place_together
from reprieve.placement.effort import Effort
from reprieve.placement.place import Placement, Unplaceable, place
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.placement.rating import Choose, best
from reprieve.preemption.domain_plan import least_short
from reprieve.preemption.eligibility import eligible
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.policy import Question
from reprieve.preemption.reprieve import holds
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Outcome
from reprieve.scheduler.settings import Settings
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, random_crowd
from tests.properties.crowded import built as built_crowd
from tests.properties.random_gangs import ROOM, STORED, TIED, GangWorld, built, seeded_gang
from tests.properties.vocabulary import chance
from tests.properties.worlds import decoded
from tests.reference.demands import gang_demand
from tests.reference.gang_fits import gang_fits

WORLDS = 10_000 if settings().max_examples > 1000 else 500
BATCH = WORLDS // 5
FEATURES = (ROOM, TIED, STORED)


def worlds_of(batch: int) -> Iterator[GangWorld]:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        yield seeded_gang(seed, FEATURES[seed % 3], most=5)


@pytest.mark.parametrize("batch", range(5))
def test_a_gang_fits_if_it_fits(batch: int) -> None:
    rescued = 0
    for world in worlds_of(batch):
        view, rows = built(world)
        in_order = gang_demand(view, rows)
        demand = replace(in_order, effort=Effort(100_000))
        found = place_together(demand, view)
        assert isinstance(found, Placement) is gang_fits(view, rows, world.needed, world.topology_key)
        assert not demand.effort.fell_short
        if isinstance(found, Placement):
            assert sum(node != NOWHERE for node in found.nodes) == world.needed
            assert holds(demand, found, view, DEFAULT_PROFILE)
            rescued += isinstance(place_together(in_order, view), Unplaceable)
    assert rescued >= BATCH / 50  # or the worlds are too easy


@pytest.mark.parametrize("batch", range(5))
def test_nothing_is_evicted_for_a_gang_that_fits(batch: int) -> None:
    for world in worlds_of(batch):
        view, rows = built(world)
        scheduler = Scheduler(Settings())
        things = [decoded(thing) for thing in (*world.objects, *world.members)]
        scheduler.observe([*map(Seen, things), Synced()], on_one_clock(0.0))
        decided = scheduler.decide(on_one_clock(0.0))
        assert decided is not None
        fits = gang_fits(view, rows, world.needed, world.topology_key)
        assert (decided.decision.outcome is Outcome.PLACED) is fits
        assert decided.decision.unproved is None


@pytest.mark.parametrize("batch", range(5))
def test_there_is_a_plan_if_the_gang_fits_without_the_others(batch: int) -> None:
    """Without a topology: then all units that may be evicted are tried at once."""
    planned = 0
    for world in worlds_of(batch):
        view, rows = built(world)
        demand = replace(gang_demand(view, rows), effort=Effort(100_000))
        found = place_together(demand, view)
        units = REPRIEVE.units(view)
        allowed = eligible(units, demand, REPRIEVE.rules, 0).allowed
        if isinstance(found, Placement) or world.topology_key or not allowed.any():
            continue
        plans = candidates(Question(demand, view, found.survey, REPRIEVE), now=0)
        emptied = without(view, units.pods_of(np.flatnonzero(allowed)))
        assert isinstance(plans, NoPlan) is not gang_fits(emptied, rows, world.needed)
        planned += not isinstance(plans, NoPlan)
        for plan in [] if isinstance(plans, NoPlan) else plans:
            gone = [pod for unit in plan.victims for pod in unit.pods]
            assert plan.victims
            assert holds(demand, plan.placement, without(view, gone), DEFAULT_PROFILE)
    assert planned


def test_equal_members_go_where_they_go_one_by_one() -> None:
    """Also to nominated nodes, beside promises, where not all are wanted, and where the least must go."""
    together = 0
    for seed in range(WORLDS):
        rng = random.Random(seed)
        view, rows = built_crowd(random_crowd(rng, rng.choice((ROOM_ONLY, EVERYTHING)), gang=True))
        emptied = without(view, [pod for pod in range(len(view.pods)) if chance(rng, 0.6)])
        gone = [pod for pod in range(len(view.pods)) if emptied.where[pod] == NOWHERE and pod not in rows]
        promised = Promised(gone[:1], [0] * len(gone[:1]))
        nominated = tuple(rng.choice((NOWHERE, 0)) for _ in rows)
        demand = replace(gang_demand(view, rows), nominated=nominated, most=rng.choice((None, 2, 3)))
        short = least_short(view.requested - emptied.requested, best)
        for choose in (best, short):
            found = place(demand, emptied, choose=choose, promised=promised)
            one_by_one = place(demand, emptied, choose=partial(_calling, choose), promised=promised)
            assert found == one_by_one or not isinstance(found, Placement)
            assert type(found) is type(one_by_one)
            together += isinstance(found, Placement) and len(set(found.nodes)) > 1
    assert together > WORLDS / 4  # or there is little to choose


def _calling(choose: Choose, ask: Ask, feasible: Mask) -> int:
    """A choice of which nothing is known, so that it is made anew for each member."""
    return choose(ask, feasible)
