"""Which units are reprieved on each node if a pod comes there? For all nodes at once, in columns.

The same steps as in ``domain_plan``, where nothing but room, ports, budgets and gangs matters: room only ever
gets less and budgets are only ever exceeded by less, so each unit needs to be tried once in every step.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask, mask_of
from reprieve.model.snapshot import NOWHERE, sums_by_node
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.criteria import Candidates, Combined, Criterion
from reprieve.preemption.policy import BudgetCounting, Question
from reprieve.preemption.potential_nodes import NodeCharges, NodeUnits, PotentialNodes, charges_of
from reprieve.preemption.prices import Evictable
from reprieve.preemption.units import Units

NO_CEILING = -np.inf


@dataclass(frozen=True, slots=True, eq=False)
class NodeOutcome:
    """The victims on some nodes, once units were reprieved there in some order."""

    nodes: Ints  # [node] its place among those of the units
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
    """With how many pods accounts are charged, while units are put back."""

    def __init__(self, charges: NodeCharges) -> None:
        self.charges, self.going = charges, charges.going.copy()

    def is_exceeded(self, at: Ints) -> Mask:
        """[node] whether one of the accounts ``at`` [charge, node] is charged with more than it allows."""
        exceeded: Mask = np.logical_or.reduce(self.going[at] > self.charges.allowed[at], axis=0)
        return exceeded


class _Reprieve:
    """All units are gone at first, and are put back slot by slot, where the demand still fits.

    An order of slots is ``[turn, node]``: on each node, which slot is tried in this turn.
    """

    def __init__(self, node_units: NodeUnits, charges: NodeCharges, left: Ints) -> None:
        """``left``: [requested resource, node] if the demand came and no unit went."""
        self._budgets, self._there = _Meter(charges), node_units.there
        self._freed, self._blocks = node_units.freed, node_units.blocks
        self._left = left + np.add.reduce(self._freed, axis=1)  # [requested resource, node] as things are now
        self._stays = np.zeros(self._there.shape, np.bool_)

    def put_back_breakers(self, order: Ints) -> None:
        """Put back units by which budgets are exceeded, as long as they are, in this order of slots."""
        if (self._budgets.going > self._budgets.charges.allowed).any():
            self._try(order, self._budgets)

    def put_back_needed(self, gangs: NodeCharges, order: Ints) -> None:
        """Put back units that gangs need, as long as these have too few pods, in this order of slots."""
        self._try(order, _Meter(gangs))

    def put_back(self, order: Ints | None = None) -> None:
        """Put back whichever units still fit, in this order of slots; None: the most important first."""
        self._try(order, None)

    def _try(self, order: Ints | None, only: _Meter | None) -> None:
        """``only``: of the units, those that are charged to an account that is exceeded."""
        may, freed, stays = self._there & ~self._stays & ~self._blocks, self._freed, self._stays
        if order is not None:  # from here on [turn, node] instead of [slot, node]
            freed = np.take_along_axis(freed, order[None], axis=1)
            stays, may = (np.take_along_axis(mask, order, axis=0) for mask in (stays, may))
        meters = [self._budgets] if only is None or only is self._budgets else [self._budgets, only]
        charged = [(meter, *_in_order(meter.charges, order)) for meter in meters]
        for turn in range(len(may)):
            returns = may[turn] & (self._left >= freed[:, turn]).all(axis=0)  # [node]
            if only is not None:
                returns &= only.is_exceeded(charged[-1][1][:, turn])
            self._left -= freed[:, turn] * returns
            for meter, account, pods in charged:
                if len(account):
                    # Each node has accounts of its own, so none is named twice but the last, which is for
                    # none.
                    meter.going[account[:, turn]] -= pods[:, turn] * returns
            stays[turn] |= returns
        if order is not None:
            np.put_along_axis(self._stays, order, stays, axis=0)

    def keep_above_ceiling(self, priority: Ints) -> Floats:
        """Put back all units above the lowest priority that leaves enough room, and return that: [node].

        priority  [slot, node]
        """
        gone = self._there & ~self._stays
        ceiling, left = np.full(priority.shape[1], NO_CEILING), self._left.copy()
        # From the most important unit on, units return in thought; the first that cannot is at the ceiling.
        is_open = np.ones(len(ceiling), np.bool_)  # [node] all units so far could return
        for slot, more in enumerate(gone):
            left -= self._freed[:, slot] * more
            ceiling = np.where(more & is_open, priority[slot], ceiling)
            is_open &= ~(more & (self._blocks[slot] | (left < 0).any(axis=0)))
        above = gone & (priority > ceiling)  # those at the ceiling itself are tried one by one later
        self._stays |= above
        self._left -= (self._freed * above).sum(axis=1)
        charges, going = self._budgets.charges, self._budgets.going
        back = np.bincount(charges.account[:, above].ravel(), charges.pods[:, above].ravel(), len(going))
        going -= back.astype(np.int64)
        return ceiling

    @property
    def victims(self) -> Mask:
        """[slot, node]"""
        return self._there & ~self._stays

    def outcome(self, ceiling: Floats) -> NodeOutcome:
        charges = self._budgets.charges
        excess = np.maximum(self._budgets.going - charges.allowed, 0)
        broken = np.bincount(charges.nodes, excess, len(ceiling)).astype(np.int64)
        return NodeOutcome(np.arange(len(ceiling)), self.victims, broken, ceiling)


def _in_order(charges: NodeCharges, order: Ints | None) -> tuple[Ints, Ints]:
    """[charge, turn, node] accounts, and pods."""
    if order is None:
        return charges.account, charges.pods
    account, pods = (np.take_along_axis(one, order[None], axis=1) for one in (charges.account, charges.pods))
    return account, pods


def reprieved(
    node_units: NodeUnits, charges: NodeCharges, left: Ints, priority: Ints, needed: "Needed | None" = None
) -> NodeOutcome:
    """Units that break budgets first, then all above a ceiling, and of the others whichever still fit.

    ``needed``: before all of them, those that gangs need.
    """
    reprieve = _Reprieve(node_units, charges, left)
    if needed is not None:
        reprieve.put_back_needed(needed.gangs, needed.order)
    there = reprieve.victims
    if not charges.in_danger.any():
        # No order by budgets differs from that of importance, and one pass does all of the steps below: the
        # first unit that does not fit is at the ceiling.
        reprieve.put_back()
        return reprieve.outcome(_highest(reprieve.victims, there, priority))
    # [turn, node] by how much each exceeds budgets alone; of equal ones the most important first.
    worst_first = np.argsort(-charges.alone, axis=0, kind="stable")
    reprieve.put_back_breakers(worst_first)
    ceiling = reprieve.keep_above_ceiling(priority)
    reprieve.put_back_breakers(worst_first)
    reprieve.put_back()
    return reprieve.outcome(ceiling)


@dataclass(frozen=True, slots=True, eq=False)
class Needed:
    """Units that are put back before all others, so that gangs keep the pods they need."""

    gangs: NodeCharges  # how many pods each of them can lose
    order: Ints  # [turn, node] the slots in which pods that gangs need are put back


def _highest(victims: Mask, there: Mask, priority: Ints) -> Floats:
    """[node] the priority of its most important victim; if it has none, that of the last unit that could be
    one."""
    highest = np.where(victims, priority, NO_CEILING).max(axis=0, initial=NO_CEILING)
    lowest = np.where(there, priority, np.inf).min(axis=0, initial=np.inf)
    ceiling: Floats = np.where(victims.any(axis=0) | ~there.any(axis=0), highest, lowest)
    return ceiling


def reprieved_in_turn(node_units: NodeUnits, charges: NodeCharges, left: Ints, order: Ints) -> NodeOutcome:
    """Put back each unit that fits, in this order of slots ([turn, node]), and nothing else matters."""
    reprieve = _Reprieve(node_units, charges, left)
    reprieve.put_back(order)
    return reprieve.outcome(np.full(len(node_units.nodes), NO_CEILING))


def slots_in_order(node_units: NodeUnits) -> Ints:
    """[turn, node] the slots, the most important unit first."""
    return np.repeat(np.arange(len(node_units.there))[:, None], len(node_units.nodes), axis=1)


def gangs_broken_on(node_units: NodeUnits, gangs: NodeCharges, outcome: NodeOutcome) -> tuple[Ints, Ints]:
    """[node of the outcome] how many gangs have too few pods left, and how many pods these have."""
    account, pods = gangs.account[..., outcome.nodes], gangs.pods[..., outcome.nodes] * outcome.victims
    going = np.bincount(account.ravel(), pods.ravel(), len(gangs.allowed))  # [account]
    too_many = going > gangs.allowed
    idle = np.bincount(gangs.nodes, too_many * (gangs.running - going), len(node_units.nodes))
    broken = np.bincount(gangs.nodes, too_many, len(node_units.nodes))
    return broken[outcome.nodes].astype(np.int64), idle[outcome.nodes].astype(np.int64)


# --- in which order ------------------------------------------------------------------------------


def first_to_last(node_units: NodeUnits, charges: NodeCharges) -> Ints:
    """[turn, node] the slots in which units are tried, as long as none is reprieved.

    Those that break budgets come first, the one that exceeds them the most before all others.
    """
    breaks = charges.breaks
    return np.lexsort((np.where(breaks, -charges.alone, 0), ~breaks, ~node_units.there), axis=0)


def first_to_last_in_order(node_units: NodeUnits, charges: NodeCharges, place: Ints) -> Ints:
    """[turn, node] the slots in which kube-scheduler tries units: it charges budgets in order, not jointly.

    place  [slot, node]  of the unit in the order of importance
    """
    breaks, everywhere = np.zeros(node_units.there.shape, np.bool_), np.arange(len(node_units.nodes))
    rest = charges.allowed.copy()  # [account] what those before have not used up
    for slot in np.argsort(place, axis=0, kind="stable"):  # [node] the slot whose turn it is
        account, pods = charges.account[:, slot, everywhere], charges.pods[:, slot, everywhere]
        breaks[slot, everywhere] = (pods > np.maximum(rest[account], 0)).any(axis=0)
        rest[account] -= pods
    return np.lexsort((place, ~breaks, ~node_units.there), axis=0)


def smallest_first(node_units: NodeUnits, sizes: Ints) -> Ints:
    """[turn, node] the slots by the size of their units, of equal ones the more important first.

    sizes  [resource, unit]
    """
    keys = [amounts[node_units.units] for amounts in sizes[::-1]]
    return np.lexsort((slots_in_order(node_units), *keys, ~node_units.there), axis=0)


def differ(node_units: NodeUnits, one: Ints, other: Ints) -> Mask:
    """[node] whether two orders of slots differ; slots without a unit come last in both."""
    counted = np.arange(len(node_units.there))[:, None] < node_units.there.sum(axis=0)
    differing: Mask = ((one != other) & counted).any(axis=0)
    return differing


@dataclass(frozen=True, eq=False)
class ClearNodes:
    """Nodes where nothing but room, ports, budgets and gangs matters."""

    potential: PotentialNodes
    charges: NodeCharges  # of budgets
    gangs: NodeCharges | None

    @classmethod
    def of(cls, potential: PotentialNodes) -> "ClearNodes":
        gangs = charges_of(potential.node_units, potential.gangs) if potential.gangs is not None else None
        return cls(potential, charges_of(potential.node_units, potential.shares), gangs)

    @property
    def question(self) -> Question:
        return self.potential.question

    @property
    def evictable(self) -> Evictable:
        return self.potential.evictable

    @property
    def node_units(self) -> NodeUnits:
        return self.potential.node_units

    def by_importance(self, needed: Needed | None = None) -> NodeOutcome:
        priority = self.evictable.units.priority[self.node_units.units]
        return reprieved(self.node_units, self.charges, self.potential.left, priority, needed)

    def gangs_broken(self, outcome: NodeOutcome) -> tuple[Ints, Ints]:
        """[node of the outcome] how many gangs have too few pods left, and how many pods these have."""
        if self.gangs is None:
            none = np.zeros(len(outcome.nodes), np.int64)
            return none, none
        return gangs_broken_on(self.node_units, self.gangs, outcome)

    def ends_gangs(self, outcome: NodeOutcome) -> Mask:
        """[node of the outcome] whether a gang has too few pods left."""
        ends: Mask = self.gangs_broken(outcome)[0] > 0
        return ends

    @cached_property
    def has_trees(self) -> Mask:
        """[node] whether pods elsewhere may run on for nothing, because of gangs around gangs."""
        gangs = self.evictable.gangs
        if gangs is None or not gangs.in_tree.any():
            return np.zeros(len(self.node_units.nodes), np.bool_)
        units = self.evictable.units.with_any(gangs.in_tree[gangs.of_pod])
        found: Mask = np.logical_or.reduce(self.node_units.there & units[self.node_units.units], axis=0)
        return found

    def as_upstream(
        self, is_known: Mask, contested: Mask, otherwise: Mask
    ) -> tuple[Mask, tuple[NodeOutcome, ...]]:
        """On which nodes plans are still known, and what kube-scheduler's order of reprieves gives there.

        is_known   [node] the plan in our own order is known
        contested  [node] kube-scheduler may have another order: budgets are in danger, or ranks differ
        otherwise  [node] ranks differ
        """
        node_units, upstream = self.node_units, self.evictable.upstream
        if upstream is None or not (is_known & contested).any():
            return is_known, ()
        is_same = self.potential.upstream_shares is self.potential.shares
        theirs = self.charges if is_same else charges_of(node_units, self.potential.upstream_shares)
        unclear = theirs.beyond | _charged_twice(node_units, self.evictable.units, upstream.accounts)
        is_known = is_known & (~contested | ~unclear)
        place = slots_in_order(node_units)
        if otherwise.any():
            slot, node = np.nonzero(node_units.there & otherwise)
            order = upstream.units.order_within(node_units.units[slot, node], node)
            place = np.full(place.shape, len(order))
            place[slot[order], node[order]] = np.arange(len(order))
        order = first_to_last_in_order(node_units, theirs, place)
        tried = is_known & contested & differ(node_units, order, first_to_last(node_units, self.charges))
        return is_known, (reprieved_in_turn(node_units, self.charges, self.potential.left, order).on(tried),)

    def sparing_gangs(self, gangs: NodeCharges, where: Mask) -> Iterator[NodeOutcome]:
        """What is left to evict if the pods that gangs need are put back first; ``where``: [node].

        The most important of these go first; where that is not enough for all gangs, also the smallest.
        """
        node_units, order = self.node_units, slots_in_order(self.node_units)
        for by_size in (False, True):
            if not where.any():
                return
            order = smallest_first(node_units, _sizes(self.evictable.units)) if by_size else order
            outcome = self.by_importance(Needed(gangs, order)).on(where)
            yield outcome
            where = mask_of(outcome.nodes[self.ends_gangs(outcome)], len(where))

    def candidates(self, outcome: NodeOutcome, *, exactly: bool = False) -> Candidates:
        """``exactly``: with what victims cost by all criteria, not only where that is quick to have."""
        units, prices, gone = self.evictable.units, self.evictable.prices, outcome.victims
        count, unit = gone.sum(axis=0), self.node_units.units
        if len(outcome.nodes) != unit.shape[1]:
            unit = unit[:, outcome.nodes]
        victims = unit[gone]
        broken, idle = self.gangs_broken(outcome)

        def alone(criterion: Criterion) -> Ints | Floats:
            going = (prices.alone if exactly else prices.alone_at_least)(criterion, victims)
            if criterion.combined is Combined.HIGHEST:
                highest = np.zeros(unit.shape)
                highest[gone] = going
                return highest
            costs = np.zeros(unit.shape, np.int64)
            costs[gone] = going
            return costs

        return Candidates(
            nodes=self.node_units.nodes[outcome.nodes],
            priority=units.priority[unit],
            start=units.start[unit],
            possible=gone,
            certain=gone,
            fewest=count,
            ceiling=np.full(len(count), -np.inf),
            within_budgets=count - outcome.broken,
            idle=idle,
            groups_broken=broken,
            alone=alone,
        )


def outcomes_on(clear: ClearNodes) -> tuple[NodeOutcome, ...]:
    """The victims by our own order of reprieves, by kube-scheduler's, and by orders that spare gangs.

    Of the last two, only those on nodes where they can differ from our own.
    """
    question, node_units, charges = clear.question, clear.node_units, clear.charges
    ours, policy = clear.by_importance(), question.policy
    otherwise = _ranked_otherwise(node_units, clear.evictable)
    contested = charges.in_danger | otherwise  # [node]
    is_known = ~charges.beyond & ~clear.has_trees & (clear.evictable.prices.others is None)  # [node]
    if not policy.search.has_ceiling:
        return (ours.on(is_known & ~contested).without_ceiling(),)
    if policy.budgets is BudgetCounting.UPSTREAM:
        is_known &= ~contested
    is_known, theirs = clear.as_upstream(is_known, contested, otherwise)
    if clear.gangs is None:
        return ours.on(is_known), *theirs
    ends_gangs = clear.ends_gangs(ours)
    for other in theirs:
        # ``domain_plan`` looks for a plan that spares gangs if this one wins and ends some; here, it may
        # lose.
        worse = other.nodes[clear.ends_gangs(other)]
        is_known = is_known & (ends_gangs | ~mask_of(worse, len(node_units.nodes)))
    theirs = tuple(other.on(is_known[other.nodes]) for other in theirs)
    return ours.on(is_known), *theirs, *clear.sparing_gangs(clear.gangs, is_known & ends_gangs)


def _sizes(units: Units) -> Ints:
    """[resource, unit] what its pods request, wherever they are."""
    running = np.flatnonzero(units.of_pod != NOWHERE)
    requests = units.view.pods.requests[:, running]
    return sums_by_node(requests, units.of_pod[running], len(units.priority))


def _ranked_otherwise(node_units: NodeUnits, evictable: Evictable) -> Mask:
    """[node] whether kube-scheduler has another order of importance for one of the units."""
    if evictable.upstream is None:
        return np.zeros(len(node_units.nodes), np.bool_)
    otherwise = evictable.upstream.units.kind != evictable.units.kind
    contested: Mask = (node_units.there & otherwise[node_units.units]).any(axis=0)
    return contested


def _charged_twice(node_units: NodeUnits, units: Units, accounts: Accounts) -> Mask:
    """[node] whether a pod of a unit is charged to several budgets: then the order of its pods matters."""
    twice = np.zeros(len(units.of_pod), np.bool_)
    twice[accounts.pods[1:][accounts.pods[1:] == accounts.pods[:-1]]] = True
    found: Mask = np.logical_or.reduce(node_units.there & units.with_any(twice)[node_units.units], axis=0)
    return found
