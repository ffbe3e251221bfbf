"""On which of thousands of nodes is it worth making a plan for one pod?

Which units are the victims on each node, or at least how many there are and of which priority, is worked
out for all nodes at once, in columns. From these the criteria of the ranking derive lower bounds; the search
looks at nodes in the order of the bounds, and stops when no other node can win. Where the victims are known,
so is the plan. Which criteria there are, and in which order, is not known here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from itertools import compress
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Column, Floats, Ints, Mask, sealed
from reprieve.model.score_cache import WhatIfScores
from reprieve.model.snapshot import NOWHERE, Snapshot, sums_by_node
from reprieve.model.whatif import without
from reprieve.placement.constraints.pods import kept_apart, pod_affinity
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.place import Placement, survey
from reprieve.placement.spread_rules import rules_of
from reprieve.preemption.budgets import Accounts, UnitShares, shares_of
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
_AT_A_TIME = 24  # nodes that are ranked together: more than the plans that are usually wanted


class Candidate(NamedTuple):
    node: int  # row
    at_least: Rank = UNKNOWN  # the rank of no plan there is smaller; it may end early, see lower_bounds
    by_room: bool = False  # nothing but room and ports is missing there
    known: Callable[[], Plan] | None = None  # makes the plan, where it is known


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """All nodes where there may be a plan."""

    question: Question
    takeable: Takeable
    tenants: Tenants
    left: Ints  # [requested resource, node of the tenants] if the demand came and no tenant went
    by_room: Mask  # [node of the cluster] nothing but room and ports is missing there
    is_clear: Mask  # [node of the cluster] nor anything else but that certain pods there are gone
    shares: UnitShares
    their_shares: UnitShares  # as kube-scheduler reads budgets
    gangs: UnitShares | None  # what units are to gangs that should keep the pods they need; None: to none

    def on(self, chosen: Mask | None) -> "Ground":
        """None: on all of them."""
        if chosen is None:
            return self
        return replace(self, tenants=self.tenants.on(chosen), left=self.left[:, chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What is known of the plans on some nodes before any of them is made."""

    exact: tuple[Candidates, ...]  # the victims are known, by each order in which units are reprieved
    bounded: (
        Candidates  # only bounds are: constraints beyond room matter there, or budgets need a closer look
    )
    tenants: Tenants
    outcomes: tuple[NodeOutcome, ...]  # what ``exact`` is made of


def worth_planning(question: Question, takeable: Takeable) -> Iterator[Candidate]:
    """The nodes where there may be a plan, in the order of their lower bounds.

    Nodes are taken up by rough bounds, some at a time, and then ordered by what the closer look found.
    """
    ground = ground_of(question, takeable)
    heads: list[tuple[Rank, int, Candidate]] = []
    streams: list[Iterator[tuple[Rank, Candidate]]] = []
    done = set[int]()
    for chosen, later in _portions(ground):
        streams.append(_ranked(ground.on(chosen)))
        _advance(streams, len(streams) - 1, heads)
        while heads and (later is None or heads[0][0] < later):
            _, number, candidate = heappop(heads)
            _advance(streams, number, heads)
            if candidate.node not in done:  # by another order of its units
                done.add(candidate.node)
                yield candidate


def _advance(
    streams: Sequence[Iterator[tuple[Rank, Candidate]]], number: int, heads: list[tuple[Rank, int, Candidate]]
) -> None:
    head = next(streams[number], None)
    if head is not None:
        heappush(heads, (head[0], number, head[1]))


