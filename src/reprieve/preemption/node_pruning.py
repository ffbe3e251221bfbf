"""On which of thousands of nodes is it worth making a plan for one pod?

Which units are the victims on each node, or at least how many there are and of which priority, is worked
out for all nodes at once, in columns. From these the criteria of the ranking derive lower bounds; the search
looks at nodes in the order of the bounds, and stops when no other node can win. Where the victims are known,
so is the plan. Which criteria there are, and in which order, is not known here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.pods_by_importance import NO_POD
from reprieve.model.snapshot import NOWHERE, Snapshot, sums_by_node
from reprieve.model.whatif import without
from reprieve.placement.constraints.pods import kept_apart, pod_affinity
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.place import Placement, survey
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.node_reprieve import (
    NO_CEILING,
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
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import BudgetCounting, SearchMode
from reprieve.preemption.question import Question, Takeable
from reprieve.preemption.ranking import OFFSET, Candidates, Criterion, Rank, fewest_budgets_broken, rank
from reprieve.preemption.tenants import TenantCharges, Tenants, asked, charges_of, tenants_on
from reprieve.preemption.units import Units

UNKNOWN: Rank = ()  # less than the rank of any plan


class Candidate(NamedTuple):
    node: int  # row
    at_least: Rank = UNKNOWN  # the rank of no plan there is smaller; it may end early, see lower_bounds
    by_room: bool = False  # nothing but room and ports is missing there
    known: Callable[[], Plan] | None = None  # makes the plan, where it is known


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What is known of the plans on all nodes before any of them is made."""

    exact: tuple[Candidates, ...]  # the victims are known, by each order in which units are reprieved
    bounded: (
        Candidates  # only bounds are: constraints beyond room matter there, or budgets need a closer look
    )
    by_room: Mask  # [node of the cluster] nothing but room and ports is missing there
    tenants: Tenants
    outcomes: tuple[NodeOutcome, ...]  # what ``exact`` is made of


def worth_planning(question: Question, takeable: Takeable) -> Iterator[Candidate]:
    """The nodes where there may be a plan, in the order of their lower bounds."""
    seen, nodes, ranking = outlook(question, takeable), question.view.nodes, question.policy.ranking
    parts = (*seen.exact, seen.bounded)
    rows, bounds = np.concatenate([part.nodes for part in parts]), lower_bounds(parts, ranking)
    order = np.lexsort((nodes.rank[rows], *reversed(bounds)))
    if question.policy.breaks_no_budget:
        broken = np.concatenate([fewest_budgets_broken(part) for part in parts])
        order = order[broken[order] == 0]
    exact, done = len(rows) - len(seen.bounded.nodes), set[int]()
    for i in order.tolist():
        row, at_least = int(rows[i]), tuple(bound[i] for bound in bounds)
        if row not in done:  # by another order of its units
            done.add(row)
            name = (nodes.names[row],) if len(bounds) == len(ranking) else ()
            known = partial(_plan_on, row, question, takeable, seen) if i < exact else None
            yield Candidate(row, at_least + name, bool(seen.by_room[row]), known)


def _plan_on(row: int, question: Question, takeable: Takeable, seen: Outlook) -> Plan:
    """The best of the plans that are known there."""
    place = int(np.searchsorted(seen.tenants.nodes, row))
    there = seen.tenants.table[:, place] != NO_POD
    units = takeable.units.made(seen.tenants.units_on(place))
    plans = []
    for outcome in seen.outcomes:
        for i in np.flatnonzero(outcome.nodes == place).tolist():
            gone, ceiling = outcome.victims[there, i].tolist(), outcome.ceiling[i]
            plan = Plan(
                domain=question.view.nodes.names[row],
                placement=Placement((row,)),
                victims=tuple(unit for unit, is_gone in zip(units, gone, strict=True) if is_gone),
                spared=tuple(unit for unit, is_gone in zip(units, gone, strict=True) if not is_gone),
                broken=int(outcome.broken[i]),
                ceiling=None if ceiling == NO_CEILING else int(ceiling),
                pods=question.demand.pods,
            )
            starved = takeable.gangs.starved(plan.victims) if takeable.gangs is not None else 0
            plans.append(replace(plan, starved=starved))
    return plans[0] if len(plans) == 1 else min(plans, key=lambda plan: rank(plan, question.policy.ranking))


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
    tenants = tenants_on(np.flatnonzero(usable | unclear), emptied, units, taken, blocking)
    clear_tenants, left = tenants.on(~unclear[tenants.nodes]), _left(emptied, units)
    clear = _Clear.of(clear_tenants, left[:, clear_tenants.nodes], takeable)
    outcomes = _outcomes(clear, question)
    unknown = tenants.on(~_mask(clear_tenants.nodes[outcomes[0].nodes], len(view.nodes))[tenants.nodes])
    return Outlook(
        exact=tuple(map(clear.candidates, outcomes)),
        bounded=_bounded(unknown, left[:, unknown.nodes], takeable),
        by_room=~unclear,
        tenants=clear_tenants,
        outcomes=outcomes,
    )


