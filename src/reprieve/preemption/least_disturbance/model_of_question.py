"""The model of the room in a question: rows of a snapshot become the plain numbers that a solver needs."""

from dataclasses import replace

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import Ask
from reprieve.placement.gang_members import Members, Ties, members_of
from reprieve.placement.place import survey
from reprieve.preemption.least_disturbance.costs import Costs
from reprieve.preemption.least_disturbance.model import Amounts, Item, RoomModel, Shares
from reprieve.preemption.question import Question, Takeable


def model_of(question: Question, takeable: Takeable, nodes: Mask, target: int, costs: Costs) -> RoomModel:
    """The members of the demand, and all units that may be evicted on these nodes."""
    view, units, demand = question.view, takeable.units, question.demand
    local = units.touching(nodes)
    local = local[takeable.allowed[local]]
    evictable = units.pods_of(local)
    members = members_of(demand, view, question.profile)
    usable = _usable(question, members, nodes, without(view, evictable))
    rows = np.flatnonzero(usable.any(axis=0))
    rows = rows[np.argsort(view.nodes.rank[rows])]  # names decide ties, never the order of rows
    resource_rows = np.array(_needed_resources(question), np.int64)
    place_of = np.full(len(view.nodes) + 1, NOWHERE)  # the last one stands for nowhere
    place_of[rows] = np.arange(len(rows))
    near = evictable[place_of[view.where[evictable]] != NOWHERE]
    firsts = [demand.pods[positions[0]] for positions in members.by_shape]
    return RoomModel(
        order=costs.order,
        needs=tuple(tuple(view.pods.requests[resource_rows, pod].tolist()) for pod in firsts),
        members=tuple(len(positions) for positions in members.by_shape),
        target=target,
        left=tuple(map(tuple, (view.allocatable - view.requested)[np.ix_(resource_rows, rows)].T.tolist())),
        usable_by=tuple(tuple(np.flatnonzero(column).tolist()) for column in usable[:, rows].T),
        nodes=tuple(rows.tolist()),
        items=_items(takeable, near, place_of, resource_rows, costs),
        allowances=tuple(takeable.accounts.allowances().tolist()),
        running=costs.gangs.running,
        slack=costs.gangs.slack,
        shape_of=_shape_of(members, len(demand.pods)),
        breaks_no_budget=question.policy.breaks_no_budget,
        is_exact=members.ties is Ties.ROOM and not takeable.matter[evictable].any(),
    )


def _usable(question: Question, members: Members, nodes: Mask, emptied: Snapshot) -> Mask:
    """[shape, node] whether the node could take one member if all units were gone."""
    demand = question.demand
    asks = (Ask(emptied, demand.pods[positions[0]], question.profile) for positions in members.by_shape)
    return np.array([survey(ask, demand.constraints, nodes).feasible for ask in asks], np.bool_)


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


def _items(
    takeable: Takeable, pods: Ints, place_of: Ints, resource_rows: Ints, costs: Costs
) -> tuple[Item, ...]:
    """The units of these pods; equal pods on one node are one item."""
    units, view = takeable.units, takeable.units.view
    numbers = np.unique(units.of_pod[pods])
    footprints: dict[int, dict[int, Amounts]] = {}
    amounts = map(tuple, view.pods.requests[np.ix_(resource_rows, pods)].T.tolist())
    places = place_of[view.where[pods]].tolist()
    for unit, node, used in zip(units.of_pod[pods].tolist(), places, amounts, strict=True):
        there = footprints.setdefault(unit, {})
        there[node] = _added(there[node], used) if node in there else used
    prices = [costs.prices(criterion, units)[numbers].tolist() for criterion in costs.order]
    by_unit = dict(zip(numbers.tolist(), zip(*prices, strict=True), strict=True))
    budgets = _budget_shares(takeable, numbers)
    found: dict[tuple[object, ...], list[int]] = {}
    items: dict[tuple[object, ...], Item] = {}
    for unit in units.in_order(numbers)[::-1].tolist():
        item = Item(
            (unit,),
            int(units.priority[unit]),
            by_unit[unit],
            tuple(sorted(footprints[unit].items())),
            budgets.get(unit, ()),
            costs.gangs.of_unit.get(unit, ()),
        )
        alone = unit < len(view.pods)
        key = (item.priority, item.prices, item.footprint, item.budgets, item.gangs) if alone else (unit,)
        found.setdefault(key, []).append(unit)
        items.setdefault(key, item)
    return tuple(replace(items[key], units=tuple(alike)) for key, alike in found.items())


def _added(one: Amounts, other: Amounts) -> Amounts:
    return tuple(a + b for a, b in zip(one, other, strict=True))


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