def _portions(ground: Ground) -> Iterator[tuple[Mask | None, Rank | None]]:
    """Which nodes come next, None: all of them; and the least that a plan on any of those left can be, None:
    none are left.
    """
    question, rows = ground.question, ground.tenants.nodes
    most = question.shortcuts.victims
    if len(rows) <= most:
        yield None, None
        return
    rough = roughly_bounded(ground)
    bounds, names = lower_bounds([rough], question.policy.ranking), question.view.nodes.names
    order = np.lexsort((question.view.nodes.rank[rows], *reversed(bounds)))
    if question.policy.breaks_no_budget:
        order = order[fewest_budgets_broken(rough)[order] == 0]
    first, size = 0, max(1, most // 8)
    while first < len(order):
        last, size = first + size, size * 2
        later = None
        if last < len(order):
            later = (*(bound[order[last]].item() for bound in bounds), names[rows[order[last]]])
        yield _mask(order[first:last], len(rows)), later
        first = last


def _ranked(ground: Ground) -> Iterator[tuple[Rank, Candidate]]:
    """Nodes in the order of their lower bounds; where the victims are known, that is what a plan costs."""
    question = ground.question
    seen, nodes, ranking = outlook(ground), question.view.nodes, question.policy.ranking
    parts = [part for part in (*seen.exact, seen.bounded) if len(part.nodes)]
    if not parts:
        return
    rows, bounds = np.concatenate([part.nodes for part in parts]), lower_bounds(parts, ranking)
    order = np.lexsort((nodes.rank[rows], *reversed(bounds)))
    if question.policy.breaks_no_budget:
        broken = np.concatenate([fewest_budgets_broken(part) for part in parts])
        order = order[broken[order] == 0]
    exact, places = len(rows) - len(seen.bounded.nodes), order.tolist()
    made: dict[int, Plan] = {}

    def known(row: int, turn: int) -> Plan:
        """Made together with those that are asked for next."""
        if row not in made:
            ahead = {int(rows[i]) for i in places[turn : turn + question.most] if i < exact}
            made.update(_plans_on(sorted(ahead), ground, seen))
        return made[row]

    is_whole = len(bounds) == len(ranking)
    for first in range(0, len(places), _AT_A_TIME):
        part = order[first : first + _AT_A_TIME]
        numbers, by_room = rows[part].tolist(), ground.by_room[rows[part]].tolist()
        measured = [bound[part].tolist() for bound in bounds]
        for place, row in enumerate(numbers):
            at_least = tuple([column[place] for column in measured])
            key = (*at_least, nodes.names[row])
            make = partial(known, row, first + place) if places[first + place] < exact else None
            yield key, Candidate(row, key if is_whole else at_least, by_room[place], make)


def _plans_on(rows: Sequence[int], ground: Ground, seen: Outlook) -> dict[int, Plan]:
    """For each of the nodes, the best of the plans that are known there."""
    question, tenants = ground.question, seen.tenants
    places = np.searchsorted(tenants.nodes, rows)
    there = tenants.there[:, places].T
    units = ground.takeable.units.made(tenants.units[:, places].T[there])
    ends = np.cumsum(there.sum(axis=1)).tolist()
    found: dict[int, list[Plan]] = {row: [] for row in rows}
    for outcome, part in zip(seen.outcomes, seen.exact, strict=True):
        at = np.searchsorted(outcome.nodes, places)
        is_known = np.append(outcome.nodes, NOWHERE)[at] == places
        gone = np.zeros(there.shape, np.bool_)
        gone[is_known] = outcome.victims[:, at[is_known]].T
        goes, stays = gone[there].tolist(), (~gone)[there].tolist()
        numbers, known = np.flatnonzero(is_known).tolist(), at[is_known]
        columns = (column[known].tolist() for column in (outcome.broken, outcome.ceiling, part.starved))
        for number, broken, ceiling, starved in zip(numbers, *columns, strict=True):
            mine = slice(ends[number - 1] if number else 0, ends[number])
            plan = Plan(
                domain=question.view.nodes.names[rows[number]],
                placement=Placement((rows[number],)),
                victims=tuple(compress(units[mine], goes[mine])),
                spared=tuple(compress(units[mine], stays[mine])),
                broken=broken,
                ceiling=None if ceiling == NO_CEILING else int(ceiling),
                pods=question.demand.pods,
                starved=starved,
            )
            found[rows[number]].append(plan)
    ranking = question.policy.ranking
    return {
        row: plans[0] if len(plans) == 1 else min(plans, key=lambda plan: rank(plan, ranking))
        for row, plans in found.items()
    }


def lower_bounds(parts: Sequence[Candidates], ranking: Sequence[Criterion]) -> list[Ints | Floats]:
    """[criterion, candidate] the bounds by the criteria in turn, up to the first criterion that has none.

    Ranks are compared from the left. Bounds by each criterion make a bound of the whole rank. But where two
    plans tie up to a criterion without a bound, that one may decide either way, so no later bound helps.
    """
    bounds: list[Ints | Floats] = []
    for criterion in ranking:
        if criterion.at_least is None:
            break
        first, *others = (criterion.at_least(part) for part in parts)
        bounds.append(np.concatenate([first, *others]) if others else first)
    return bounds


def ground_of(question: Question, takeable: Takeable) -> Ground:
    demand, view, units = question.demand, question.view, takeable.units
    taken = _pods_of(units, takeable.allowed)
    ask, curable = Ask(view, demand.pods[0], question.profile), question.found.curable()
    special, unclear = np.zeros(len(taken), np.bool_), np.zeros(len(curable), np.bool_)
    by_room = ~unclear
    if takeable.matter.any():
        matter = taken & _pods_of(units, units.with_any(takeable.matter))
        by_room = ~(curable & (_counted(view, matter) > 0))
        special = matter & (not _matter_on_their_node(ask, demand.constraints))
        unclear = curable & (_counted(view, special) > 0)
    counted, blocking = _counted(view, taken), _blocking(ask, demand.constraints)
    tenants = tenants_on(np.flatnonzero(curable & (counted > 0)), ask, units, taken, blocking)
    if special.any() or not _has_all(tenants, counted):
        emptied = without(view, np.flatnonzero(taken & ~special), rated=False)
    else:
        emptied = _emptied(ask, tenants, taken)
    usable = survey(replace(ask, view=emptied), demand.constraints, curable).feasible | unclear
    if not usable[tenants.nodes].all():
        tenants = tenants.on(usable[tenants.nodes])
    shares, rival, gangs = shares_of(units, takeable.accounts), takeable.rival, takeable.gangs
    is_same = rival is None or rival.accounts is takeable.accounts
    return Ground(
        question,
        takeable,
        tenants,
        left=_left(ask, tenants.nodes),
        by_room=by_room,
        is_clear=~unclear,
        shares=shares,
        their_shares=shares if rival is None or is_same else shares_of(units, rival.accounts),
        gangs=shares_of(units, gangs) if gangs is not None else None,
    )


def _emptied(ask: Ask, tenants: Tenants, taken: Mask) -> Snapshot:
    """The cluster without all tenants, as far as it is asked whether the demand has room there.

    Their room is known. ``requested`` is right for no other nodes, and for no other resources.
    """
    view, requested = ask.view, ask.view.requested.copy()
    for resource, freed in zip(asked(ask), np.add.reduce(tenants.room, axis=1), strict=True):
        requested[resource, tenants.nodes] -= freed
    where = np.where(taken, NOWHERE, view.where)
    return replace(view, where=sealed(where), requested=sealed(requested), cached_scores=WhatIfScores())


def _has_all(tenants: Tenants, counted: Ints) -> bool:
    """Whether the tenants are all pods that may be evicted: so many, on each node."""
    return bool(np.count_nonzero(tenants.there) == counted[tenants.nodes].sum())


def outlook(ground: Ground) -> Outlook:
    tenants, is_clear = ground.tenants, ground.is_clear[ground.tenants.nodes]
    clear = _Clear.of(ground if is_clear.all() else ground.on(is_clear))
    outcomes = _outcomes(clear)
    known = clear.tenants.nodes[outcomes[0].nodes]
    if len(known) == len(tenants.nodes):
        bounded = _NONE
    else:
        bounded = _bounded(ground.on(~_mask(known, len(ground.by_room))[tenants.nodes]))
    return Outlook(
        exact=tuple(map(clear.candidates, outcomes)),
        bounded=bounded,
        tenants=clear.tenants,
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


def _matter_on_their_node(ask: Ask, constraints: tuple[Constraint, ...]) -> bool:
    """Whether pods matter beyond room and ports only by keeping the demand from the node that they run on.

    As by anti-affinity within a host: then they block it, and no more is to be known of them.
    """
    shape, nodes = ask.shape, ask.view.nodes
    if shape.affinity or shape.claims or shape.disks or shape.inline_volumes:
        return False
    if pod_affinity not in constraints or any(rules_of(ask, required=True)):
        return False
    return all(_is_one_node_each(nodes.label(key)) for key in {key for key, _ in kept_apart(ask)})


def _is_one_node_each(label: Column[str | None]) -> bool:
    """Whether no two nodes have the same value; the code 0 is that of its absence."""
    return bool(np.bincount(label.codes)[1:].max(initial=0) <= 1)


# --- the victims ---------------------------------------------------------------------------------


def _outcomes(clear: "_Clear") -> tuple[NodeOutcome, ...]:
    """Which tenants are reprieved by our own order; by kube-scheduler's, where that is another; and by orders
    that spare gangs, where our own does not."""
    question, tenants, charges, ours = clear.question, clear.tenants, clear.charges, clear.by_importance()
    policy, otherwise = question.policy, _ranked_otherwise(tenants, clear.takeable)
    contested = charges.in_danger | otherwise
    is_known = ~charges.beyond & (not question.demand.spares_gangs)
    if policy.search is SearchMode.UPSTREAM:
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
        is_known = is_known & (ends_gangs | ~_mask(worse, len(tenants.nodes)))
    theirs = tuple(other.on(is_known[other.nodes]) for other in theirs)
    return ours.on(is_known), *theirs, *clear.sparing_gangs(clear.gangs, is_known & ends_gangs)


@dataclass(frozen=True, slots=True, eq=False)
class _Clear:
    """Nodes where nothing but room, ports, budgets and gangs matters."""

    ground: Ground
    charges: TenantCharges
    gangs: TenantCharges | None

    @classmethod
    def of(cls, ground: Ground) -> "_Clear":
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
        return starving(self.tenants, self.gangs, outcome)

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
            where = _mask(outcome.nodes[self.starved(outcome) > 0], len(where))

    def candidates(self, outcome: NodeOutcome) -> Candidates:
        units, count = self.takeable.units, outcome.victims.sum(axis=0)
        is_everywhere = len(outcome.nodes) == len(self.tenants.nodes)
        unit = self.tenants.units if is_everywhere else self.tenants.units[:, outcome.nodes]
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


_NONE = Candidates(
    nodes=np.zeros(0, np.int64),
    priority=np.zeros((0, 0), np.int64),
    size=np.zeros((0, 0), np.int64),
    start=np.zeros((0, 0), np.float64),
    possible=np.zeros((0, 0), np.bool_),
    certain=np.zeros((0, 0), np.bool_),
    fewest=np.zeros(0, np.int64),
    ceiling=np.zeros(0, np.float64),
    within_budgets=np.zeros(0, np.int64),
    cheaper=np.zeros((0, 0), np.int64),
    cheaper_to_delete=np.zeros((0, 0), np.int64),
    starved=np.zeros(0, np.int64),
)


def _bounded(ground: Ground) -> Candidates:
    """Which units are reprieved is open: so much room is missing, and so few units may go by the budgets."""
    tenants, left, takeable = ground.tenants, ground.left, ground.takeable
    there, unit, units = tenants.there, tenants.units, takeable.units
    blocks, room = tenants.blocks, tenants.room
    priority = units.priority[unit]
    guarded = np.zeros(len(units.of_pod), np.bool_)
    guarded[takeable.accounts.pods] = True
    charges = charges_of(tenants, ground.shares)
    return Candidates(
        nodes=tenants.nodes,
        priority=priority,
        size=units.size[unit],
        start=units.start[unit],
        possible=there,
        certain=blocks,
        fewest=np.maximum(_fewest(left, room), blocks.sum(axis=0)),
        ceiling=_lowest_ceiling(left, room, np.where(there, priority, _lowest(priority, there))),
        within_budgets=(there & ~units.with_any(guarded)[unit]).sum(axis=0) + charges.allowances,
        cheaper=units.cheaper[unit],
        cheaper_to_delete=units.cheaper_to_delete[unit],
        starved=np.zeros(len(tenants.nodes), np.int64),
    )


def roughly_bounded(ground: Ground) -> Candidates:
    """Bounds that hold, and are quick to have: as if a node had one tenant, which stands for all."""
    tenants, left, units = ground.tenants, ground.left, ground.takeable.units
    there, unit, size = tenants.there, tenants.units, (1, len(tenants.nodes))
    room, blocks, priority = tenants.room, tenants.blocks, units.priority[unit]
    lowest = _lowest(priority, there)
    fewest = np.maximum(_as_many_as_of_the_largest(left, room), blocks.sum(axis=0))
    return Candidates(
        nodes=tenants.nodes,
        priority=lowest[None],
        size=np.ones(size, np.int64),
        start=np.maximum.reduce(np.where(there, units.start[unit], -np.inf), axis=0, initial=-np.inf)[None],
        possible=np.ones(size, np.bool_),
        certain=np.zeros(size, np.bool_),
        fewest=fewest,
        ceiling=_lowest_ceiling(left, room, np.where(there, priority, lowest)),
        within_budgets=_roughly_within_budgets(ground, fewest, room, blocks) if ground.shares else fewest,
        # Of no victim it is certain what it costs its group, nor whether its gang needs it.
        cheaper=np.zeros(size, np.int64),
        cheaper_to_delete=np.zeros(size, np.int64),
        starved=np.zeros(len(tenants.nodes), np.int64),
    )


def _roughly_within_budgets(ground: Ground, fewest: Ints, room: Ints, blocks: Mask) -> Ints:
    """[node] no plan is within the budgets if the units are not enough whose budgets allow their eviction."""
    tenants = ground.tenants
    affordable = tenants.there & ~ground.shares.unaffordable()[tenants.units]
    within = affordable.sum(axis=0)
    has_room = (ground.left + (room * affordable).sum(axis=1) >= 0).all(axis=0)
    is_enough = has_room & ~(blocks & ~affordable).any(axis=0)
    at_most: Ints = np.where(is_enough, within, np.minimum(within, fewest - 1))
    return at_most


def _lowest(priority: Ints, there: Mask) -> Ints:
    lowest: Ints = np.minimum.reduce(np.where(there, priority, OFFSET), axis=0, initial=OFFSET)
    return lowest


def _left(ask: Ask, nodes: Ints) -> Ints:
    """[requested resource, node] what would be left if the demand came and no tenant went."""
    view, wanted = ask.view, asked(ask)
    left: Ints = view.allocatable[wanted] - view.requested[wanted]
    left -= view.pods.requests[wanted, ask.pod][:, None]
    return left[:, nodes]


def _as_many_as_of_the_largest(left: Ints, room: Ints) -> Ints:
    """[node] no fewer units have to go than if all were as large as the largest.

    Quotients of integers take ten times as long. A hair is taken off, so that none is rounded up.
    """
    largest = np.maximum(np.maximum.reduce(room, axis=1, initial=0), 1)
    quotients: Floats = np.maximum.reduce(-left / largest * (1 - 2**-50), axis=0, initial=0.0)
    return np.ceil(quotients).astype(np.int64)


def _fewest(left: Ints, room: Ints) -> Ints:
    """[node] how many units have to go at least: as many as if the largest went first."""
    gained = np.cumsum(-np.sort(-room, axis=1), axis=1)
    fewest: Ints = ((left[:, None] + gained < 0).sum(axis=1) + (left < 0)).max(axis=0, initial=0)
    return fewest


def _lowest_ceiling(left: Ints, room: Ints, priority: Ints) -> Floats:
    """[node] the lowest priority up to which all units together leave enough room, or minus infinity."""
    ceiling = np.full(left.shape[1], -np.inf)
    for slot in reversed(range(len(priority))):
        ceiling = np.where(np.minimum.reduce(left, axis=0, initial=0) < 0, priority[slot], ceiling)
        left = left + room[:, slot]
    return ceiling
