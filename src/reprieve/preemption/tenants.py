"""Which units are on which nodes, what room each uses there, and which budgets it is charged to?

A tenant is a unit on one node. Tenants are columns, so that all nodes can be looked at together. Which of
them are evicted is not known here.
"""

from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.pods_by_importance import NO_POD
from reprieve.model.snapshot import sums_by_node
from reprieve.placement.constraints.resources import is_ignored
from reprieve.placement.demand import Ask
from reprieve.preemption.budgets import UnitShares
from reprieve.preemption.units import Units

_MOST_CHARGES = 16  # budgets that a unit may be charged to in columns; with more, its nodes are ``beyond``
_UNLIMITED = np.iinfo(np.int64).max
_LAST = np.zeros(1, np.int64)  # the account for none, alone


@dataclass(frozen=True, slots=True, eq=False)
class Tenants:
    """On each node the most important first, in slots; there may be empty slots between them."""

    nodes: Ints  # rows
    there: Mask  # [slot, node] whether the slot has a tenant
    units: Ints  # [slot, node] numbers of units; any number where there is none
    room: Ints  # [requested resource, slot, node] what the tenant uses there
    blocks: Mask  # [slot, node] the demand cannot run beside the tenant, however much room there is

    def on(self, chosen: Mask) -> "Tenants":
        columns = np.flatnonzero(chosen)  # taking these takes half the time of a mask
        return Tenants(
            nodes=self.nodes.take(columns),
            there=self.there.take(columns, axis=1),
            units=self.units.take(columns, axis=1),
            room=self.room.take(columns, axis=2),
            blocks=self.blocks.take(columns, axis=1),
        )


def tenants_on(nodes: Ints, ask: Ask, units: Units, taken: Mask, blocking: Mask) -> Tenants:
    """``taken``: the pods that may be evicted; ``blocking``: those that the demand cannot run beside.

    A pod that only a what-if has put on its node is missing, unless some of the pods are in groups.
    """
    view, wanted = ask.view, asked(ask)
    if (taken & (view.pods.groups.codes != 0)).any():
        return _in_groups(nodes, ask, units, taken, blocking)
    slots = view.slots[:, nodes]
    home = np.append(np.where(taken, view.where, NO_POD), NO_POD)  # the last one stands for NO_POD
    there: Mask = home[slots] == nodes
    room = np.empty((len(wanted), *slots.shape), np.int64)
    for place, resource in enumerate(wanted):
        np.multiply(view.pods.requests[resource][slots], there, out=room[place])
    return Tenants(nodes, there, slots * there, room, there & blocking[slots])