def _pods_of(units: Units, chosen: Mask) -> Mask:
    mask: Mask = (units.of_pod != NOWHERE) & chosen[units.of_pod]
    return mask


def _mask(rows: Ints, size: int) -> Mask:
    mask = np.zeros(size, np.bool_)
    mask[rows] = True
    return mask


def _counted(view: Snapshot, pods: Mask) -> Ints:
    return np.bincount(view.where[pods], minlength=len(view.nodes))


def _blocking(ask: Ask, constraints: tuple[Constraint, ...]) -> Mask:
    """Pods that keep the demand from their node: by a port that it needs, or by anti-affinity."""
    blocking = np.zeros(len(ask.view.pods), np.bool_)
    for wanted in ask.shape.ports:
        blocking[ask.view.pods.holders().of_port(wanted)] = True
    for topology_key, pods in kept_apart(ask) if pod_affinity in constraints else ():
        labelled = ask.view.nodes.label(topology_key).codes != 0
        blocking[pods[labelled[ask.view.where[pods]]]] = True
    return blocking


# --- the victims ---------------------------------------------------------------------------------


def _outcomes(clear: "_Clear", question: Question) -> tuple[NodeOutcome, ...]:
    """Which tenants are reprieved by our own order; by kube-scheduler's, where that is another; and by orders
    that spare gangs, where our own does not."""
    policy, tenants, charges, ours = question.policy, clear.tenants, clear.charges, clear.by_importance()
    contested = charges.in_danger | _ranked_otherwise(tenants, clear.takeable)
    is_known = ~charges.beyond & (not question.demand.spares_gangs)
    if policy.search is SearchMode.UPSTREAM:
        return (ours.on(is_known & ~contested).without_ceiling(),)
    if policy.budgets is BudgetCounting.UPSTREAM:
        is_known &= ~contested
    is_known, theirs = clear.as_the_rival(is_known, contested)
    ends_gangs = clear.starved(ours) > 0
    for other in theirs:
        # A plan that is kinder to gangs is looked for if one of theirs wins and ends some; here, it may lose.
        worse = other.nodes[clear.starved(other) > 0]
        is_known = is_known & (ends_gangs | ~_mask(worse, len(tenants.nodes)))
    theirs = tuple(other.on(is_known[other.nodes]) for other in theirs)
    return ours.on(is_known), *theirs, *clear.sparing_gangs(is_known & ends_gangs)


