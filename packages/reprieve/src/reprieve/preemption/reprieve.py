"""Which units can stay although the demand comes? They are put back one by one, if the demand still fits.

The placement of the demand is fixed. Most units matter to it only by the room and the ports that they use,
and the sums of the nodes in use tell whether enough is left. For others pods are counted by topology domain;
where that does not tell enough, all constraints are checked again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import sub
from typing import Protocol

import numpy as np

from reprieve.model.columns import Column, Ints, Mask
from reprieve.model.shape import Shape, SpreadRule
from reprieve.model.snapshot import NOWHERE, Snapshot, on_nodes
from reprieve.model.whatif import moved, without
from reprieve.placement.constraints.pods import host_ports, kept_apart, pod_affinity
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.constraints.spread import fully_labelled, included, spread, spread_rules_of
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.place import Placement, survey, with_taken
from reprieve.placement.profile import Profile
from reprieve.preemption.units import Unit


@dataclass(frozen=True, slots=True, eq=False)
class PlacedDemand:
    demand: Demand
    placement: Placement
    profile: Profile
    base: Snapshot  # with every pod where it runs
    gone: Ints  # pods (rows) that may have to be evicted

    @property
    def view(self) -> Snapshot:
        """The snapshot without the pods that may have to be evicted."""
        return without(self.base, self.gone)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The pods of the demand that have a node, and which."""
        return ((self.demand.pods[i], self.placement.nodes[i]) for i in self.placement.turns)


_NONE = -1  # the domain of a pod that does not count


def are_enough(placed: PlacedDemand) -> bool:
    """Whether counts tell all that matters to the demand beyond room and ports."""
    pods, view = list(placed.demand.pods), placed.base
    is_plain = not any(map(_needs_more, {view.pods.shape(pod) for pod in pods}))
    return is_plain and bool((view.where[pods] == NOWHERE).all())


def _needs_more(shape: Shape) -> bool:
    return bool(shape.affinity or shape.claims or shape.disks or shape.inline_volumes)


class DomainCounts:
    """Where the demand is, and where the pods are that matter to it."""

    def __init__(self, placed: PlacedDemand) -> None:
        self._apart: list[_Apart] = []
        self._spread: list[_Spread] = []
        view, constraints = placed.view, placed.demand.constraints
        turns: dict[Shape, list[int]] = {}
        for turn, (pod, _) in enumerate(placed.pairs()):
            turns.setdefault(view.pods.shape(pod), []).append(turn)
        pods = [pod for pod, _ in placed.pairs()]
        for asking in turns.values():
            ask = Ask(view, pods[asking[0]], placed.profile)
            if pod_affinity in constraints:
                self._apart += _rules_apart(ask, placed, asking)
            if spread in constraints:
                self._spread += _rules_of_spread(ask, placed, asking)
        self.hold = all(one.holds for one in self._apart) and all(one.holds for one in self._spread)

    def put_back(self, unit: Unit) -> bool:
        """Counts the unit in, if every rule holds with it; says whether it did. They must hold before."""
        if any(rule.excludes(unit.pods) for rule in self._apart):
            return False
        for i, rule in enumerate(self._spread):
            if not rule.put_back(unit.pods):
                for other in self._spread[:i]:
                    other.take_out(unit.pods)
                return False
        return True


def _rules_apart(ask: Ask, placed: PlacedDemand, asking: Sequence[int]) -> Iterator["_Apart"]:
    for topology_key, pods in kept_apart(ask):
        column = ask.view.nodes.label(topology_key)
        yield _Apart(_Counted(placed, ask.view, column, column.codes, pods), asking)


def _rules_of_spread(ask: Ask, placed: PlacedDemand, asking: Sequence[int]) -> Iterator["_Spread"]:
    view, rules = ask.view, spread_rules_of(ask, required=True)
    labelled = fully_labelled(ask, rules)
    for rule in rules:
        matching = np.zeros(len(view.pods), np.bool_)
        if rule.selector.requirements:  # Kubernetes counts no pods for a selector that would match all
            matching = view.pods.matching(rule.selector, frozenset((ask.shape.namespace,)))
        column, counting = view.nodes.label(rule.topology_key), included(ask, rule, labelled)
        pods = np.flatnonzero(matching & ~view.pods.terminating)
        counted = _Counted(placed, view, column, np.where(counting, column.codes, _NONE), pods)
        is_alike = rule.selector.matches(dict(ask.shape.labels))
        yield _Spread(counted, asking, rule, is_alike=is_alike)


