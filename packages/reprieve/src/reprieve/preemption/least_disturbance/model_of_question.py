"""The model of the room in a question: rows of a snapshot become the plain numbers that a solver needs.

``reach_of`` finds the nodes and the units that matter, in columns; bounds are counted there. Of those units
up to a priority ``model_of`` makes a model, for which each unit has to be priced.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress, count, pairwise

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import Ask
from reprieve.placement.gang_members import Members, Ties, members_of
from reprieve.placement.place import survey
from reprieve.preemption.criteria import HIGHEST_PRIORITY, LATEST_START, Combined, Criterion
from reprieve.preemption.least_disturbance.model import (
    Amounts,
    Footprint,
    Item,
    Measure,
    RoomModel,
    Shares,
    Term,
    levels_of,
    most_seated,
)
from reprieve.preemption.policy import Question
from reprieve.preemption.prices import Evictable


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The nodes that members could use without all units that may be evicted, and the units there.

    What units use is in columns, one cell for each node of each unit.
    """

    members: Members
    resource_rows: Ints  # [resource] that a member requests: its row in the snapshot
    nodes: Ints  # rows
    usable: Mask  # [shape, node] of these nodes
    left: Ints  # [node, resource]
    units: Ints  # numbers
    priority: Ints  # [unit]
    unit: Ints  # [cell] place in the list of units
    node: Ints  # [cell] place in the list of nodes
    used: Ints  # [cell, resource]
    is_exact: bool  # whether room is all that matters

    def below(self, ceiling: float) -> "Reach":
        """Without units above this priority."""
        low = self.priority <= ceiling  # [unit]
        if low.all():
            return self
        kept, place_of = low[self.unit], np.cumsum(low) - 1  # [cell], and [unit] its place among those kept
        return replace(
            self,
            units=self.units[low],
            priority=self.priority[low],
            unit=place_of[self.unit[kept]],
            node=self.node[kept],
            used=self.used[kept],
        )

    def emptied(self, among: Mask) -> Ints:
        """[node, resource] what is left without these units ([unit])."""
        left, gone = self.left.copy(), among[self.unit]
        np.add.at(left, self.node[gone], self.used[gone])
        return left


def reach_of(question: Question, evictable: Evictable, nodes: Mask, ceiling: float) -> Reach:
    """Only units up to this priority are of interest."""
    view, units, demand = question.view, evictable.units, question.demand
    local = units.touching(nodes)
    local = local[evictable.allowed[local]]
    pods_there = units.pods_of(local)
    members = members_of(demand, view, question.profile)
    usable = _usable(question, members, nodes, without(view, pods_there))
    rows = np.flatnonzero(usable.any(axis=0))
    rows = rows[np.argsort(view.nodes.rank[rows])]  # names decide ties, never the order of rows
    place_of = np.full(len(view.nodes) + 1, NOWHERE)  # the last one stands for nowhere
    place_of[rows] = np.arange(len(rows))
    # Pods of these units may be on other nodes as well: what they use there is no room for members.
    near = place_of[view.where[pods_there]] != NOWHERE
    near &= units.priority[units.of_pod[pods_there]] <= ceiling
    pods, resource_rows = pods_there[near], np.array(_needed_resources(question), np.int64)
    numbers, which = np.unique(units.of_pod[pods], return_inverse=True)
    # A cell is a unit and a node, as one number, which sorts by unit; ``pair_of`` has the cell of each pod.
    width = max(1, len(rows))
    pairs, pair_of = np.unique(which * width + place_of[view.where[pods]], return_inverse=True)
    used = np.zeros((len(pairs), len(resource_rows)), np.int64)
    np.add.at(used, pair_of, view.pods.requests[np.ix_(resource_rows, pods)].T)
    there = np.ix_(resource_rows, rows)
    return Reach(
        members,
        resource_rows,
        rows,
        usable[:, rows],
        (view.allocatable[there] - view.requested[there]).T,
        numbers,
        units.priority[numbers],
        pairs // width,
        pairs % width,
        used,
        is_exact=members.ties is Ties.ROOM
        and not evictable.matter[pods_there].any()
        and not demand.is_one_of_several,
    )


