"""On which of thousands of nodes is it worth making a plan for one pod?

Which units are the victims on each node, or at least how many there are and of which priority, is worked
out for all nodes at once, in columns. From these the criteria of the ranking derive lower bounds; the search
makes plans in the order of the bounds, and stops when no other node can win. Which criteria there are, and
in which order, is not known here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.pods_by_importance import NO_POD
from reprieve.model.snapshot import NOWHERE, Snapshot, sums_by_node
from reprieve.model.whatif import without
from reprieve.placement.constraints.pods import kept_apart, pod_affinity
from reprieve.placement.constraints.resources import is_ignored
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.place import survey
from reprieve.preemption.question import Question, Takeable
from reprieve.preemption.ranking import OFFSET, Candidates, Criterion, Rank, fewest_budgets_broken
from reprieve.preemption.units import Units

UNKNOWN: Rank = ()  # less than the rank of any plan


class Candidate(NamedTuple):
    node: int  # row
    at_least: Rank = UNKNOWN  # the rank of no plan there is smaller; it may end early, see lower_bounds
    by_room: bool = False  # nothing but room and ports is missing there


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What is known of the plans on all nodes before any of them is made."""

    exact: Candidates  # the victims are known
    bounded: Candidates  # only bounds are: budgets matter there, or units may be reprieved in another order
    by_room: Mask  # [node of the cluster] nothing but room and ports is missing there


def worth_planning(question: Question, takeable: Takeable) -> Iterator[Candidate]:
    """The nodes where there may be a plan, in the order of their lower bounds."""
    seen, nodes, ranking = outlook(question, takeable), question.view.nodes, question.policy.ranking
    parts = (seen.exact, seen.bounded)
    rows, bounds = np.concatenate([part.nodes for part in parts]), lower_bounds(parts, ranking)
    order = np.lexsort((nodes.rank[rows], *reversed(bounds)))
    if question.policy.breaks_no_budget:
        broken = np.concatenate([fewest_budgets_broken(part) for part in parts])
        order = order[broken[order] == 0]
    for i in order.tolist():
        row, at_least = int(rows[i]), tuple(bound[i] for bound in bounds)
        name = (nodes.names[row],) if len(bounds) == len(ranking) else ()
        yield Candidate(row, at_least + name, bool(seen.by_room[row]))


def lower_bounds(parts: Sequence[Candidates], ranking: Sequence[Criterion]) -> list[Ints | Floats]:
    """[criterion, candidate] the bounds by the criteria in turn, up to the first criterion that has none.

    Ranks are compared from the left. Bounds by each criterion make a bound of the whole rank. But where two
    plans tie up to a criterion without a bound, that one may decide either way, so no later bound helps.
    """
    bounds: list[Ints | Floats] = []
    for criterion in ranking:
        if criterion.at_least is None:
            break
        bounds.append(np.concatenate([criterion.at_least(part) for part in parts]))
    return bounds


def outlook(question: Question, takeable: Takeable) -> Outlook:
    demand, view, units = question.demand, question.view, takeable.units
    taken = _pods_of(units, takeable.allowed)
    special = taken & _pods_of(units, units.with_any(takeable.matter))
    emptied = Ask(without(view, np.flatnonzero(taken & ~special)), demand.pods[0], question.profile)
    curable = question.found.curable()
    unclear = curable & (_counted(view, special) > 0)
    usable = survey(emptied, demand.constraints, curable).feasible & (_counted(view, taken) > 0)
    blocking = _blocking(Ask(view, demand.pods[0], question.profile), demand.constraints)
    tenants = _tenants(emptied, units, taken, np.flatnonzero(usable | unclear), blocking)
    guarded = _guarded(tenants, takeable)
    uncertain = unclear[tenants.nodes] | guarded.in_danger | _contested(tenants, takeable)
    return Outlook(
        exact=_exact(emptied, units, tenants.on(~uncertain)),
        bounded=_bounded(emptied, units, tenants.on(uncertain), guarded.on(uncertain)),
        by_room=~unclear,
    )


def _pods_of(units: Units, chosen: Mask) -> Mask:
    mask: Mask = (units.of_pod != NOWHERE) & chosen[units.of_pod]
    return mask


def _counted(view: Snapshot, pods: Mask) -> Ints:
    return np.bincount(view.where[pods], minlength=len(view.nodes))


