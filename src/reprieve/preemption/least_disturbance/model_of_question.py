"""The model of the room in a question: rows of a snapshot become the plain numbers that a solver needs."""

from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import without
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import Ask
from reprieve.placement.gang_members import Members, Ties, members_of
from reprieve.placement.place import survey
from reprieve.preemption.least_disturbance.costs import Costs
from reprieve.preemption.least_disturbance.model import Footprint, Item, RoomModel, Shares
from reprieve.preemption.question import Question, Takeable
from reprieve.preemption.units import Units


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The nodes that members could use without all units that may be evicted, and the units there."""

    members: Members
    nodes: Ints  # rows
    usable: Mask  # [shape, node] of these nodes
    pods: Ints  # rows, of the units on these nodes
    units: Ints  # numbers
    is_exact: bool  # whether room is all that matters


def reach_of(question: Question, takeable: Takeable, nodes: Mask, ceiling: float) -> Reach:
    """Only units up to this priority are of interest."""
    view, units, demand = question.view, takeable.units, question.demand
    local = units.touching(nodes)
    local = local[takeable.allowed[local]]
    evictable = units.pods_of(local)
    members = members_of(demand, view, question.profile)
    usable = _usable(question, members, nodes, without(view, evictable))
    rows = np.flatnonzero(usable.any(axis=0))
    rows = rows[np.argsort(view.nodes.rank[rows])]  # names decide ties, never the order of rows
    reached = np.zeros(len(view.nodes) + 1, np.bool_)  # the last one stands for nowhere
    reached[rows] = True
    near = reached[view.where[evictable]] & (units.priority[units.of_pod[evictable]] <= ceiling)
    pods = evictable[near]
    is_exact = members.ties is Ties.ROOM and not takeable.matter[evictable].any()
    is_exact &= not demand.is_one_of_several
    return Reach(members, rows, usable[:, rows], pods, np.unique(units.of_pod[pods]), is_exact)


def model_of(question: Question, takeable: Takeable, reach: Reach, target: int, costs: Costs) -> RoomModel:
    """The members of the demand, and the units in reach."""
    view, demand, members, rows = question.view, question.demand, reach.members, reach.nodes
    resource_rows = np.array(_needed_resources(question), np.int64)
    firsts = [demand.pods[positions[0]] for positions in members.by_shape]
    items, gangs = _with_own_gangs(_items(takeable, reach, resource_rows, costs))
    return RoomModel(
        order=costs.order,
        needs=tuple(tuple(view.pods.requests[resource_rows, pod].tolist()) for pod in firsts),
        members=tuple(len(positions) for positions in members.by_shape),
        target=target,
        left=tuple(map(tuple, (view.allocatable - view.requested)[np.ix_(resource_rows, rows)].T.tolist())),
        usable_by=tuple(tuple(np.flatnonzero(column).tolist()) for column in reach.usable.T),
        nodes=tuple(rows.tolist()),
        items=items,
        allowances=tuple(takeable.accounts.allowances().tolist()),
        running=tuple(costs.gangs.running[gang] for gang in gangs),
        slack=tuple(costs.gangs.slack[gang] for gang in gangs),
        shape_of=_shape_of(members, len(demand.pods)),
        breaks_no_budget=question.policy.breaks_no_budget,
        is_exact=reach.is_exact,
    )


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


def _items(takeable: Takeable, reach: Reach, resource_rows: Ints, costs: Costs) -> tuple[Item, ...]:
    """Equal pods on one node are one item, and each group is one. The least important come first."""
    units, numbers = takeable.units, reach.units
    prices = np.array([costs.prices(criterion, units)[numbers] for criterion in costs.order], np.int64)
    columns = (
        units.priority[numbers].tolist(),
        map(tuple, prices.T.tolist()),
        _footprints(units, reach, resource_rows),
    )
    listed = dict(zip(numbers.tolist(), zip(*columns, strict=True), strict=True))
    budgets, gangs = _budget_shares(takeable, numbers), costs.gangs.of_unit
    alike: dict[tuple[object, ...], list[int]] = {}
    for unit in units.in_order(numbers)[::-1].tolist():
        alone = unit < len(units.view.pods)
        key = (*listed[unit], budgets.get(unit, ()), gangs.get(unit, ())) if alone else (unit,)
        alike.setdefault(key, []).append(unit)

    def item(same: list[int]) -> Item:
        priority, price, footprint = listed[same[0]]
        shares = budgets.get(same[0], ()), gangs.get(same[0], ())
        return Item(tuple(same), priority, price, footprint, *shares)

    return tuple(map(item, alike.values()))


def _with_own_gangs(items: tuple[Item, ...]) -> tuple[tuple[Item, ...], list[int]]:
    """The items with gangs by place in a list of those that matter to them, and that list."""
    gangs = sorted({gang for item in items for gang, _ in item.gangs})
    places = {gang: place for place, gang in enumerate(gangs)}

    def own(item: Item) -> Item:
        return replace(item, gangs=tuple((places[gang], pods) for gang, pods in item.gangs))

    return tuple(own(item) if item.gangs else item for item in items), gangs


def _footprints(units: Units, reach: Reach, resource_rows: Ints) -> list[Footprint]:
    """[unit in reach] the nodes where it has pods, and what these use."""
    view, pods, width = units.view, reach.pods, len(reach.nodes)
    place_of = np.zeros(len(view.nodes), np.int64)
    place_of[reach.nodes] = np.arange(width)
    which = np.searchsorted(reach.units, units.of_pod[pods])
    pairs, pair_of = np.unique(which * width + place_of[view.where[pods]], return_inverse=True)
    used = np.zeros((len(pairs), len(resource_rows)), np.int64)
    np.add.at(used, pair_of, view.pods.requests[np.ix_(resource_rows, pods)].T)
    cells = list(zip((pairs % width).tolist(), map(tuple, used.tolist()), strict=True)) if width else []
    ends = np.searchsorted(pairs, np.arange(1, len(reach.units) + 1) * width).tolist()
    return [tuple(cells[start:end]) for start, end in zip([0, *ends][:-1], ends, strict=True)]


def _budget_shares(takeable: Takeable, numbers: Ints) -> dict[int, Shares]:
    """By unit: the budgets that it is charged to, also for its pods on other nodes."""
    accounts = takeable.accounts
    charged = takeable.units.of_pod[accounts.pods]
    which = np.isin(charged, numbers)
    shares: dict[int, dict[int, int]] = {}
    for unit, budget in zip(charged[which].tolist(), accounts.paying[which].tolist(), strict=True):
        paid = shares.setdefault(unit, {})
        paid[budget] = paid.get(budget, 0) + 1
    return {unit: tuple(sorted(paid.items())) for unit, paid in shares.items()}