@dataclass(frozen=True, slots=True, eq=False)
class _Clear:
    """Nodes where nothing but room, ports, budgets and gangs matters."""

    tenants: Tenants
    left: Ints  # [requested resource, node] if the demand came and no tenant went
    takeable: Takeable
    charges: TenantCharges
    gangs: TenantCharges | None

    @classmethod
    def of(cls, tenants: Tenants, left: Ints, takeable: Takeable) -> "_Clear":
        units, gangs = takeable.units, takeable.gangs
        charges = charges_of(tenants, units, takeable.accounts)
        return cls(
            tenants, left, takeable, charges, charges_of(tenants, units, gangs) if gangs is not None else None
        )

    def by_importance(self, needed: Needed | None = None) -> NodeOutcome:
        priority = self.takeable.units.priority[self.tenants.units]
        return reprieved(self.tenants, self.charges, self.left, priority, needed)

    def starved(self, outcome: NodeOutcome) -> Ints:
        """[node of the outcome] how many gangs have too few pods left."""
        if self.gangs is None:
            return np.zeros(len(outcome.nodes), np.int64)
        return starving(self.tenants, self.gangs, outcome)

    def as_the_rival(self, is_known: Mask, contested: Mask) -> tuple[Mask, tuple[NodeOutcome, ...]]:
        """On which nodes plans are still known, and which tenants kube-scheduler's order reprieves there."""
        tenants, units, rival = self.tenants, self.takeable.units, self.takeable.rival
        if rival is None or not (is_known & contested).any():
            return is_known, ()
        theirs = charges_of(tenants, units, rival.accounts)
        unclear = theirs.beyond | _charged_twice(tenants, units, rival.accounts)
        is_known = is_known & (~contested | ~unclear)
        otherwise = _ranked_otherwise(tenants, self.takeable)
        place = rival.units.places(tenants.unit)[tenants.table] if otherwise.any() else slots_of(tenants)
        order = first_to_last_in_order(tenants, theirs, place)
        tried = is_known & contested & differ(tenants, order, first_to_last(tenants, self.charges))
        return is_known, (reprieved_in_turn(tenants, self.charges, self.left, order).on(tried),)

    def sparing_gangs(self, where: Mask) -> Iterator[NodeOutcome]:
        """With the pods that gangs need put back first: the most important, or the smallest if that is not
        enough for all gangs."""
        tenants, order = self.tenants, slots_of(self.tenants)
        for by_size in (False, True):
            if self.gangs is None or not where.any():
                return
            order = smallest_first(tenants, _sizes(self.takeable.units)) if by_size else order
            outcome = self.by_importance(Needed(self.gangs, order)).on(where)
            yield outcome
            where = _mask(outcome.nodes[self.starved(outcome) > 0], len(where))

    def candidates(self, outcome: NodeOutcome) -> Candidates:
        units, count = self.takeable.units, outcome.victims.sum(axis=0)
        unit = self.tenants.units[:, outcome.nodes]
        return Candidates(
            nodes=self.tenants.nodes[outcome.nodes],
            priority=units.priority[unit],
            size=units.size[unit],
            start=units.start[unit],
            possible=outcome.victims,
            certain=outcome.victims,
            fewest=count,
            ceiling=np.full(len(count), -np.inf),
            within_budgets=count - outcome.broken,
            cheaper=units.cheaper[unit],
            cheaper_to_delete=units.cheaper_to_delete[unit],
            starved=self.starved(outcome),
        )


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


def _bounded(tenants: Tenants, left: Ints, takeable: Takeable) -> Candidates:
    """Which units are reprieved is open: so much room is missing, and so few units may go by the budgets."""
    there, unit, units = tenants.there, tenants.units, takeable.units
    blocks = there & tenants.blocks[tenants.table]
    room = tenants.room[:, tenants.table] * there
    priority = units.priority[unit]
    lowest = np.where(there, priority, OFFSET).min(axis=0, initial=OFFSET)
    guarded = np.zeros(len(units.of_pod), np.bool_)
    guarded[takeable.accounts.pods] = True
    charges = charges_of(tenants, units, takeable.accounts)
    return Candidates(
        nodes=tenants.nodes,
        priority=priority,
        size=units.size[unit],
        start=units.start[unit],
        possible=there,
        certain=blocks,
        fewest=np.maximum(_fewest(left, room), blocks.sum(axis=0)),
        ceiling=_lowest_ceiling(left, room, np.where(there, priority, lowest)),
        within_budgets=(there & ~units.with_any(guarded)[unit]).sum(axis=0) + charges.allowances,
        cheaper=units.cheaper[unit],
        cheaper_to_delete=units.cheaper_to_delete[unit],
        starved=np.zeros(len(tenants.nodes), np.int64),
    )


def _left(ask: Ask, units: Units) -> Ints:
    """[requested resource, node] what would be left if the demand came and no tenant went."""
    base, wanted = units.view, asked(ask)
    left: Ints = (base.allocatable - base.requested)[wanted] - base.pods.requests[wanted][:, [ask.pod]]
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
