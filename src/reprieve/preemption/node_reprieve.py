"""Which units are reprieved on each node if a pod comes there? For all nodes at once, in columns.

The same steps as in ``domain_plan``, where nothing but room, ports and budgets matters: room only ever gets
less and budgets are only ever exceeded by less, so each unit needs to be tried once in every step. Which
nodes are looked at, and which plan wins, is not known here.
"""

from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.tenants import TenantCharges, Tenants

NO_CEILING = -np.inf


@dataclass(frozen=True, slots=True, eq=False)
class NodeOutcome:
    nodes: Ints  # places among the nodes of the tenants
    victims: Mask  # [slot, node]
    broken: Ints  # [node] pods beyond what budgets allow
    ceiling: Floats  # [node] see ``Plan``, or NO_CEILING

    def on(self, chosen: Mask) -> "NodeOutcome":
        if chosen.all():
            return self
        return NodeOutcome(
            self.nodes[chosen], self.victims[:, chosen], self.broken[chosen], self.ceiling[chosen]
        )

    def without_ceiling(self) -> "NodeOutcome":
        return replace(self, ceiling=np.full(len(self.nodes), NO_CEILING))


class _Meter:
    """What accounts are charged with, while tenants are put back."""

    def __init__(self, charges: TenantCharges) -> None:
        self.charges, self.going = charges, charges.going.copy()

    def is_exceeded(self, at: Ints) -> Mask:
        """[node] whether one of these accounts is charged with more than it allows."""
        exceeded: Mask = np.logical_or.reduce(self.going[at] > self.charges.allowed[at], axis=0)
        return exceeded


class _Reprieve:
    """All tenants are gone at first, and are put back slot by slot, where the demand still fits."""

    def __init__(self, tenants: Tenants, charges: TenantCharges, left: Ints) -> None:
        """``left``: [requested resource, node] if the demand came and no tenant went."""
        self._budgets, self._there = _Meter(charges), tenants.there
        self._room, self._blocks = tenants.room, tenants.blocks
        self._left = left + np.add.reduce(self._room, axis=1)
        self._stays = np.zeros(self._there.shape, np.bool_)

    def put_back_breakers(self, order: Ints) -> None:
        """Those by which budgets are exceeded, as long as they are, in this order of slots."""
        if (self._budgets.going > self._budgets.charges.allowed).any():
            self._try(order, self._budgets)

    def put_back_needed(self, gangs: TenantCharges, order: Ints) -> None:
        """Those that their gangs need, as long as these have too few pods, in this order of slots."""
        self._try(order, _Meter(gangs))

    def put_back(self, order: Ints | None = None) -> None:
        """Whichever still fit, in this order of slots; None: the most important first."""
        self._try(order, None)

    def _try(self, order: Ints | None, only: _Meter | None) -> None:
        """``only``: those that are charged to an account that is exceeded."""
        may, room, stays = self._there & ~self._stays & ~self._blocks, self._room, self._stays
        if order is not None:
            room = np.take_along_axis(room, order[None], axis=1)
            stays, may = (np.take_along_axis(mask, order, axis=0) for mask in (stays, may))
        meters = [self._budgets] if only is None or only is self._budgets else [self._budgets, only]
        charged = [(meter, *_in_order(meter.charges, order)) for meter in meters]
        for turn in range(len(may)):
            returns = may[turn] & (self._left >= room[:, turn]).all(axis=0)
            if only is not None:
                returns &= only.is_exceeded(charged[-1][1][:, turn])
            self._left -= room[:, turn] * returns
            for meter, account, pods in charged:
                if len(account):
                    meter.going[account[:, turn]] -= pods[:, turn] * returns
            stays[turn] |= returns
        if order is not None:
            np.put_along_axis(self._stays, order, stays, axis=0)

    def keep_above_ceiling(self, priority: Ints) -> Floats:
        """The lowest priority that leaves enough room if no tenant above it goes; and none above it does."""
        gone = self._there & ~self._stays
        ceiling, left = np.full(priority.shape[1], NO_CEILING), self._left.copy()
        is_open = np.ones(len(ceiling), np.bool_)
        for slot, more in enumerate(gone):
            left -= self._room[:, slot] * more
            ceiling = np.where(more & is_open, priority[slot], ceiling)
            is_open &= ~(more & (self._blocks[slot] | (left < 0).any(axis=0)))
        above = gone & (priority > ceiling)
        self._stays |= above
        self._left -= (self._room * above).sum(axis=1)
        charges, going = self._budgets.charges, self._budgets.going
        back = np.bincount(charges.account[:, above].ravel(), charges.pods[:, above].ravel(), len(going))
        going -= back.astype(np.int64)
        return ceiling

    @property
    def victims(self) -> Mask:
        return self._there & ~self._stays

    def outcome(self, ceiling: Floats) -> NodeOutcome:
        charges = self._budgets.charges
        excess = np.maximum(self._budgets.going - charges.allowed, 0)
        broken = np.bincount(charges.nodes, excess, len(ceiling)).astype(np.int64)
        return NodeOutcome(np.arange(len(ceiling)), self.victims, broken, ceiling)