class _Counted:
    """The pods that a rule counts, by domain: the value of a label of their node, as a code."""

    def __init__(
        self, placed: PlacedDemand, view: Snapshot, column: Column[str | None], codes: Ints, pods: Ints
    ) -> None:
        """``codes``: [node] the domain in which a pod there counts, or _NONE."""
        homes = np.append(codes, _NONE)[placed.base.where[pods]]  # the last one stands for NOWHERE
        there = (view.where[pods] != NOWHERE) & (homes != _NONE)
        self.codes = codes
        self.counts: list[int] = np.bincount(homes[there], minlength=len(column.things)).tolist()
        may_return, is_counted = np.zeros((2, len(view.pods)), np.bool_)
        may_return[placed.gone] = is_counted[pods] = True
        returning = may_return[pods]
        self._home = dict(zip(pods[returning].tolist(), homes[returning].tolist(), strict=True))
        self.seats = [int(column.codes[node]) for _, node in placed.pairs()]  # domains of the demand's pods
        self.taken = [int(codes[node]) if is_counted[pod] else _NONE for pod, node in placed.pairs()]

    def of(self, pods: Iterable[int]) -> list[int]:
        """The domains in which these pods count."""
        found = (self._home.get(pod, _NONE) for pod in pods)
        return [code for code in found if code != _NONE]


class _Apart:
    """Some pods of the demand may share no domain with the pods that are counted."""

    def __init__(self, counted: _Counted, asking: Sequence[int]) -> None:
        self._counted = counted
        self._forbidden = {counted.seats[i] for i in asking} - {0}  # a node without the label is in no domain
        before = [(counted.seats[i], counted.taken[:i]) for i in asking]
        self.holds = not any(counted.counts[code] for code in self._forbidden) and not any(
            code and code in taken for code, taken in before
        )

    def excludes(self, pods: Iterable[int]) -> bool:
        return not self._forbidden.isdisjoint(self._counted.of(pods))


class _Spread:
    """A domain with pods of the demand may not have more pods than the emptiest, by more than a skew.

    ``_slack``: by domain, how many more pods it can take at least. A pod that returns elsewhere never makes
    that less, so it is counted down, and evaluated again only when it is used up.
    """

    def __init__(self, counted: _Counted, asking: Sequence[int], rule: SpreadRule, *, is_alike: bool) -> None:
        self._counted = counted
        self._limit = rule.max_skew - is_alike
        domains = np.bincount(counted.codes[counted.codes != _NONE], minlength=len(counted.counts)) > 0
        self._own = np.array([counted.seats[i] for i in asking], np.int64)
        self._used = np.unique([*self._own, *(code for code in counted.taken if code != _NONE)])
        self._more = self._counts_of_members(asking)
        self._is_enough = int(np.count_nonzero(domains)) >= rule.min_domains
        self._compared = domains[self._used]
        domains[self._used] = False
        self._others = np.flatnonzero(domains)
        self._slack = self._evaluated()
        self._refused: set[int] = set()
        self.holds = 0 not in self._own and min(self._slack.values()) >= 0

    def _counts_of_members(self, asking: Sequence[int]) -> Ints:
        """[asking pod, used domain] pods of the demand that are there before it."""
        taken = np.array(self._counted.taken, np.int64)
        before = np.cumsum(taken[:, None] == self._used, axis=0) - (taken[:, None] == self._used)
        counts: Ints = before[list(asking)]
        return counts

    def _evaluated(self) -> dict[int, int]:
        counts = np.array(self._counted.counts, np.int64)
        sums = counts[self._used] + self._more
        fewest = np.zeros(len(sums), np.int64)
        if self._is_enough:
            among = [sums[:, self._compared], np.full((len(sums), 1), self._fewest_elsewhere(counts))]
            fewest = np.concatenate(among, axis=1).min(axis=1)
        slack = self._limit + fewest - sums[np.arange(len(sums)), np.searchsorted(self._used, self._own)]
        least: dict[int, int] = {}
        for code, left in zip(self._own.tolist(), slack.tolist(), strict=True):
            least[code] = min(left, least.get(code, left))
        return least

    def _fewest_elsewhere(self, counts: Ints) -> int:
        return int(counts[self._others].min(initial=np.iinfo(np.int64).max))

    def put_back(self, pods: Iterable[int]) -> bool:
        codes = self._counted.of(pods)
        if len(codes) == 1 and codes[0] in self._refused:
            return False
        before = self._slack.copy()
        for code in codes:
            self._count(code, 1)
        if any(self._slack.get(code, 0) < 0 for code in codes):
            self._slack = self._evaluated()
            if min(self._slack.values()) < 0:
                for code in codes:
                    self._count(code, -1)
                self._slack = before
                self._refused.update(codes if len(codes) == 1 else ())
                return False
        if codes:
            self._refused.clear()
        return True

    def take_out(self, pods: Iterable[int]) -> None:
        for code in self._counted.of(pods):
            self._count(code, -1)
        self._slack = self._evaluated()

    def _count(self, code: int, by: int) -> None:
        self._counted.counts[code] += by
        if code in self._slack:
            self._slack[code] -= by


