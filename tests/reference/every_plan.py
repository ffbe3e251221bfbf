"""The best plan that there is: every set of victims is tried, as far as it can still be the best.

For small worlds. Whether a demand fits is asked of the constraints alone, in every order of its pods; what a
set of victims costs, of a plain reading. No search is asked anything.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from reprieve.model.objects import group_of
from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from tests.reference.asking import Asked
from tests.reference.gang_fits import gang_fits
from tests.reference.plain.price import CRITERIA, PodKey, RunningCluster, UnitKey
from tests.reference.tree_fits import tree_fits

MOST_UNITS = 11
Cost = tuple[float, ...]
# A further victim never makes one of the others smaller.
_NOT_MONOTONE = "LatestStart"


def eligible(of: Asked) -> list[UnitKey]:
    """Units of lower priority that have no pod of the demand's own groups."""
    cluster = of.cluster
    found = []
    for unit, pods in cluster.units.items():
        own = any((key[0], group_of(cluster.pods[key])) in of.own_groups for key in pods)
        if not own and cluster.priority[pods[0]] < of.demand.priority:
            found.append(unit)
    return sorted(found)


def least_cost(of: Asked, order: Sequence[str], known: Cost | None = None) -> Cost | None:
    """By these criteria, the most important first. None: there is no plan, or the world is too large.

    ``known``: the cost of a plan that is known. With a good one, a world may be larger.
    """
    best = known
    for reach in _reaches(of) if known is not None or is_small(of) else ():
        best = _Tries(of, order, best).among(reach)
    return best


def is_small(of: Asked) -> bool:
    return all(len(reach) <= MOST_UNITS for reach in _reaches(of))


def _reaches(of: Asked) -> Iterator[list[UnitKey]]:
    """Sets of units of which one has all the victims.

    If all units are too many, those of each node, for a single pod. By room alone, no others are needed.
    """
    units = eligible(of)
    if len(units) <= MOST_UNITS or len(of.demand.pods) > 1:
        yield units
        return
    for node in of.cluster.nodes:
        there = {key for key, pod in of.cluster.pods.items() if pod.spec.node_name == node}
        yield [unit for unit in units if there.intersection(of.cluster.units[unit])]


class _Tries:
    """Sets of victims, one unit after the other, and the least cost so far."""

    def __init__(self, of: Asked, order: Sequence[str], best: Cost | None) -> None:
        self._of, self._order, self._best = of, order, best
        end = order.index(_NOT_MONOTONE) if _NOT_MONOTONE in order else len(order)
        self._monotone = order[:end]

    def among(self, units: Sequence[UnitKey], chosen: frozenset[PodKey] = frozenset()) -> Cost | None:
        if not self._may_be_best(chosen, self._monotone) or not self._may_have_room(units, chosen):
            return self._best
        if not units:
            if self._may_be_best(chosen, self._order, strictly=True) and fits_without(self._of, chosen):
                self._best = cost_of(self._of.cluster, chosen, self._order)
            return self._best
        unit, *others = units
        self.among(others, chosen)
        return self.among(others, chosen | {*self._of.cluster.units[unit]})

    def _may_have_room(self, units: Sequence[UnitKey], chosen: frozenset[PodKey]) -> bool:
        return has_seats(self._of, chosen.union(*(self._of.cluster.units[unit] for unit in units)))

    def _may_be_best(self, pods: Collection[PodKey], order: Sequence[str], *, strictly: bool = False) -> bool:
        """Whether their cost is no more than the least so far; the first criterion that differs decides."""
        for name, least in zip(order, self._best or (), strict=False):
            value = CRITERIA[name](self._of.cluster, pods)
            if value != least:
                return value < least
        return self._best is None or not strictly


def cost_of(cluster: RunningCluster, pods: Collection[PodKey], order: Sequence[str]) -> Cost:
    return tuple(CRITERIA[name](cluster, pods) for name in order)


def has_seats(of: Asked, victims: Collection[PodKey]) -> bool:
    """Whether enough pods of the demand may have room, each being taken for as small as the smallest.

    Without that, no fewer victims are enough either, whatever else matters.
    """
    view = of.view
    left = view.allocatable - view.requested
    for row in (view.pods.rows[key] for key in victims):
        left[:, view.where[row]] += view.pods.requests[:, row]
    smallest = view.pods.requests[:, list(of.demand.pods)].min(axis=1)
    asked = smallest > 0
    seats = (left[asked] // smallest[asked, None]).min(axis=0)
    return int(np.maximum(seats, 0).sum()) >= of.demand.needed


def fits_without(of: Asked, victims: Collection[PodKey]) -> bool:
    """Whether enough pods of the demand find room, in any order and on any nodes."""
    view = without(of.view, [of.view.pods.rows[key] for key in sorted(victims)])
    demand = of.demand
    if demand.tree is not None:
        return tree_fits(view, demand.pods)
    if len(demand.pods) == 1:
        return _pod_fits(of, view)
    return gang_fits(view, demand.pods, demand.needed, demand.topology_key)


def _pod_fits(of: Asked, view: Snapshot) -> bool:
    demand = of.demand
    everywhere = np.ones(len(view.nodes), np.bool_)
    nodes = everywhere if demand.allowed is None else demand.allowed
    return bool(survey(Ask(view, demand.pods[0]), demand.constraints, nodes).feasible.any())
