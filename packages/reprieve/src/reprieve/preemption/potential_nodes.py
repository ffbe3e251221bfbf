"""On which nodes may there be a plan for one pod; which units are there, and what are they charged to?

Everything is in columns ``[slot, node]``, so that all nodes can be looked at together.
"""

from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Column, Ints, Mask, sealed
from reprieve.model.pods import NO_POD
from reprieve.model.score_cache import WhatIfScores
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.constraints.pods import host_ports, kept_apart, pod_affinity
from reprieve.placement.constraints.resources import is_ignored
from reprieve.placement.constraints.spread import spread_rules_of
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.place import survey
from reprieve.preemption.budgets import UnitShares, shares_of
from reprieve.preemption.policy import Question
from reprieve.preemption.prices import Evictable
from reprieve.preemption.units import Units

_MOST_CHARGES = 16  # budgets that a unit may be charged to in columns; with more, its nodes are ``beyond``
_UNLIMITED = np.iinfo(np.int64).max
# The columns of accounts if there is none but the last, which is for none.
_NO_ACCOUNT = np.zeros(1, np.int64)


# --- which units are there -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class NodeUnits:
    """The units on each node in slots, the most important first; there may be empty slots between them.

    A unit with pods on several nodes is in a slot on each of them.
    """

    nodes: Ints  # [node] its row in the snapshot
    there: Mask  # [slot, node] whether the slot has a unit
    units: Ints  # [slot, node] numbers of units; any number where there is none
    freed: Ints  # [requested resource, slot, node] what evicting the unit gives back there; 0 in empty slots
    blocks: Mask  # [slot, node] the demand cannot run beside the unit, however much room there is

    def on(self, chosen: Mask) -> "NodeUnits":
        """``chosen``: [node]."""
        columns = np.flatnonzero(chosen)  # taking these takes half the time of a mask
        return NodeUnits(
            nodes=self.nodes.take(columns),
            there=self.there.take(columns, axis=1),
            units=self.units.take(columns, axis=1),
            freed=self.freed.take(columns, axis=2),
            blocks=self.blocks.take(columns, axis=1),
        )


def units_on(running: Ints, ask: Ask, units: Units, evictable: Mask, blocking: Mask) -> NodeUnits:
    """The units that may be evicted, on each node that has any.

    running    [node of the cluster] how many pods that may be evicted run there; 0: it is left out
    evictable  [pod]
    blocking   [pod] the demand cannot run beside it
    """
    view, wanted, nodes = ask.view, counted_resources(ask), np.flatnonzero(running)
    if (evictable & (view.pods.groups.codes != 0)).any():
        return _units_in_pairs(running, ask, units, evictable, blocking)
    # Every unit is a pod, and the snapshot has the pods of each node in this very order.
    slots = view.slots[:, nodes]
    home = np.append(np.where(evictable, view.where, NO_POD), NO_POD)  # the last one stands for NO_POD
    there: Mask = home[slots] == nodes
    if np.count_nonzero(there) != running.sum():  # a what-if has put some of them there
        return _units_in_pairs(running, ask, units, evictable, blocking)
    freed = np.empty((len(wanted), *slots.shape), np.int64)
    for place, resource in enumerate(wanted):
        np.multiply(view.pods.requests[resource][slots], there, out=freed[place])
    return NodeUnits(nodes, there, slots * there, freed, there & blocking[slots])


def _units_in_pairs(running: Ints, ask: Ask, units: Units, evictable: Mask, blocking: Mask) -> NodeUnits:
    """The slots of the snapshot hold pods: they neither order groups by importance nor keep them whole, and
    know no what-if."""
    where, nodes = ask.view.where, np.flatnonzero(running)
    rows = np.flatnonzero(evictable & (running > 0)[where])
    rows = rows[units.order_within(units.of_pod[rows], where[rows])]
    # A pair is a unit on one node; several pods, one after the other, may be of the same pair.
    begins = np.flatnonzero(
        np.diff(where[rows], prepend=NOWHERE) | np.diff(units.of_pod[rows], prepend=NOWHERE)
    )
    first = rows[begins]
    unit, node = units.of_pod[first], np.searchsorted(nodes, where[first])  # [pair]
    requests = ask.view.pods.requests[counted_resources(ask)][:, rows]
    freed = np.add.reduceat(requests, begins, axis=1)  # [requested resource, pair]
    blocks = np.logical_or.reduceat(blocking[rows], begins)  # [pair]
    counts = np.bincount(node, minlength=len(nodes))
    table = np.full((int(counts.max(initial=0)), len(nodes)), NO_POD, np.int64)  # [slot, node] the pair there
    table[_turns(counts), node] = np.arange(len(node))  # they are in order by node
    there = table != NO_POD
    return NodeUnits(nodes, there, unit[table], freed[:, table] * there, there & blocks[table])


def _turns(times: Ints) -> Ints:
    """0, 1, … for each entry in turn, as often as it says: [2, 0, 3] gives [0, 1, 0, 1, 2]."""
    return np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)