class Trial(Protocol):
    def put_back(self, unit: Unit) -> bool:
        """Puts the unit back if the demand still fits with it there; says whether it did."""


def trial(placed: PlacedDemand, matter: Mask) -> Trial:
    """``matter`` are the pods that may matter by more than room and ports, see ``pods_that_matter``."""
    if not counts_room(placed.demand):
        return EveryConstraint(placed)
    return WhereItMatters(placed, matter) if matter.any() else RoomAndPorts(placed)


def counts_room(demand: Demand) -> bool:
    return resources in demand.constraints


def pods_that_matter(demand: Demand, view: Snapshot, profile: Profile) -> Mask:
    """[pod] whether it may matter to the demand beyond the room and the ports that it uses on its nodes."""
    mask = np.zeros(len(view.pods), np.bool_)
    if {resources, host_ports}.issuperset(demand.constraints):
        return mask  # as for a resize: the pod is where it is, whatever its affinities say
    for pod in {view.pods.shape(pod): pod for pod in demand.pods}.values():
        ask = Ask(view, pod, profile)
        shape = ask.shape
        for term in (*shape.affinity, *shape.anti_affinity):
            mask |= view.pods_matching(term)
        for rule in spread_rules_of(ask, required=True):
            mask |= view.pods.matching(rule.selector, frozenset((shape.namespace,)))
        terms = view.terms_matching(pod).anti_affinity
        for _, pods, _ in view.pods.carriers(terms, view.pods.anti_affinity):
            mask[pods] = True
        if shape.claims or shape.disks or shape.inline_volumes:
            mask[_users_of_volumes(view)] = True
    return mask


def _users_of_volumes(view: Snapshot) -> Ints:
    """The rows of pods with volumes, some more than once. Uses below zero are attachments without a pod."""
    attached = [used.rows[used.rows >= 0] for used in view.volumes_in_use.values()]
    return np.concatenate([view.pods.claims.rows, view.pods.disks.rows, *attached])


class EveryConstraint:
    """Checks every constraint again, for every pod of the demand."""

    def __init__(self, placed: PlacedDemand) -> None:
        self._settled, self._view = placed, placed.view

    def put_back(self, unit: Unit) -> bool:
        placed, pods = self._settled, np.array(unit.pods, np.int64)
        back = moved(self._view, pods, placed.base.where[pods])
        if not holds(placed.demand, placed.placement, back, placed.profile):
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

    def __init__(self, placed: PlacedDemand) -> None:
        base = self._base = placed.base
        self._counts_ports = host_ports in placed.demand.constraints
        self._counted = np.array([not is_ignored(n, placed.profile) for n in base.axis.names], np.bool_)
        self._left: dict[int, list[int]] = {}  # by node
        self._takes: dict[
            int, tuple[int, list[int]]
        ] = {}  # by pod that is gone: its node, and how much there
        self._blocking: set[int] = set()
        members: dict[int, list[int]] = {}
        for pod, node in placed.pairs():
            members.setdefault(node, []).append(pod)
        near = placed.gone[on_nodes(base, [*members], placed.gone)]  # before nodes are looked at one by one
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
        ports = {port for pod in members for port in base.pods.shape(pod).ports}
        for wanted in ports if self._counts_ports else ():
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

    def __init__(self, placed: PlacedDemand, matter: Mask) -> None:
        self._matter, self._room = matter, RoomAndPorts(placed)
        counts = DomainCounts(placed) if are_enough(placed) else None
        self._rest = counts if counts is not None and counts.hold else EveryConstraint(placed)

    def put_back(self, unit: Unit) -> bool:
        if self._matter[list(unit.pods)].any() and not (self._room.fits(unit) and self._rest.put_back(unit)):
            return False
        return self._room.put_back(unit)