def _in_groups(nodes: Ints, ask: Ask, units: Units, taken: Mask, blocking: Mask) -> Tenants:
    """The slots of the snapshot hold pods: they neither order groups by importance nor keep them whole."""
    where, width = units.view.where, len(units.priority)
    rows = np.flatnonzero(taken & np.isin(where, nodes))
    found, tenant = np.unique(where[rows] * width + units.of_pod[rows], return_inverse=True)
    node, unit = np.searchsorted(nodes, found // width), found % width
    room = sums_by_node(ask.view.pods.requests[asked(ask)][:, rows], tenant, len(found))
    blocks = np.zeros(len(found), np.bool_)
    blocks[tenant[blocking[rows]]] = True
    table = _table(node, units.places(unit), len(nodes))
    there = table != NO_POD
    if not len(found):
        return Tenants(nodes, there, table, np.zeros((len(room), *table.shape), np.int64), there)
    return Tenants(nodes, there, unit[table], room[:, table] * there, there & blocks[table])


def _table(node: Ints, place: Ints, nodes: int) -> Ints:
    """Tenants by node, in the order of their places."""
    order = np.lexsort((place, node))
    counts = np.bincount(node, minlength=nodes)
    slot = np.arange(len(node)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((int(counts.max(initial=0)), nodes), NO_POD, np.int64)
    table[slot, node[order]] = order
    return table


def asked(ask: Ask) -> list[int]:
    """The resources (rows) that the pod requests, as far as they count."""
    names, wanted = ask.view.axis.names, np.flatnonzero(ask.view.pods.requests[:, ask.pod])
    return [int(row) for row in wanted if not is_ignored(names[row], ask.profile)]


# --- budgets -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TenantCharges:
    """What budgets, or gangs, are charged with if tenants go. Each node has accounts of its own.

    A unit that goes takes its pods on other nodes along, and they are charged too.
    """

    nodes: Ints  # [account] the place of its node among those of the tenants; the last account is for none
    allowed: Ints  # [account] how many disruptions its budget allows
    running: Ints  # [account] pods of its gang; zero for a budget
    going: Ints  # [account] pods, if all tenants of its node go
    account: Ints  # [charge, slot, node]
    pods: Ints  # [charge, slot, node]
    beyond: Mask  # [node] a tenant has more charges than there is room for here

    @property
    def alone(self) -> Ints:
        """[slot, node] by how many pods budgets are exceeded if no other tenant goes."""
        alone: Ints = np.maximum(self.pods - self.allowed[self.account], 0).sum(axis=0)
        return alone

    def breaks(self, going: Ints) -> Mask:
        """[slot, node] whether a budget of the tenant is exceeded if so many pods go."""
        exceeded: Mask = going > self.allowed
        breaks: Mask = np.logical_or.reduce(exceeded[self.account], axis=0)
        return breaks

    @property
    def in_danger(self) -> Mask:
        """[node] whether a budget is exceeded if all tenants go."""
        in_danger = np.zeros(len(self.beyond), np.bool_)
        in_danger[self.nodes[:-1][(self.going > self.allowed)[:-1]]] = True
        return in_danger

    @property
    def allowances(self) -> Ints:
        """[node] how many disruptions all budgets that select a pod there allow."""
        sums = np.zeros(len(self.beyond), np.int64)
        np.add.at(sums, self.nodes[:-1], self.allowed[:-1])
        return sums


def charges_of(tenants: Tenants, shares: UnitShares) -> TenantCharges:
    shape = tenants.there.shape
    if not shares:
        none = np.zeros((0, *shape), np.int64)
        to_none = _LAST, _LAST + _UNLIMITED, _LAST, _LAST
        return TenantCharges(*to_none, none, none, np.zeros(shape[1], np.bool_))
    accounts, width, pods = shares.accounts, shares.accounts.width, shares.pods
    slot, node = np.nonzero(tenants.there)
    there = tenants.units[slot, node]
    first, last = (np.searchsorted(shares.unit, there, side) for side in ("left", "right"))
    times = last - first
    tenant = np.repeat(np.arange(len(there)), times)
    turn = np.arange(len(tenant)) - np.repeat(np.cumsum(times) - times, times)
    entry = first[tenant] + turn
    keys, account = np.unique(node[tenant] * width + shares.paying[entry], return_inverse=True)
    most = min(_MOST_CHARGES, int(times.max(initial=0)))
    held, shape = turn < most, (most, *shape)
    at = turn[held], slot[tenant[held]], node[tenant[held]]
    accounts_table, pods_table = np.full(shape, len(keys)), np.zeros(shape, np.int64)
    accounts_table[at], pods_table[at] = account[held], pods[entry[held]]
    beyond = np.zeros(len(tenants.nodes), np.bool_)
    beyond[node[times > most]] = True
    going = np.bincount(account, pods[entry], len(keys) + 1).astype(np.int64)
    return TenantCharges(
        nodes=np.append(keys // width, 0),
        allowed=np.append(accounts.allowances()[keys % width], _UNLIMITED),
        running=np.append(accounts.sizes()[keys % width], 0),
        going=going,
        account=accounts_table,
        pods=pods_table,
        beyond=beyond,
    )
