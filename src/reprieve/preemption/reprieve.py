"""Which units can stay although the demand comes? They are put back one by one, if the demand still fits.

The placement of the demand is fixed. Most units matter to it only by the room and the ports that they use,
and the sums of the nodes in use tell whether enough is left. For others pods are counted by topology domain;
where that does not tell enough, all constraints are checked again.
"""

from collections.abc import Iterable, Mapping
from itertools import repeat
from operator import sub
from typing import Protocol

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import Snapshot, on_nodes
from reprieve.model.whatif import moved
from reprieve.placement.constraints.ports import host_ports
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.place import Placement, survey
from reprieve.placement.profile import Profile
from reprieve.placement.spread_rules import rules_of
from reprieve.placement.taking import with_taken
from reprieve.preemption.domain_counts import DomainCounts, are_enough
from reprieve.preemption.settled import Settled
from reprieve.preemption.units import Unit


class Trial(Protocol):
    def put_back(self, unit: Unit) -> bool:
        """Puts the unit back if the demand still fits with it there; says whether it did."""


def trial(settled: Settled, matter: Mask) -> Trial:
    """``matter`` are the pods that may matter by more than room and ports, see ``pods_that_matter``."""
    if not counts_room(settled.demand):
        return EveryConstraint(settled)
    return WhereItMatters(settled, matter) if matter.any() else RoomAndPorts(settled)


def counts_room(demand: Demand) -> bool:
    return {resources, host_ports} <= set(demand.constraints)


def pods_that_matter(demand: Demand, view: Snapshot, profile: Profile) -> Mask:
    """Pods that may matter to the demand beyond the room and the ports that they use on its nodes."""
    mask = np.zeros(len(view.pods), np.bool_)
    if {resources, host_ports}.issuperset(demand.constraints):
        return mask  # as for a resize: the pod is where it is, whatever its affinities say
    for pod in {view.pods.shape(pod): pod for pod in demand.pods}.values():
        ask = Ask(view, pod, profile)
        shape = ask.shape
        for term in (*shape.affinity, *shape.anti_affinity):
            mask |= view.pods_matching(term)
        for rule in rules_of(ask, required=True):
            mask |= view.pods.matching(rule.selector, frozenset((shape.namespace,)))
        terms = view.terms_matching(pod).anti_affinity
        for _, pods, _ in view.pods.carriers(terms, view.pods.anti_affinity):
            mask[pods] = True
        if shape.claims or shape.disks or shape.inline_volumes:
            mask[_users_of_volumes(view)] = True
    return mask


def _users_of_volumes(view: Snapshot) -> Ints:
    attached = [used.rows[used.rows >= 0] for used in view.volumes_in_use.values()]
    return np.concatenate([view.pods.claims.rows, view.pods.disks.rows, *attached])


class EveryConstraint:
    """Checks every constraint again, for every pod of the demand."""

    def __init__(self, settled: Settled) -> None:
        self._settled, self._view = settled, settled.view

    def put_back(self, unit: Unit) -> bool:
        settled, pods = self._settled, np.array(unit.pods, np.int64)
        back = moved(self._view, pods, settled.base.where[pods])
        if not holds(settled.demand, settled.placement, back, settled.profile):
            return False
        self._view = back
        return True


def holds(demand: Demand, placement: Placement, view: Snapshot, profile: Profile) -> bool:
    """Whether every pod of the demand may be where the placement puts it, each seeing the ones before."""
    for position in placement.turns:
        pod, node = demand.pods[position], placement.nodes[position]
        only = np.zeros(len(view.nodes), np.bool_)
        only[node] = True
        ask = Ask(view, pod, profile)
        if not survey(ask, demand.constraints, only).feasible[node]:
            return False
        view = with_taken(ask, node)
    return True


class RoomAndPorts:
    """Room left on the nodes that the demand uses, and the pods that hold a port that it needs.

    Only resources that the demand asks for on a node count there: others may stay overdrawn. Units are put
    back one by one, for which plain numbers are the fastest.
    """

    def __init__(self, settled: Settled) -> None:
        base = self._base = settled.base
        self._counted = np.array([not is_ignored(n, settled.profile) for n in base.axis.names], np.bool_)
        self._left: dict[int, list[int]] = {}  # by node
        self._takes: dict[
            int, tuple[int, list[int]]
        ] = {}  # by pod that is gone: its node, and how much there
        self._blocking: set[int] = set()
        members: dict[int, list[int]] = {}
        for pod, node in settled.pairs():
            members.setdefault(node, []).append(pod)
        near = settled.gone[on_nodes(base, [*members], settled.gone)]  # before nodes are looked at one by one
        where = base.where[near]
        for node, pods in members.items():
            self._enter(node, pods, near[where == node])
        self._near = frozenset(near.tolist())  # no other unit that is put back takes room from the demand

    def _enter(self, node: int, members: list[int], gone: Ints) -> None:
        base = self._base
        asked, leaving = base.pods.requests[:, members], base.pods.requests[:, gone]
        rows = np.flatnonzero((asked > 0).any(axis=1) & self._counted)
        left = base.allocatable[:, node] - base.requested[:, node] + leaving.sum(axis=1) - asked.sum(axis=1)
        self._left[node] = left[rows].tolist()
        takes = leaving[rows].T.tolist()
        self._takes.update(zip(gone.tolist(), zip(repeat(node), takes, strict=False), strict=True))
        for wanted in {port for pod in members for port in base.pods.shape(pod).ports}:
            holders = base.pods.holders().of_port(wanted)
            self._blocking.update(holders[base.where[holders] == node].tolist())

    def suffice(self, gone: Iterable[int]) -> bool:
        """Whether it is enough that these pods are gone."""
        return self._blocking.issubset(gone) and _is_enough(self._left)

    def fits(self, unit: Unit) -> bool:
        return self._near.isdisjoint(unit.pods) or self._fits_near(unit, self._left_with(unit))

    def _fits_near(self, unit: Unit, left: Mapping[int, list[int]]) -> bool:
        return self._blocking.isdisjoint(unit.pods) and _is_enough(left)

    def put_back(self, unit: Unit) -> bool:
        if self._near.isdisjoint(unit.pods):  # as of most units where a gang asks
            return True
        left = self._left_with(unit)
        if not self._fits_near(unit, left):
            return False
        self._left.update(left)
        return True

    def _left_with(self, unit: Unit) -> dict[int, list[int]]:
        left: dict[int, list[int]] = {}
        for pod in unit.pods:
            if (taken := self._takes.get(pod)) is not None:
                node, takes = taken
                left[node] = [*map(sub, left.get(node, self._left[node]), takes)]
        return left


def _is_enough(left: Mapping[int, list[int]]) -> bool:
    return all(min(room, default=0) >= 0 for room in left.values())


class WhereItMatters:
    """Checks room and ports for every unit, and the other constraints only for units that matter to them."""

    def __init__(self, settled: Settled, matter: Mask) -> None:
        self._matter, self._room = matter, RoomAndPorts(settled)
        counts = DomainCounts(settled) if are_enough(settled) else None
        self._rest = counts if counts is not None and counts.hold else EveryConstraint(settled)

    def put_back(self, unit: Unit) -> bool:
        if self._matter[list(unit.pods)].any() and not (self._room.fits(unit) and self._rest.put_back(unit)):
            return False
        return self._room.put_back(unit)
