"""Who can stay where he is although the demand comes: units are put back one by one, if it still fits.

The placement of the demand is fixed. Two ways of finding out give the same answers: where nothing but room
and ports matters, the sums of the nodes in use tell; otherwise every constraint is asked again.
"""

from typing import Protocol

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import moved, with_pod
from reprieve.placement.constraints.resources import is_ignored
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.place import Placement, survey
from reprieve.placement.profile import Profile
from reprieve.placement.spread_rules import rules_of
from reprieve.preemption.units import Unit


class Trial(Protocol):
    def put_back(self, unit: Unit) -> bool:
        """Puts the unit back if the demand still fits with it there; says whether it did."""


def trial(base: Snapshot, view: Snapshot, demand: Demand, placement: Placement, profile: Profile) -> Trial:
    """``view`` is the cluster without the units that may have to go; ``base`` knows where they were."""
    if any(spans_nodes(Ask(base, pod, profile)) for pod in demand.pods):
        return EveryConstraint(base, view, demand, placement, profile)
    return RoomAndPorts(base, view, demand, placement, profile)


def spans_nodes(ask: Ask) -> bool:
    """Whether the pod cares for more of other pods than the room and the ports they leave on its node."""
    shape = ask.shape
    return bool(
        shape.affinity
        or shape.anti_affinity
        or shape.claims
        or shape.disks
        or shape.inline_volumes
        or rules_of(ask, required=True)
        or ask.view.mentions(ask.pod).anti_affinity
    )


class EveryConstraint:
    def __init__(
        self, base: Snapshot, view: Snapshot, demand: Demand, placement: Placement, profile: Profile
    ) -> None:
        self._base, self._view = base, view
        self._demand, self._placement, self._profile = demand, placement, profile

    def put_back(self, unit: Unit) -> bool:
        pods = np.array(unit.pods, np.int64)
        back = moved(self._view, pods, self._base.where[pods])
        if not holds(self._demand, self._placement, back, self._profile):
            return False
        self._view = back
        return True


def holds(demand: Demand, placement: Placement, view: Snapshot, profile: Profile) -> bool:
    """Whether every pod of the demand may be where the placement puts it, each seeing the ones before."""
    for pod, node in zip(demand.pods, placement.nodes, strict=True):
        if node == NOWHERE:
            continue
        only = np.zeros(len(view.nodes), np.bool_)
        only[node] = True
        if not survey(Ask(view, pod, profile), demand.constraints, only).feasible[node]:
            return False
        view = with_pod(view, pod, node)
    return True


class RoomAndPorts:
    """Room left on the nodes that the demand uses, and who blocks a port there."""

    def __init__(
        self, base: Snapshot, view: Snapshot, demand: Demand, placement: Placement, profile: Profile
    ) -> None:
        self._base = base
        names = base.axis.names
        self._counted = np.array([not is_ignored(name, profile) for name in names], np.bool_)
        self._left: dict[int, Ints] = {}
        self._asked: dict[int, Ints] = {}
        self._blocking: set[int] = set()
        for pod, node in zip(demand.pods, placement.nodes, strict=True):
            if node != NOWHERE:
                self._enter(view, pod, node)

    def _enter(self, view: Snapshot, pod: int, node: int) -> None:
        if node not in self._left:
            self._left[node] = view.allocatable[:, node] - view.requested[:, node]
            self._asked[node] = np.zeros_like(self._left[node])
        requests = view.pods.requests[:, pod]
        self._left[node] = self._left[node] - requests
        self._asked[node] = self._asked[node] | (requests > 0)
        for wanted in view.pods.shape(pod).ports:
            holders = view.pods.ports.rows_where(wanted.conflicts_with)
            self._blocking.update(holders[self._base.where[holders] == node].tolist())

    def put_back(self, unit: Unit) -> bool:
        """A resource that nobody of the demand asks for may be overdrawn as it was before."""
        if self._blocking.intersection(unit.pods):
            return False
        left: dict[int, Ints] = {}
        for pod in unit.pods:
            node = int(self._base.where[pod])
            if node in self._left:
                left[node] = left.get(node, self._left[node]) - self._base.pods.requests[:, pod]
        if any(((room < 0) & self._asked[node] & self._counted).any() for node, room in left.items()):
            return False
        self._left.update(left)
        return True