class RoomsInReach:
    """Models of the units in reach, each up to a priority, made when they are asked for.

    As a rule the least important units suffice, and to price the others would take most of the time.
    """

    def __init__(
        self,
        question: Question,
        evictable: Evictable,
        reach: Reach,
        target: int,
    ) -> None:
        self._question, self._evictable, self._reach, self._target = question, evictable, reach, target
        self.order = terms_of(question.criteria)
        self.below = cache(self._below)

    @property
    def levels(self) -> list[float]:
        """See ``RoomModel.levels``."""
        return self._levels(np.ones(len(self._reach.units), np.bool_))

    @property
    def levels_within_budgets(self) -> list[float]:
        """See ``RoomModel.levels_within_budgets``."""
        accounts, units = self._evictable.accounts, self._evictable.units
        # Unit and budget as one number, and with how many of the unit's pods the budget is charged.
        charged = np.flatnonzero(units.of_pod[accounts.pods] != NOWHERE)
        width = max(1, accounts.width)
        pairs, pods = np.unique(
            units.of_pod[accounts.pods[charged]] * width + accounts.account[charged], return_counts=True
        )
        exceeding = pairs[pods > accounts.allowances()[pairs % width]] // width if len(pairs) else pairs
        return self._levels(~np.isin(self._reach.units, exceeding))

    def _levels(self, among: Mask) -> list[float]:
        priority = self._reach.priority
        return levels_of(
            np.unique(priority).tolist(), lambda ceiling: self._may_suffice(among & (priority <= ceiling))
        )

    def _may_suffice(self, gone: Mask) -> bool:
        reach, needs = self._reach, _needs(self._question, self._reach)
        return most_seated(reach.emptied(gone), needs, _sizes(reach), reach.usable) >= self._target

    def _below(self, ceiling: float) -> RoomModel:
        reach = self._reach.below(ceiling)
        return model_of(self._question, self._evictable, reach, self._target)


def terms_of(order: tuple[Criterion, ...]) -> tuple[Term, ...]:
    """The criteria that a solver can take, up to the first that only finished plans can be compared by."""
    terms: list[Term] = []
    for criterion in order:
        if criterion is HIGHEST_PRIORITY:
            measured = Measure.PRIORITY
        elif criterion is LATEST_START and HIGHEST_PRIORITY in order[: len(terms)]:
            measured = Measure.EARLIEST_START
        elif criterion.measures_plans:
            break
        else:
            measured = Measure.HIGHEST if criterion.combined is Combined.HIGHEST else Measure.SUM
        terms.append(Term(criterion.name, measured, criterion.budgets, criterion.idle, criterion.ended))
    return tuple(terms)


def model_of(question: Question, evictable: Evictable, reach: Reach, target: int) -> RoomModel:
    """The members of the demand, and the units in reach."""
    items = _items(question, evictable, reach)
    groups, number = evictable.prices.needs.around({item.group for item in items} - {NOWHERE})
    items = tuple(replace(item, group=number.get(item.group, NOWHERE)) if number else item for item in items)
    return RoomModel(
        order=terms_of(question.criteria),
        needs=_needs(question, reach),
        members=_sizes(reach),
        target=target,
        left=tuple(map(tuple, reach.left.tolist())),
        usable_by=tuple(tuple(compress(count(), usable)) for usable in reach.usable.T.tolist()),
        nodes=tuple(reach.nodes.tolist()),
        items=items,
        allowances=tuple(evictable.accounts.allowances().tolist()),
        groups=groups,
        shape_of=_shape_of(reach.members, len(question.demand.pods)),
        breaks_no_budget=question.policy.breaks_no_budget,
        is_exact=reach.is_exact,
    )


def _needs(question: Question, reach: Reach) -> tuple[Amounts, ...]:
    """What a member of each shape requests, of each resource that any requests."""
    requests, pods = question.view.pods.requests, question.demand.pods
    firsts = (pods[positions[0]] for positions in reach.members.by_shape)
    return tuple(tuple(requests[reach.resource_rows, pod].tolist()) for pod in firsts)


def _sizes(reach: Reach) -> tuple[int, ...]:
    """How many members there are of each shape."""
    return tuple(map(len, reach.members.by_shape))