def counted_resources(ask: Ask) -> list[int]:
    """The resources (rows) that the pod requests, as far as they count."""
    names, wanted = ask.view.axis.names, np.flatnonzero(ask.view.pods.requests[:, ask.pod])
    return [int(row) for row in wanted if not is_ignored(names[row], ask.profile)]


# --- what they are charged to --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class NodeCharges:
    """What budgets, or gangs, are charged with if units on a node go.

    Plans are made for one node each, so every node has accounts of its own: an account is one budget (or
    gang) as a plan on one node charges it. A unit that goes takes its pods on other nodes along, and they are
    charged too. A unit has as many charges as budgets select pods of it; where it has fewer than others, the
    rest is to the last account, which is for none and allows any number.
    """

    nodes: Ints  # [account] the place of its node among those of the units
    allowed: Ints  # [account] how many disruptions its budget allows
    running: Ints  # [account] pods of its gang; zero for a budget
    going: Ints  # [account] pods, if all units on its node go
    account: Ints  # [charge, slot, node]
    pods: Ints  # [charge, slot, node] of the unit in this slot, that the account is charged with
    beyond: Mask  # [node] a unit has more charges than there is room for here

    @property
    def alone(self) -> Ints:
        """[slot, node] by how many pods budgets are exceeded if no other unit goes."""
        alone: Ints = np.maximum(self.pods - self.allowed[self.account], 0).sum(axis=0)
        return alone

    @property
    def breaks(self) -> Mask:
        """[slot, node] whether a budget of the unit is exceeded if all units on its node go."""
        exceeded: Mask = self.going > self.allowed
        breaks: Mask = np.logical_or.reduce(exceeded[self.account], axis=0)
        return breaks

    @property
    def in_danger(self) -> Mask:
        """[node] whether a budget is exceeded if all units there go."""
        in_danger = np.zeros(len(self.beyond), np.bool_)
        in_danger[self.nodes[:-1][(self.going > self.allowed)[:-1]]] = True
        return in_danger

    @property
    def allowances(self) -> Ints:
        """[node] how many disruptions all budgets that select a pod there allow."""
        sums = np.zeros(len(self.beyond), np.int64)
        np.add.at(sums, self.nodes[:-1], self.allowed[:-1])
        return sums


