"""A glance at all nodes at once: on which of them is a plan for one pod worth making?

Where units matter to the pod only by the room and the ports they leave, the plans of all nodes can be
compared without making them: slot by slot, the most important first, one vector step puts back what fits on
every node. Where budgets have a say, or somebody matters for more, it can be told what a plan costs at least.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.nodes import Nodes
from reprieve.model.pods_by_importance import NO_POD
from reprieve.model.snapshot import NOWHERE, Snapshot, sums_by_node
from reprieve.model.whatif import without
from reprieve.placement.constraints.pods import kept_apart, pod_affinity
from reprieve.placement.constraints.resources import is_ignored
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.place import survey
from reprieve.preemption.question import Question, Takeable
from reprieve.preemption.ranking import OFFSET
from reprieve.preemption.units import Units

Price = tuple[float | str, ...]  # as plans are ranked


_TOP = OFFSET  # above every priority
NO_PRICE: Price = ()  # less than any


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What a plan on each node would cost, by the criteria that rank plans."""

    nodes: Ints  # rows
    broken: Ints
    highest: Ints
    total: Ints
    pods: Ints
    start: Floats

    def and_(self, *others: "Prices") -> "Prices":
        columns = ([getattr(one, name) for one in (self, *others)] for name in Prices.__slots__)
        return Prices(*map(np.concatenate, columns))

    def in_order(self, nodes: Nodes) -> Iterator[tuple[int, Price]]:
        """The nodes (rows) and their prices, the cheapest first."""
        keys = (nodes.rank[self.nodes], -self.start, self.pods, self.total, self.highest, self.broken)
        for i in np.lexsort(keys).tolist():
            row, starved = int(self.nodes[i]), 0
            price = (self.broken[i], self.highest[i], self.total[i], self.pods[i], starved, -self.start[i])
            yield row, (*price, nodes.names[row])


@dataclass(frozen=True, slots=True, eq=False)
class Glance:
    exact: Prices
    at_least: Prices  # where budgets have a say, or others may be put back first
    unclear: Prices  # where somebody matters for more: at least, if there is a plan at all


def worth_planning(question: Question, takeable: Takeable) -> Iterator[tuple[int, Price, bool]]:
    """The nodes (rows) where there may be a plan, what it costs at least, and whether it is a matter of room.

    The cheapest come first.
    """
    seen, nodes = glance(question, takeable), question.view.nodes
    unclear = np.zeros(len(nodes), np.bool_)
    unclear[seen.unclear.nodes] = True
    prices = seen.exact.and_(seen.at_least, seen.unclear)
    yield from ((row, price, not unclear[row]) for row, price in prices.in_order(nodes))


def glance(question: Question, takeable: Takeable) -> Glance:
    demand, view, units = question.demand, question.view, takeable.units
    taken = _pods_of(units, takeable.allowed)
    special = taken & _pods_of(units, units.with_any(takeable.matter))
    emptied = Ask(without(view, np.flatnonzero(taken & ~special)), demand.pods[0], question.profile)
    curable = question.found.curable()
    unclear = curable & (_counted(view, special) > 0)
    usable = survey(emptied, demand.constraints, curable).feasible & (_counted(view, taken) > 0)
    blocking = _blocking(Ask(view, demand.pods[0], question.profile), demand.constraints)
    tenants = _tenants(emptied, units, taken, np.flatnonzero(usable | unclear), blocking)
    guarded, by_more = _guarded(tenants, takeable), unclear[tenants.nodes]
    uncertain = guarded.in_danger | _contested(tenants, takeable)
    return Glance(
        exact=_prices(emptied, units, tenants.on(~uncertain & ~by_more)),
        at_least=_least(emptied, units, tenants, guarded, uncertain & ~by_more),
        unclear=_least(emptied, units, tenants, guarded, by_more),
    )


def _pods_of(units: Units, chosen: Mask) -> Mask:
    mask: Mask = (units.of_pod != NOWHERE) & chosen[units.of_pod]
    return mask


def _counted(view: Snapshot, pods: Mask) -> Ints:
    return np.bincount(view.where[pods], minlength=len(view.nodes))


# --- who is there --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Tenants:
    """Units on nodes. A tenant is a unit on one node."""

    nodes: Ints  # rows
    table: Ints  # [slot, node] tenants, the most important first, or NOBODY
    unit: Ints  # [tenant]
    room: Ints  # [resource that is asked for, tenant] what it takes up there
    blocks: Mask  # [tenant] whether it has to go, however much room there is

    def on(self, chosen: Mask) -> "_Tenants":
        return _Tenants(self.nodes[chosen], self.table[:, chosen], self.unit, self.room, self.blocks)


