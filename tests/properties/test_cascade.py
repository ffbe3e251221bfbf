"""Where the pods of each unit would go: the columns agree with a plain reading, unit by unit."""

import numpy as np
import pytest

from reprieve.model.columns import Ints
from reprieve.model.snapshot import NOWHERE, Snapshot, build
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.constraints.resources import resources
from reprieve.placement.demand import Ask
from reprieve.placement.domains import place_together
from reprieve.placement.place import Unplaceable, survey
from reprieve.preemption.least_disturbance.cascade import FITS, NOWHERE_TO_GO, PREEMPTS, Cascades
from reprieve.preemption.policy import Question
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import Unit, Units, pods_and_groups
from tests.properties.worlds import decoded
from tests.reference.crowded_rooms import crowded_room
from tests.reference.demands import gang_demand


def seats(view: Snapshot, pod: int, node: int, gone: list[int]) -> int:
    """How many pods like this one fit on a node, one after the other, without those that are gone."""
    left = view.allocatable[:, node] - view.requested[:, node]
    for row in gone:
        if view.where[row] == node:
            left = left + view.pods.requests[:, row]
    count, needs = 0, view.pods.requests[:, pod]
    while ((left >= needs) | (needs == 0)).all():
        left, count = left - needs, count + 1
    return count


def plain_class(view: Snapshot, units: Units, unit: Unit) -> int:
    own = {int(view.where[pod]) for pod in unit.pods}
    lower = [
        row
        for row in range(len(view.pods))
        if units.of_pod[row] != NOWHERE and units.priority[units.of_pod[row]] < unit.priority
    ]
    for result, gone in ((FITS, []), (PREEMPTS, lower)):
        if all(has_seats(view, pod, unit, own, gone) for pod in unit.pods):
            return result
    return NOWHERE_TO_GO


def has_seats(view: Snapshot, pod: int, unit: Unit, own: set[int], gone: list[int]) -> bool:
    """Whether all pods of the unit that are like this one fit off its nodes, given all the room."""
    alike = sum(kind_of(view, other) == kind_of(view, pod) for other in unit.pods)
    others = (node for node in kind_of(view, pod)[1] if node not in own)
    return sum(seats(view, pod, node, gone) for node in others) >= alike


def kind_of(view: Snapshot, pod: int) -> tuple[list[int], list[int]]:
    """What a pod requests, and which nodes it may use apart from room."""
    beyond_room = tuple(constraint for constraint in CONSTRAINTS if constraint is not resources)
    nodes = survey(Ask(view, pod), beyond_room).feasible
    return view.pods.requests[:, pod].tolist(), np.flatnonzero(nodes).tolist()


SEEDS = range(0, 200, 5)


def classes(seed: int) -> tuple[Units, Ints, Ints] | None:
    """All units of a world, their numbers, and what each would do; None if the gang fits."""
    room = crowded_room(seed, nodes=8, members=6)
    view = build([decoded(thing) for thing in (*room.objects, *room.members)]).snapshot
    demand = gang_demand(view, [view.pods.rows["default", one["metadata"]["name"]] for one in room.members])
    found = place_together(demand, view)
    if not isinstance(found, Unplaceable):
        return None
    units = pods_and_groups(view)
    numbers = np.unique(units.of_pod[units.of_pod != NOWHERE])
    return units, numbers, Cascades(Question(demand, view, found.survey, REPRIEVE), units).of(numbers)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plain_reading_finds_the_same(seed: int) -> None:
    found = classes(seed)
    if found is not None:
        units, numbers, results = found
        for unit in units.listed(numbers):
            assert results[unit.number] == plain_class(units.view, units, unit), unit.name


def test_all_results_occur() -> None:
    found = [one for seed in SEEDS if (one := classes(seed)) is not None]
    seen = {result for _, numbers, results in found for result in results[numbers].tolist()}
    assert seen == {FITS, PREEMPTS, NOWHERE_TO_GO}