def charges_of(node_units: NodeUnits, shares: UnitShares) -> NodeCharges:
    shape = node_units.there.shape
    if not shares:
        none = np.zeros((0, *shape), np.int64)
        to_none = _NO_ACCOUNT, _NO_ACCOUNT + _UNLIMITED, _NO_ACCOUNT, _NO_ACCOUNT
        return NodeCharges(*to_none, none, none, np.zeros(shape[1], np.bool_))
    accounts, width = shares.accounts, shares.accounts.width
    slot, node = np.nonzero(node_units.there)  # [pair] of a unit and a node
    unit = node_units.units[slot, node]
    # Shares are in order by unit: those of one unit are entries from ``first`` to ``last``.
    first, last = (np.searchsorted(shares.unit, unit, side) for side in ("left", "right"))
    times = last - first  # [pair] how many charges it has
    pair, charge = np.repeat(np.arange(len(unit)), times), _turns(times)  # [entry]
    share = first[pair] + charge  # [entry] which of the shares
    keys, account = np.unique(node[pair] * width + shares.account[share], return_inverse=True)
    most = min(_MOST_CHARGES, int(times.max(initial=0)))
    held, shape = charge < most, (most, *shape)
    at = charge[held], slot[pair[held]], node[pair[held]]
    account_table, pods_table = np.full(shape, len(keys)), np.zeros(shape, np.int64)
    account_table[at], pods_table[at] = account[held], shares.pods[share[held]]
    beyond = np.zeros(len(node_units.nodes), np.bool_)
    beyond[node[times > most]] = True
    return NodeCharges(
        nodes=np.append(keys // width, 0),
        allowed=np.append(accounts.allowances()[keys % width], _UNLIMITED),
        running=np.append(accounts.sizes()[keys % width], 0),
        going=np.bincount(account, shares.pods[share], len(keys) + 1).astype(np.int64),
        account=account_table,
        pods=pods_table,
        beyond=beyond,
    )


# --- which nodes ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PotentialNodes:
    """All nodes where there may be a plan for one pod."""

    question: Question
    evictable: Evictable
    node_units: NodeUnits
    left: Ints  # [requested resource, node of the units] if the demand came and no unit went; negative: short
    by_room: Mask  # [node of the cluster] nothing but room and ports is missing there
    is_clear: Mask  # [node of the cluster] nor anything else but that certain pods there are gone
    shares: UnitShares
    upstream_shares: UnitShares  # as kube-scheduler reads budgets
    gangs: UnitShares | None  # what units are to gangs that should keep the pods they need; None: to none

    def on(self, chosen: Mask | None) -> "PotentialNodes":
        """``chosen``: [node of the units]. None: all of them."""
        if chosen is None:
            return self
        return replace(self, node_units=self.node_units.on(chosen), left=self.left[:, chosen])


def potential_nodes_of(question: Question, evictable: Evictable) -> PotentialNodes:
    demand, view, units = question.demand, question.view, evictable.units
    going = _pods_of(units, evictable.allowed)  # [pod]
    ask, curable = Ask(view, demand.pods[0], question.profile), question.found.curable()
    special, unclear = np.zeros(len(going), np.bool_), np.zeros(len(curable), np.bool_)
    by_room = ~unclear
    if evictable.matter.any():
        matter = going & _pods_of(units, units.with_any(evictable.matter))
        by_room = ~(curable & (_by_node(view, matter) > 0))
        # What pods do to the demand from afar is not known in columns: a plan there must be made to tell.
        special = matter & (not _matter_on_their_node(ask, demand.constraints))
        unclear = curable & (_by_node(view, special) > 0)
    running, blocking = _by_node(view, going) * curable, _blocking(ask, demand.constraints)
    node_units = units_on(running, ask, units, going, blocking)
    if special.any() or np.count_nonzero(node_units.there) != running.sum():
        emptied = without(view, np.flatnonzero(going & ~special), rated=False)
    else:  # each pod that may go has a slot of its own
        emptied = _emptied(ask, node_units, going)
    usable = survey(replace(ask, view=emptied), demand.constraints, curable).feasible | unclear
    if not usable[node_units.nodes].all():
        node_units = node_units.on(usable[node_units.nodes])
    shares, upstream, gangs = evictable.shares, evictable.upstream, evictable.gangs
    is_same = upstream is None or upstream.accounts is evictable.accounts
    return PotentialNodes(
        question,
        evictable,
        node_units,
        left=_left(ask, node_units.nodes),
        by_room=by_room,
        is_clear=~unclear,
        shares=shares,
        upstream_shares=shares if upstream is None or is_same else shares_of(units, upstream.accounts),
        gangs=shares_of(units, gangs) if gangs is not None else None,
    )


def _emptied(ask: Ask, node_units: NodeUnits, going: Mask) -> Snapshot:
    """The cluster without all of the units, as far as it is asked whether the demand has room there.

    What they free is known. ``requested`` is right for no other nodes, and for no other resources.
    """
    view, requested = ask.view, ask.view.requested.copy()
    for resource, freed in zip(counted_resources(ask), np.add.reduce(node_units.freed, axis=1), strict=True):
        requested[resource, node_units.nodes] -= freed
    where = np.where(going, NOWHERE, view.where)
    return replace(view, where=sealed(where), requested=sealed(requested), cached_scores=WhatIfScores())


def _pods_of(units: Units, chosen: Mask) -> Mask:
    """[pod] whether its unit is chosen ([unit])."""
    mask: Mask = (units.of_pod != NOWHERE) & chosen[units.of_pod]
    return mask


def _by_node(view: Snapshot, pods: Mask) -> Ints:
    """[node of the cluster] how many of the pods run there."""
    return np.bincount(view.where[pods], minlength=len(view.nodes))


def _blocking(ask: Ask, constraints: tuple[Constraint, ...]) -> Mask:
    """[pod] whether it keeps the demand from its node: by a port that it needs, or by anti-affinity."""
    blocking = np.zeros(len(ask.view.pods), np.bool_)
    for wanted in ask.shape.ports if host_ports in constraints else ():
        blocking[ask.view.pods.holders().of_port(wanted)] = True
    for topology_key, pods in kept_apart(ask) if pod_affinity in constraints else ():
        labelled = ask.view.nodes.label(topology_key).codes != 0
        blocking[pods[labelled[ask.view.where[pods]]]] = True
    return blocking


def _matter_on_their_node(ask: Ask, constraints: tuple[Constraint, ...]) -> bool:
    """Whether pods matter beyond room and ports only by keeping the demand from the node that they run on.

    That is so with anti-affinity within a host: then they block it, and no more is to be known of them.
    """
    shape, nodes = ask.shape, ask.view.nodes
    if shape.affinity or shape.claims or shape.disks or shape.inline_volumes:
        return False
    if pod_affinity not in constraints or any(spread_rules_of(ask, required=True)):
        return False
    return all(_is_one_node_each(nodes.label(key)) for key in {key for key, _ in kept_apart(ask)})


def _is_one_node_each(label: Column[str | None]) -> bool:
    """Whether no two nodes have the same value; the code 0 is that of its absence."""
    return bool(np.bincount(label.codes)[1:].max(initial=0) <= 1)


def _left(ask: Ask, nodes: Ints) -> Ints:
    """[requested resource, node] what would be left if the demand came and no unit went."""
    view, wanted = ask.view, counted_resources(ask)
    left: Ints = view.allocatable[wanted] - view.requested[wanted]
    left -= view.pods.requests[wanted, ask.pod][:, None]
    return left[:, nodes]
