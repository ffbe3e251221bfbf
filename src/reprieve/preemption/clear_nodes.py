"""Which units are the victims on nodes where nothing but room, ports, budgets and gangs matters?

Worked out for all nodes at once, in each order in which the search within a domain reprieves units.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask, mask_of
from reprieve.model.snapshot import NOWHERE, sums_by_node
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.criteria import Candidates, Combined, Criterion
from reprieve.preemption.node_ground import Ground
from reprieve.preemption.node_reprieve import (
    Needed,
    NodeOutcome,
    differ,
    first_to_last,
    first_to_last_in_order,
    reprieved,
    reprieved_in_turn,
    slots_of,
    smallest_first,
    starving,
)
from reprieve.preemption.policy import BudgetCounting
from reprieve.preemption.question import Question
from reprieve.preemption.takeable import Takeable
from reprieve.preemption.tenants import TenantCharges, Tenants, charges_of
from reprieve.preemption.units import Units


@dataclass(frozen=True, eq=False)
class ClearNodes:
    """Nodes where nothing but room, ports, budgets and gangs matters."""

    ground: Ground
    charges: TenantCharges
    gangs: TenantCharges | None

    @classmethod
    def of(cls, ground: Ground) -> "ClearNodes":
        gangs = charges_of(ground.tenants, ground.gangs) if ground.gangs is not None else None
        return cls(ground, charges_of(ground.tenants, ground.shares), gangs)

    @property
    def question(self) -> Question:
        return self.ground.question

    @property
    def takeable(self) -> Takeable:
        return self.ground.takeable

    @property
    def tenants(self) -> Tenants:
        return self.ground.tenants

    def by_importance(self, needed: Needed | None = None) -> NodeOutcome:
        priority = self.takeable.units.priority[self.tenants.units]
        return reprieved(self.tenants, self.charges, self.ground.left, priority, needed)

    def starved(self, outcome: NodeOutcome) -> Ints:
        """[node of the outcome] how many gangs have too few pods left."""
        if self.gangs is None:
            return np.zeros(len(outcome.nodes), np.int64)
        return starving(self.tenants, self.gangs, outcome)[1]

    @cached_property
    def has_trees(self) -> Mask:
        """[node] whether pods elsewhere may run on for nothing, because of gangs around gangs."""
        gangs = self.takeable.gangs
        if gangs is None or not gangs.in_tree.any():
            return np.zeros(len(self.tenants.nodes), np.bool_)
        units = self.takeable.units.with_any(gangs.in_tree[gangs.of_pod])
        found: Mask = np.logical_or.reduce(self.tenants.there & units[self.tenants.units], axis=0)
        return found

    def as_the_rival(
        self, is_known: Mask, contested: Mask, otherwise: Mask
    ) -> tuple[Mask, tuple[NodeOutcome, ...]]:
        """On which nodes plans are still known, and which tenants kube-scheduler's order reprieves there."""
        tenants, rival = self.tenants, self.takeable.rival
        if rival is None or not (is_known & contested).any():
            return is_known, ()
        theirs = charges_of(tenants, self.ground.their_shares)
        unclear = theirs.beyond | _charged_twice(tenants, self.takeable.units, rival.accounts)
        is_known = is_known & (~contested | ~unclear)
        place = slots_of(tenants)
        if otherwise.any():
            place = rival.units.places(tenants.units.ravel()).reshape(place.shape)
        order = first_to_last_in_order(tenants, theirs, place)
        tried = is_known & contested & differ(tenants, order, first_to_last(tenants, self.charges))
        return is_known, (reprieved_in_turn(tenants, self.charges, self.ground.left, order).on(tried),)

    def sparing_gangs(self, gangs: TenantCharges, where: Mask) -> Iterator[NodeOutcome]:
        """With the pods that gangs need put back first: the most important, or the smallest if that is not
        enough for all gangs."""
        tenants, order = self.tenants, slots_of(self.tenants)
        for by_size in (False, True):
            if not where.any():
                return
            order = smallest_first(tenants, _sizes(self.takeable.units)) if by_size else order
            outcome = self.by_importance(Needed(gangs, order)).on(where)
            yield outcome
            where = mask_of(outcome.nodes[self.starved(outcome) > 0], len(where))

    def candidates(self, outcome: NodeOutcome, *, exactly: bool = False) -> Candidates:
        """``exactly``: with what victims cost by all criteria, not only where that is quick to have."""
        units, prices, gone = self.takeable.units, self.takeable.prices, outcome.victims
        count, nodes = gone.sum(axis=0), len(outcome.nodes)
        unit = (
            self.tenants.units if nodes == len(self.tenants.nodes) else self.tenants.units[:, outcome.nodes]
        )
        none = np.zeros(nodes, np.int64)
        idle, broken = (none, none) if self.gangs is None else starving(self.tenants, self.gangs, outcome)

        def alone(criterion: Criterion) -> Ints | Floats:
            going = (prices.alone if exactly else prices.alone_at_least)(criterion, unit[gone])
            if criterion.combined is Combined.HIGHEST:
                highest = np.zeros(unit.shape)
                highest[gone] = going
                return highest
            costs = np.zeros(unit.shape, np.int64)
            costs[gone] = going
            return costs

        return Candidates(
            nodes=self.tenants.nodes[outcome.nodes],
            priority=units.priority[unit],
            start=units.start[unit],
            possible=gone,
            certain=gone,
            fewest=count,
            ceiling=np.full(nodes, -np.inf),
            within_budgets=count - outcome.broken,
            idle=idle,
            groups_broken=broken,
            alone=alone,
        )