# --- the units on nodes --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Tenants:
    """Units on nodes. A tenant is a unit on one node."""

    nodes: Ints  # rows
    table: Ints  # [slot, node] tenants, the most important first, or NOBODY
    unit: Ints  # [tenant]
    room: Ints  # [requested resource, tenant] what it uses there
    blocks: Mask  # [tenant] the demand cannot run beside it, however much room there is

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
    """The slots of the snapshot hold pods: they neither order groups by importance nor keep them whole."""
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
    """Pods that keep the demand from their node: by a port that it needs, or by anti-affinity."""
    blocking = np.zeros(len(ask.view.pods), np.bool_)
    for wanted in ask.shape.ports:
        blocking[ask.view.pods.holders().of_port(wanted)] = True
    for topology_key, pods in kept_apart(ask) if pod_affinity in constraints else ():
        labelled = ask.view.nodes.label(topology_key).codes != 0
        blocking[pods[labelled[ask.view.where[pods]]]] = True
    return blocking


@dataclass(frozen=True, slots=True, eq=False)
class _Guarded:
    """What budgets have to say of the tenants."""

    in_danger: Mask  # [node of the tenants] a budget would be exceeded if all tenants went
    allowances: Ints  # [the same] how many disruptions all budgets that select a pod there allow
    units: Mask  # [unit] whether any budget selects a pod of it

    def on(self, chosen: Mask) -> "_Guarded":
        return _Guarded(self.in_danger[chosen], self.allowances[chosen], self.units)


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
    """How many pods each budget is charged with if all tenants of a node go: node, budget, pods.

    A unit that goes takes its pods on other nodes along, and they are charged too.
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
    """Nodes with units that kube-scheduler reprieves in another order."""
    if takeable.rival is None:
        return np.zeros(len(tenants.nodes), np.bool_)
    otherwise = takeable.rival.units.kind != takeable.units.kind
    contested: Mask = ((tenants.table != NO_POD) & otherwise[tenants.unit[tenants.table]]).any(axis=0)
    return contested


# --- the victims ---------------------------------------------------------------------------------


def _exact(ask: Ask, units: Units, tenants: _Tenants) -> Candidates:
    """Where only room and ports matter: slot by slot, units that fit are reprieved, on all nodes at once."""
    left = _left(ask, units, tenants)
    left += (tenants.room[:, tenants.table] * (tenants.table != NO_POD)).sum(axis=1)
    victims = np.zeros(tenants.table.shape, np.bool_)
    for slot, tenant in enumerate(tenants.table):
        room, there = tenants.room[:, tenant], tenant != NO_POD
        stays = there & ~tenants.blocks[tenant] & (left >= room).all(axis=0)
        left -= room * stays
        victims[slot] = there & ~stays
    unit, count = tenants.unit[tenants.table], victims.sum(axis=0)
    return Candidates(
        nodes=tenants.nodes,
        priority=units.priority[unit],
        size=units.size[unit],
        start=units.start[unit],
        possible=victims,
        certain=victims,
        fewest=count,
        ceiling=np.full(len(tenants.nodes), -np.inf),
        within_budgets=count,
    )


def _bounded(ask: Ask, units: Units, tenants: _Tenants, guarded: _Guarded) -> Candidates:
    """Which units are reprieved is open: so much room is missing, and so few units may go by the budgets."""
    there, unit = tenants.table != NO_POD, tenants.unit[tenants.table]
    blocks = there & tenants.blocks[tenants.table]
    room = tenants.room[:, tenants.table] * there
    left = _left(ask, units, tenants)
    priority = units.priority[unit]
    lowest = np.where(there, priority, OFFSET).min(axis=0, initial=OFFSET)
    return Candidates(
        nodes=tenants.nodes,
        priority=priority,
        size=units.size[unit],
        start=units.start[unit],
        possible=there,
        certain=blocks,
        fewest=np.maximum(_fewest(left, room), blocks.sum(axis=0)),
        ceiling=_lowest_ceiling(left, room, np.where(there, priority, lowest)),
        within_budgets=(there & ~guarded.units[unit]).sum(axis=0) + guarded.allowances,
    )


def _left(ask: Ask, units: Units, tenants: _Tenants) -> Ints:
    """[requested resource, node] what would be left if the demand came and no tenant went."""
    base, asked = units.view, _asked(ask)
    room = (base.allocatable - base.requested)[asked][:, tenants.nodes]
    left: Ints = room - base.pods.requests[asked][:, [ask.pod]]
    return left


def _fewest(left: Ints, room: Ints) -> Ints:
    """[node] how many units have to go at least: as many as if the largest went first."""
    gained = np.cumsum(-np.sort(-room, axis=1), axis=1)
    fewest: Ints = ((left[:, None] + gained < 0).sum(axis=1) + (left < 0)).max(axis=0, initial=0)
    return fewest


def _lowest_ceiling(left: Ints, room: Ints, priority: Ints) -> Floats:
    """[node] the lowest priority up to which all units together leave enough room, or minus infinity."""
    ceiling = np.full(left.shape[1], -np.inf)
    for slot in reversed(range(len(priority))):
        ceiling = np.where((left < 0).any(axis=0), priority[slot], ceiling)
        left = left + room[:, slot]
    return ceiling