def _in_order(charges: TenantCharges, order: Ints | None) -> tuple[Ints, Ints]:
    """[charge, turn, node] accounts, and pods."""
    if order is None:
        return charges.account, charges.pods
    account, pods = (np.take_along_axis(one, order[None], axis=1) for one in (charges.account, charges.pods))
    return account, pods


def reprieved(
    tenants: Tenants, charges: TenantCharges, left: Ints, priority: Ints, needed: "Needed | None" = None
) -> NodeOutcome:
    """Units that break budgets first, then all above a ceiling, and of the others whichever still fit.

    ``needed``: before all of them, those that gangs need.
    """
    reprieve = _Reprieve(tenants, charges, left)
    if needed is not None:
        reprieve.put_back_needed(needed.gangs, needed.order)
    there = reprieve.victims
    if not charges.in_danger.any():
        # Units in order of importance are the same: the ceiling is that of the first that does not fit.
        reprieve.put_back()
        return reprieve.outcome(_highest(reprieve.victims, there, priority))
    harm = np.argsort(-charges.alone, axis=0, kind="stable")
    reprieve.put_back_breakers(harm)
    ceiling = reprieve.keep_above_ceiling(priority)
    reprieve.put_back_breakers(harm)
    reprieve.put_back()
    return reprieve.outcome(ceiling)


@dataclass(frozen=True, slots=True, eq=False)
class Needed:
    gangs: TenantCharges  # how many pods each of them can lose
    order: Ints  # [turn, node] the slots in which pods that gangs need are put back


def _highest(victims: Mask, there: Mask, priority: Ints) -> Floats:
    """[node] the priority of its most important victim; if it has none, that of the last unit that could be
    one."""
    highest = np.where(victims, priority, NO_CEILING).max(axis=0, initial=NO_CEILING)
    lowest = np.where(there, priority, np.inf).min(axis=0, initial=np.inf)
    ceiling: Floats = np.where(victims.any(axis=0) | ~there.any(axis=0), highest, lowest)
    return ceiling


def reprieved_in_turn(tenants: Tenants, charges: TenantCharges, left: Ints, order: Ints) -> NodeOutcome:
    """Each unit that fits, in this order of slots."""
    reprieve = _Reprieve(tenants, charges, left)
    reprieve.put_back(order)
    return reprieve.outcome(np.full(len(tenants.nodes), NO_CEILING))


def slots_of(tenants: Tenants) -> Ints:
    """[turn, node] the slots, the most important unit first."""
    return np.repeat(np.arange(len(tenants.there))[:, None], len(tenants.nodes), axis=1)


def starving(tenants: Tenants, gangs: TenantCharges, outcome: NodeOutcome) -> tuple[Ints, Ints]:
    """[node of the outcome] how many pods of gangs with too few pods are left, and how many such gangs."""
    account, pods = gangs.account[..., outcome.nodes], gangs.pods[..., outcome.nodes] * outcome.victims
    going = np.bincount(account.ravel(), pods.ravel(), len(gangs.allowed))
    too_many = going > gangs.allowed
    idle = np.bincount(gangs.nodes, too_many * (gangs.running - going), len(tenants.nodes))
    starved = np.bincount(gangs.nodes, too_many, len(tenants.nodes))
    return idle[outcome.nodes].astype(np.int64), starved[outcome.nodes].astype(np.int64)


# --- in which order ------------------------------------------------------------------------------


def first_to_last(tenants: Tenants, charges: TenantCharges) -> Ints:
    """[turn, node] the slots in which units are tried, as long as none is reprieved."""
    breaks = charges.breaks(charges.going)
    return np.lexsort((np.where(breaks, -charges.alone, 0), ~breaks, ~tenants.there), axis=0)


def first_to_last_in_order(tenants: Tenants, charges: TenantCharges, place: Ints) -> Ints:
    """The same, if budgets are charged in the order of the places [slot, node], and not jointly."""
    breaks, everywhere = np.zeros(tenants.there.shape, np.bool_), np.arange(len(tenants.nodes))
    rest = charges.allowed.copy()
    for slot in np.argsort(place, axis=0, kind="stable"):
        account, pods = charges.account[:, slot, everywhere], charges.pods[:, slot, everywhere]
        breaks[slot, everywhere] = (pods > np.maximum(rest[account], 0)).any(axis=0)
        rest[account] -= pods
    return np.lexsort((place, ~breaks, ~tenants.there), axis=0)


def smallest_first(tenants: Tenants, sizes: Ints) -> Ints:
    """[turn, node] the slots by the size of their units, of equal ones the more important first.

    ``sizes``: [resource, unit].
    """
    keys = [amounts[tenants.units] for amounts in sizes[::-1]]
    return np.lexsort((slots_of(tenants), *keys, ~tenants.there), axis=0)


def differ(tenants: Tenants, one: Ints, other: Ints) -> Mask:
    """[node] whether two orders of slots differ; slots without a tenant come last in both."""
    counted = np.arange(len(tenants.there))[:, None] < tenants.there.sum(axis=0)
    differing: Mask = ((one != other) & counted).any(axis=0)
    return differing