def outcomes_on(clear: ClearNodes) -> tuple[NodeOutcome, ...]:
    """Which tenants are reprieved by our own order; by kube-scheduler's, where that is another; and by orders
    that spare gangs, where our own does not."""
    question, tenants, charges, ours = clear.question, clear.tenants, clear.charges, clear.by_importance()
    policy, otherwise = question.policy, _ranked_otherwise(tenants, clear.takeable)
    contested = charges.in_danger | otherwise
    is_known = ~charges.beyond & ~clear.has_trees & (not question.demand.spares_gangs)
    if not policy.search.has_ceiling:
        return (ours.on(is_known & ~contested).without_ceiling(),)
    if policy.budgets is BudgetCounting.UPSTREAM:
        is_known &= ~contested
    is_known, theirs = clear.as_the_rival(is_known, contested, otherwise)
    if clear.gangs is None:
        return ours.on(is_known), *theirs
    ends_gangs = clear.starved(ours) > 0
    for other in theirs:
        # A plan that is kinder to gangs is looked for if one of theirs wins and ends some; here, it may lose.
        worse = other.nodes[clear.starved(other) > 0]
        is_known = is_known & (ends_gangs | ~mask_of(worse, len(tenants.nodes)))
    theirs = tuple(other.on(is_known[other.nodes]) for other in theirs)
    return ours.on(is_known), *theirs, *clear.sparing_gangs(clear.gangs, is_known & ends_gangs)


def _sizes(units: Units) -> Ints:
    """[resource, unit] what its pods request, wherever they are."""
    running = np.flatnonzero(units.of_pod != NOWHERE)
    requests = units.view.pods.requests[:, running]
    return sums_by_node(requests, units.of_pod[running], len(units.priority))


def _ranked_otherwise(tenants: Tenants, takeable: Takeable) -> Mask:
    """[node] whether kube-scheduler has another order of importance for one of the tenants."""
    if takeable.rival is None:
        return np.zeros(len(tenants.nodes), np.bool_)
    otherwise = takeable.rival.units.kind != takeable.units.kind
    contested: Mask = (tenants.there & otherwise[tenants.units]).any(axis=0)
    return contested


def _charged_twice(tenants: Tenants, units: Units, accounts: Accounts) -> Mask:
    """[node] whether a pod of a tenant is charged to several budgets: then the order of its pods matters."""
    twice = np.zeros(len(units.of_pod), np.bool_)
    twice[accounts.pods[1:][accounts.pods[1:] == accounts.pods[:-1]]] = True
    found: Mask = np.logical_or.reduce(tenants.there & units.with_any(twice)[tenants.units], axis=0)
    return found
