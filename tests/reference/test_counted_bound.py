"""What is counted without a model is no more than the least that an independent model finds."""

import math

import numpy as np
import pytest

from reprieve.model.snapshot import build
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement
from reprieve.preemption.least_disturbance.counted_bound import CountedBound
from reprieve.preemption.least_disturbance.model_of_question import reach_of
from reprieve.preemption.policy import Question
from tests.properties.preempting import evictable_of
from tests.properties.worlds import decoded
from tests.reference.crowded_rooms import crowded_room
from tests.reference.demands import gang_demand
from tests.reference.disturbance_plans import USUAL_ORDER, by
from tests.reference.exact_disturbance import finite, least_cost, world_of

ORDERS = {
    "default": USUAL_ORDER,
    "pods first": ("PodsStopped", "HighestPriority", "BudgetsBroken"),
    "sums": ("WorkloadsEnded", "PrioritySum", "Cascade"),
}
SEEDS = range(80)


def bound_and_least(seed: int, order: tuple[str, ...]) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """None if no pod has to be evicted, or if that does not help."""
    room = crowded_room(seed, nodes=8, members=8)
    view = build([decoded(thing) for thing in (*room.objects, *room.members)]).snapshot
    demand = gang_demand(view, [view.pods.rows["default", one["metadata"]["name"]] for one in room.members])
    found = place_together(demand, view)
    least = least_cost(world_of(room.objects, room.members, room.needed), order)
    if isinstance(found, Placement) or least is None:
        return None
    question = Question(demand, view, found.survey, by(order))
    evictable = evictable_of(question)
    reach = reach_of(question, evictable, np.ones(len(view.nodes), np.bool_), math.inf)
    requests = view.pods.requests[reach.resource_rows][:, list(demand.pods)]
    counted = CountedBound(evictable, reach, requests, room.needed)
    return tuple(map(finite, counted.below(question.criteria, least))), least


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_plan_costs_less_than_what_was_counted(seed: int, order: tuple[str, ...]) -> None:
    found = bound_and_least(seed, order)
    if found is not None:
        bound, least = found
        assert bound <= least[: len(bound)]
        assert all(map(float.__le__, map(float, bound), map(float, least)))


def test_it_often_is_the_least() -> None:
    """Or no search would be spared."""
    found = [one for seed in SEEDS if (one := bound_and_least(seed, USUAL_ORDER)) is not None]
    assert len(found) > 20
    assert sum(bound[:3] == least[:3] for bound, least in found) > len(found) / 4