def _usable(question: Question, members: Members, nodes: Mask, emptied: Snapshot) -> Mask:
    """[shape, node] whether the node could take one member if all units were gone."""
    demand, firsts = replace(question.demand, allowed=nodes), [same[0] for same in members.by_shape]
    asks = ((Ask(emptied, demand.pods[first], question.profile), demand.nodes_for(first)) for first in firsts)
    return np.array([survey(ask, demand.constraints, allowed).feasible for ask, allowed in asks], np.bool_)


def _shape_of(members: Members, count: int) -> tuple[int, ...]:
    of_member = [0] * count
    for shape, positions in enumerate(members.by_shape):
        for position in positions:
            of_member[position] = shape
    return tuple(of_member)


def _needed_resources(question: Question) -> list[int]:
    view, demand = question.view, question.demand
    if resources not in demand.constraints:
        return []
    asked = np.flatnonzero(view.pods.requests[:, list(demand.pods)].any(axis=1)).tolist()
    counted = (row for row in asked if not is_ignored(view.axis.names[row], question.profile))
    return sorted(counted, key=lambda row: view.axis.names[row])


def _items(question: Question, evictable: Evictable, reach: Reach) -> tuple[Item, ...]:
    """Equal pods on one node are one item, and each group is one. The least important come first.

    What a solver need not tell apart is one variable instead of many: most of a cluster's pods are of few
    kinds.
    """
    units, numbers = evictable.units, reach.units
    columns = (
        reach.priority.tolist(),
        _priced(question.criteria, evictable, numbers),
        _footprints(reach),
        evictable.prices.needs.of_units(units)[numbers].tolist(),
        units.size[numbers].tolist(),
    )
    listed = dict(zip(numbers.tolist(), zip(*columns, strict=True), strict=True))
    starts = dict(zip(numbers.tolist(), units.start[numbers].tolist(), strict=True))
    budgets = _budget_shares(evictable, numbers)
    alike: dict[tuple[object, ...], list[int]] = {}
    for unit in units.in_order(numbers)[::-1].tolist():
        alone = unit < len(units.view.pods)
        key = (*listed[unit], budgets.get(unit, ())) if alone else (unit,)
        alike.setdefault(key, []).append(unit)

    def item(same: list[int]) -> Item:
        priority, prices, footprint, group, pods = listed[same[0]]
        same.sort(key=lambda unit: -starts[unit])  # stable: of one start, the least important first
        since = tuple(starts[unit] for unit in same)
        return Item(tuple(same), since, priority, prices, footprint, budgets.get(same[0], ()), group, pods)

    return tuple(map(item, alike.values()))


def _priced(order: tuple[Criterion, ...], evictable: Evictable, numbers: Ints) -> Iterator[tuple[int, ...]]:
    """What each unit costs alone, by each term; nothing where that says nothing of a sum or a maximum."""
    prices, none = evictable.prices, np.zeros(len(numbers), np.int64)
    columns = [
        prices.alone(one, numbers).astype(np.int64)
        if one.of_units is not None and one is not HIGHEST_PRIORITY
        else none
        for one in order[: len(terms_of(order))]
    ]
    return map(tuple, np.array(columns, np.int64).reshape(len(columns), len(numbers)).T.tolist())


def _footprints(reach: Reach) -> list[Footprint]:
    """[unit in reach] the nodes where it has pods, and what these use."""
    cells = list(zip(reach.node.tolist(), map(tuple, reach.used.tolist()), strict=True))
    bounds = np.searchsorted(reach.unit, np.arange(len(reach.units) + 1)).tolist()
    return [tuple(cells[start:end]) for start, end in pairwise(bounds)]


def _budget_shares(evictable: Evictable, numbers: Ints) -> dict[int, Shares]:
    """By unit: the budgets that it is charged to, also for its pods on other nodes."""
    accounts = evictable.accounts
    charged = evictable.units.of_pod[accounts.pods]
    which = np.isin(charged, numbers)
    shares: dict[int, dict[int, int]] = {}
    for unit, budget in zip(charged[which].tolist(), accounts.account[which].tolist(), strict=True):
        paid = shares.setdefault(unit, {})
        paid[budget] = paid.get(budget, 0) + 1
    return {unit: tuple(sorted(paid.items())) for unit, paid in shares.items()}
