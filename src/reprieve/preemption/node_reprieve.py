"""Which units are reprieved on each node if a pod comes there? For all nodes at once, in columns.

The same steps as in ``domain_plan``, where nothing but room, ports and budgets matters: room only ever gets
less and budgets are only ever exceeded by less, so each unit needs to be tried once in every step. Which
nodes are looked at, and which plan wins, is not known here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.pods_by_importance import NO_POD
from reprieve.preemption.tenants import Charges, Tenants

NO_CEILING = -np.inf


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    nodes: Ints  # places among the nodes of the tenants
    victims: Mask  # [slot, node]
    broken: Ints  # [node] pods beyond what budgets allow
    ceiling: Floats  # [node] see ``Plan``, or NO_CEILING

    def on(self, chosen: Mask) -> "Outcome":
        return Outcome(self.nodes[chosen], self.victims[:, chosen], self.broken[chosen], self.ceiling[chosen])

    def without_ceiling(self) -> "Outcome":
        return replace(self, ceiling=np.full(len(self.nodes), NO_CEILING))


class _Reprieve:
    """All tenants are gone at first, and are put back slot by slot, where the demand still fits."""

    def __init__(self, tenants: Tenants, charges: Charges, left: Ints) -> None:
        """``left``: [requested resource, node] if the demand came and no tenant went."""
        self._tenants, self._charges = tenants, charges
        self._there, self._everywhere = tenants.there, np.arange(len(tenants.nodes))
        self._left = left + (tenants.room[:, tenants.table] * self._there).sum(axis=1)
        self._going = charges.going.copy()
        self._stays = np.zeros(tenants.table.shape, np.bool_)

    def put_back_breakers(self, order: Ints) -> None:
        """Those by which budgets are exceeded, in this order of slots."""
        if (self._going > self._charges.allowed).any():
            self._try(order, self._breaks)

    def put_back(self, order: Ints) -> None:
        self._try(order, lambda _: np.ones(len(self._everywhere), np.bool_))

    def _try(self, order: Ints, may: Callable[[Ints], Mask]) -> None:
        tenants = self._tenants
        for slot in order:
            tenant = tenants.table[slot, self._everywhere]
            fits = (self._left >= tenants.room[:, tenant]).all(axis=0) & ~tenants.blocks[tenant]
            self._return(slot, fits & may(slot))

    def _breaks(self, slot: Ints) -> Mask:
        account = self._charges.account[:, slot, self._everywhere]
        exceeded = self._going[account] > self._charges.allowed[account]
        breaks: Mask = np.logical_or.reduce(exceeded, axis=0)
        return breaks

    def _return(self, slot: Ints, chosen: Mask) -> None:
        new = chosen & self._there[slot, self._everywhere] & ~self._stays[slot, self._everywhere]
        self._stays[slot, self._everywhere] |= new
        self._left -= self._tenants.room[:, self._tenants.table[slot, self._everywhere]] * new
        account = self._charges.account[:, slot, self._everywhere]
        self._going[account] -= self._charges.pods[:, slot, self._everywhere] * new

    def keep_above_ceiling(self, priority: Ints) -> Floats:
        """The lowest priority that leaves enough room if no tenant above it goes; and none above it does."""
        tenants, left = self._tenants, self._left.copy()
        ceiling = np.full(len(self._everywhere), NO_CEILING)
        is_open = np.ones(len(ceiling), np.bool_)
        for turn, tenant in enumerate(tenants.table):
            more = self._there[turn] & ~self._stays[turn] & is_open
            left -= tenants.room[:, tenant] * more
            ceiling[more] = priority[turn, more]
            is_open &= ~(more & (tenants.blocks[tenant] | (left < 0).any(axis=0)))
        for slot, above in zip(_slots(tenants), priority > ceiling, strict=True):
            self._return(slot, above)
        return ceiling

    def outcome(self, ceiling: Floats) -> Outcome:
        excess = np.maximum(self._going - self._charges.allowed, 0)
        broken = np.bincount(self._charges.nodes, excess, len(self._everywhere)).astype(np.int64)
        return Outcome(self._everywhere, self._there & ~self._stays, broken, ceiling)


def reprieved(tenants: Tenants, charges: Charges, left: Ints, priority: Ints) -> Outcome:
    """Units that break budgets first, then all above a ceiling, and of the others whichever still fit."""
    reprieve, slots = _Reprieve(tenants, charges, left), _slots(tenants)
    harm = np.argsort(-charges.alone, axis=0, kind="stable")
    reprieve.put_back_breakers(harm)
    ceiling = reprieve.keep_above_ceiling(priority)
    reprieve.put_back_breakers(harm)
    reprieve.put_back(slots)
    return reprieve.outcome(ceiling)


def reprieved_in_turn(tenants: Tenants, charges: Charges, left: Ints, order: Ints) -> Outcome:
    """Each unit that fits, in this order of slots."""
    reprieve = _Reprieve(tenants, charges, left)
    reprieve.put_back(order)
    return reprieve.outcome(np.full(len(tenants.nodes), NO_CEILING))


def _slots(tenants: Tenants) -> Ints:
    return np.repeat(np.arange(len(tenants.table))[:, None], len(tenants.nodes), axis=1)


# --- in which order ------------------------------------------------------------------------------


def first_to_last(tenants: Tenants, charges: Charges) -> Ints:
    """[turn, node] the slots in which units are tried, as long as none is reprieved."""
    breaks = charges.breaks(charges.going)
    return np.lexsort((np.where(breaks, -charges.alone, 0), ~breaks, ~tenants.there), axis=0)


def first_to_last_in_order(tenants: Tenants, charges: Charges, place: Ints) -> Ints:
    """The same, if budgets are charged in the order of the places [slot, node], and not jointly."""
    breaks, everywhere = np.zeros(tenants.table.shape, np.bool_), np.arange(len(tenants.nodes))
    rest = charges.allowed.copy()
    for slot in np.argsort(place, axis=0, kind="stable"):
        account, pods = charges.account[:, slot, everywhere], charges.pods[:, slot, everywhere]
        breaks[slot, everywhere] = (pods > np.maximum(rest[account], 0)).any(axis=0)
        rest[account] -= pods
    return np.lexsort((place, ~breaks, ~tenants.there), axis=0)


def differ(tenants: Tenants, one: Ints, other: Ints) -> Mask:
    """[node] whether two orders of slots differ; slots without a tenant come last in both."""
    counted = np.arange(len(tenants.table))[:, None] < (tenants.table != NO_POD).sum(axis=0)
    differing: Mask = ((one != other) & counted).any(axis=0)
    return differing
