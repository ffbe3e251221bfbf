"""A glance at all nodes at once: on which of them is a plan for one pod worth making?

Where units matter to the pod only by the room and the ports they leave, the plans of all nodes can be
compared without making them: slot by slot, the most important first, one vector step puts back what fits on
every node. Nodes where somebody matters for more, or budgets have a say, are left to be planned one by one.
"""

from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.slots import NOBODY
from reprieve.model.snapshot import NOWHERE, Snapshot, sums_by_node
from reprieve.model.whatif import without
from reprieve.placement.constraints.resources import is_ignored
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from reprieve.preemption.question import Question, Takeable
from reprieve.preemption.ranking import OFFSET
from reprieve.preemption.sparing import counts_room
from reprieve.preemption.units import Units

_WORTH_A_PLAN = 20  # as many as a decision reports


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What a plan on each node would cost, by the criteria that rank plans. None of them breaks a budget."""

    nodes: Ints  # rows
    highest: Ints
    total: Ints
    pods: Ints
    start: Floats

    def cheapest(self, rank: Ints) -> Ints:
        order = np.lexsort((rank[self.nodes], -self.start, self.pods, self.total, self.highest))
        return self.nodes[order[:_WORTH_A_PLAN]]


@dataclass(frozen=True, slots=True, eq=False)
class Glance:
    prices: Prices
    unclear: Ints  # nodes (rows) where only planning tells


def worth_planning(question: Question, takeable: Takeable) -> Ints | None:
    """The nodes (rows) among which the best plan is found; None if a glance cannot tell."""
    if not counts_room(question.demand):
        return None
    seen = glance(question, takeable)
    return np.concatenate([seen.prices.cheapest(question.view.nodes.rank), seen.unclear])


def glance(question: Question, takeable: Takeable) -> Glance:
    demand, view, units = question.demand, question.view, takeable.units
    taken = _pods_of(units, takeable.allowed)
    special = taken & _pods_of(units, units.with_any(takeable.matter))
    emptied = Ask(without(view, np.flatnonzero(taken & ~special)), demand.pods[0], question.profile)
    curable = question.found.curable()
    unclear = curable & (_counted(view, special) > 0)
    usable = survey(emptied, demand.constraints, curable).feasible & (_counted(view, taken) > 0)
    nodes = np.flatnonzero(usable & ~unclear)
    tenants = _tenants(emptied, units, taken, nodes)
    may_break = _may_break(tenants, takeable)
    prices = _prices(emptied, units, tenants.on(~may_break))
    return Glance(prices, np.concatenate([nodes[may_break], np.flatnonzero(unclear)]))


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
    blocks: Mask  # [tenant] whether it holds a port that is asked for

    def on(self, chosen: Mask) -> "_Tenants":
        return _Tenants(self.nodes[chosen], self.table[:, chosen], self.unit, self.room, self.blocks)


def _tenants(ask: Ask, units: Units, taken: Mask, nodes: Ints) -> _Tenants:
    view, requests = ask.view, ask.view.pods.requests[_asked(ask)]
    if (taken & (view.pods.groups.codes != 0)).any():
        return _tenants_of_groups(ask, units, taken, nodes)
    slots = view.slots[:, nodes]
    table = np.where((slots != NOBODY) & taken[slots] & (units.view.where[slots] == nodes), slots, NOBODY)
    return _Tenants(nodes, table, np.arange(len(view.pods)), requests, _blocking(ask))


def _tenants_of_groups(ask: Ask, units: Units, taken: Mask, nodes: Ints) -> _Tenants:
    """Where groups take part, slots do not tell who is more important, nor what goes together."""
    where, width = units.view.where, len(units.priority)
    rows = np.flatnonzero(taken & np.isin(where, nodes))
    found, tenant = np.unique(where[rows] * width + units.of_pod[rows], return_inverse=True)
    node, unit = np.searchsorted(nodes, found // width), found % width
    room = sums_by_node(ask.view.pods.requests[_asked(ask)][:, rows], tenant, len(found))
    blocks = np.zeros(len(found), np.bool_)
    blocks[tenant[_blocking(ask)[rows]]] = True
    return _Tenants(nodes, _table(node, units.places(unit), len(nodes)), unit, room, blocks)


def _table(node: Ints, place: Ints, nodes: int) -> Ints:
    """Tenants by node, in the order of their places."""
    order = np.lexsort((place, node))
    counts = np.bincount(node, minlength=nodes)
    slot = np.arange(len(node)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((int(counts.max(initial=0)), nodes), NOBODY, np.int64)
    table[slot, node[order]] = order
    return table


def _asked(ask: Ask) -> list[int]:
    names, wanted = ask.view.axis.names, np.flatnonzero(ask.view.pods.requests[:, ask.pod])
    return [int(row) for row in wanted if not is_ignored(names[row], ask.profile)]


def _blocking(ask: Ask) -> Mask:
    """Pods that hold a port the newcomer needs."""
    blocking = np.zeros(len(ask.view.pods), np.bool_)
    for wanted in ask.shape.ports:
        blocking[ask.view.pods.ports.rows_where(wanted.conflicts_with)] = True
    return blocking


def _may_break(tenants: _Tenants, takeable: Takeable) -> Mask:
    """Nodes where a budget would be exceeded if everybody went."""
    over = np.zeros(len(tenants.nodes), np.bool_)
    for stock in takeable.accounts.stocks:
        shares = stock.shares(takeable.units)[tenants.unit]
        going = np.where(tenants.table != NOBODY, shares[tenants.table], 0).sum(axis=0)
        over |= going > max(0, stock.budget.allowed)
    return over


# --- what it would cost --------------------------------------------------------------------------


def _prices(ask: Ask, units: Units, tenants: _Tenants) -> Prices:
    base, nodes, asked = units.view, tenants.nodes, _asked(ask)
    left = (base.allocatable - base.requested)[asked][:, nodes] - base.pods.requests[asked][:, [ask.pod]]
    left += (tenants.room[:, tenants.table] * (tenants.table != NOBODY)).sum(axis=1)
    highest = np.zeros(len(nodes), np.int64)
    total, pods = np.zeros_like(highest), np.zeros_like(highest)
    start = np.full(len(nodes), np.inf)
    for tenant in tenants.table:
        room, unit = tenants.room[:, tenant], tenants.unit[tenant]
        there = tenant != NOBODY
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
    return Prices(nodes[costly], highest[costly], total[costly], pods[costly], start[costly])