def _tenants(ask: Ask, units: Units, taken: Mask, nodes: Ints, blocking: Mask) -> _Tenants:
    view, requests = ask.view, ask.view.pods.requests[_asked(ask)]
    if (taken & (view.pods.groups.codes != 0)).any():
        return _tenants_of_groups(ask, units, taken, nodes, blocking)
    slots = view.slots[:, nodes]
    table = np.where((slots != NO_POD) & taken[slots] & (units.view.where[slots] == nodes), slots, NO_POD)
    return _Tenants(nodes, table, np.arange(len(view.pods)), requests, blocking)


def _tenants_of_groups(ask: Ask, units: Units, taken: Mask, nodes: Ints, blocking: Mask) -> _Tenants:
    """Where groups take part, slots do not tell who is more important, nor what goes together."""
    where, width = units.view.where, len(units.priority)
    rows = np.flatnonzero(taken & np.isin(where, nodes))
    found, tenant = np.unique(where[rows] * width + units.of_pod[rows], return_inverse=True)
    node, unit = np.searchsorted(nodes, found // width), found % width
    room = sums_by_node(ask.view.pods.requests[_asked(ask)][:, rows], tenant, len(found))
    blocks = np.zeros(len(found), np.bool_)
    blocks[tenant[blocking[rows]]] = True
    return _Tenants(nodes, _table(node, units.places(unit), len(nodes)), unit, room, blocks)


def _table(node: Ints, place: Ints, nodes: int) -> Ints:
    """Tenants by node, in the order of their places."""
    order = np.lexsort((place, node))
    counts = np.bincount(node, minlength=nodes)
    slot = np.arange(len(node)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((int(counts.max(initial=0)), nodes), NO_POD, np.int64)
    table[slot, node[order]] = order
    return table


def _asked(ask: Ask) -> list[int]:
    names, wanted = ask.view.axis.names, np.flatnonzero(ask.view.pods.requests[:, ask.pod])
    return [int(row) for row in wanted if not is_ignored(names[row], ask.profile)]


def _blocking(ask: Ask, constraints: tuple[Constraint, ...]) -> Mask:
    """Pods that keep the newcomer from their node: by a port that it needs, or because they must not meet."""
    blocking = np.zeros(len(ask.view.pods), np.bool_)
    for wanted in ask.shape.ports:
        blocking[ask.view.pods.ports.rows_where(wanted.conflicts_with)] = True
    for topology_key, pods in kept_apart(ask) if pod_affinity in constraints else ():
        near_somebody = ask.view.nodes.label(topology_key).codes != 0
        blocking[pods[near_somebody[ask.view.where[pods]]]] = True
    return blocking


@dataclass(frozen=True, slots=True, eq=False)
class _Guarded:
    """What budgets have to say."""

    in_danger: Mask  # [node among those of the tenants] a budget would be exceeded if everybody went
    allowances: Ints  # [the same] how many disruptions all budgets that speak of anybody there allow
    units: Mask  # [unit] whether any budget speaks of it


def _guarded(tenants: _Tenants, takeable: Takeable) -> _Guarded:
    accounts, units = takeable.accounts, takeable.units
    in_danger, allowances = np.zeros(len(tenants.nodes), np.bool_), np.zeros(len(tenants.nodes), np.int64)
    node, stock, going = _going(tenants, takeable)
    allowed = accounts.allowances()[stock]
    in_danger[node[going > allowed]] = True
    np.add.at(allowances, node, allowed)
    pods = np.zeros(len(units.of_pod), np.bool_)
    pods[accounts.pods] = True
    return _Guarded(in_danger, allowances, units.with_any(pods))


def _going(tenants: _Tenants, takeable: Takeable) -> tuple[Ints, Ints, Ints]:
    """For how many pods a budget would have to pay if everybody went from a node: node, budget, pods.

    Also for those that go along from elsewhere.
    """
    units, accounts = takeable.units, takeable.accounts
    width = max(1, len(accounts.stocks))
    unit = units.of_pod[accounts.pods]
    running = unit != NOWHERE
    share, pods = np.unique(unit[running] * width + accounts.paying[running], return_counts=True)
    slot, node = np.nonzero(tenants.table != NO_POD)
    there = tenants.unit[tenants.table[slot, node]]
    order = np.argsort(there, kind="stable")
    first, last = (np.searchsorted(there[order], share // width, side) for side in ("left", "right"))
    times = last - first
    entry = np.repeat(first - np.cumsum(times) + times, times) + np.arange(times.sum())
    pairs, place = np.unique(
        node[order][entry] * width + np.repeat(share % width, times), return_inverse=True
    )
    going = np.bincount(place, np.repeat(pods, times), len(pairs)).astype(np.int64)
    return pairs // width, pairs % width, going


def _contested(tenants: _Tenants, takeable: Takeable) -> Mask:
    """Nodes with units that kube-scheduler ranks otherwise."""
    if takeable.rival is None:
        return np.zeros(len(tenants.nodes), np.bool_)
    otherwise = takeable.rival.units.kind != takeable.units.kind
    contested: Mask = ((tenants.table != NO_POD) & otherwise[tenants.unit[tenants.table]]).any(axis=0)
    return contested


# --- what it would cost --------------------------------------------------------------------------


def _prices(ask: Ask, units: Units, tenants: _Tenants) -> Prices:
    nodes = tenants.nodes
    left = _left(ask, units, tenants)
    left += (tenants.room[:, tenants.table] * (tenants.table != NO_POD)).sum(axis=1)
    highest = np.zeros(len(nodes), np.int64)
    total, pods = np.zeros_like(highest), np.zeros_like(highest)
    start = np.full(len(nodes), np.inf)
    for tenant in tenants.table:
        room, unit = tenants.room[:, tenant], tenants.unit[tenant]
        there = tenant != NO_POD
        stays = there & ~tenants.blocks[tenant] & (left >= room).all(axis=0)
        left -= room * stays
        goes = there & ~stays
        priority, size = units.priority[unit], units.size[unit]
        highest = np.where(goes & (pods == 0), priority, highest)
        first = goes & (priority == highest)
        start[first] = np.minimum(start, units.start[unit])[first]
        total += np.where(goes, (priority + OFFSET) * size, 0)
        pods += np.where(goes, size, 0)
    costly = pods > 0
    broken = np.zeros(costly.sum(), np.int64)
    return Prices(nodes[costly], broken, highest[costly], total[costly], pods[costly], start[costly])


def _left(ask: Ask, units: Units, tenants: _Tenants) -> Ints:
    """[resource that is asked for, node] what would be left if the newcomer came, and nobody went."""
    base, asked = units.view, _asked(ask)
    room = (base.allocatable - base.requested)[asked][:, tenants.nodes]
    left: Ints = room - base.pods.requests[asked][:, [ask.pod]]
    return left


def _least(ask: Ask, units: Units, tenants: _Tenants, guarded: _Guarded, chosen: Mask) -> Prices:
    """No plan costs less, whoever is spared in it: so much room is missing, and so few can go unnoticed."""
    tenants = tenants.on(chosen)
    there, unit = tenants.table != NO_POD, tenants.unit[tenants.table]
    blocks = there & tenants.blocks[tenants.table]
    room = tenants.room[:, tenants.table] * there
    left = _left(ask, units, tenants)
    fewest = np.maximum(_fewest(left, room), blocks.sum(axis=0))
    unnoticed = (there & ~guarded.units[unit]).sum(axis=0) + guarded.allowances[chosen]
    priority = units.priority[unit]
    lowest = np.where(there, priority, _TOP).min(axis=0, initial=_TOP)
    return Prices(
        nodes=tenants.nodes,
        broken=np.maximum(0, fewest - unnoticed),
        highest=np.maximum(
            _lowest_ceiling(left, room, np.where(there, priority, lowest)),
            np.where(blocks, priority, -OFFSET).max(axis=0, initial=-OFFSET),
        ),
        total=fewest * (lowest + OFFSET),
        pods=fewest,
        start=np.where(there, units.start[unit], -np.inf).max(axis=0, initial=-np.inf),
    )


def _fewest(left: Ints, room: Ints) -> Ints:
    """[node] how many have to go at least, if those go who take up the most."""
    gained = np.cumsum(-np.sort(-room, axis=1), axis=1)
    fewest: Ints = ((left[:, None] + gained < 0).sum(axis=1) + (left < 0)).max(axis=0, initial=0)
    return fewest


def _lowest_ceiling(left: Ints, room: Ints, priority: Ints) -> Ints:
    """[node] the priority up to which everybody has to go at least, the least important first."""
    ceiling = np.full(left.shape[1], -OFFSET)
    for slot in reversed(range(len(priority))):
        ceiling = np.where((left < 0).any(axis=0), priority[slot], ceiling)
        left = left + room[:, slot]
    return ceiling
