"""On which of thousands of nodes is it worth making a plan for one pod?

Which units are the victims on each node, or at least how many there are and of which priority, is worked
out for all nodes at once, in columns. From these the criteria of the ranking derive lower bounds; the search
looks at nodes in the order of the bounds, and stops when no other node can win. Where the victims are known,
so is the plan.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask, mask_of
from reprieve.model.snapshot import NOWHERE
from reprieve.placement.place import Placement
from reprieve.preemption.criteria import Candidates, Criterion, fewest_budgets_broken
from reprieve.preemption.node_bounds import NO_CANDIDATES, closely_bounded, roughly_bounded
from reprieve.preemption.node_reprieve import NO_CEILING, ClearNodes, NodeOutcome, outcomes_on
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.potential_nodes import NodeUnits, PotentialNodes, potential_nodes_of
from reprieve.preemption.prices import Evictable
from reprieve.preemption.units import Listing

Rank = tuple[float | str, ...]  # what a plan costs by each criterion, and its name
Costs = tuple[float, ...]  # by the first criteria
UNKNOWN: Rank = ()  # less than the rank of any plan
_AT_A_TIME = 24  # nodes that are ranked together: more than the plans that are usually wanted


class Candidate(NamedTuple):
    node: int  # row
    at_least: Rank = UNKNOWN  # the rank of no plan there is smaller; it may end early, see lower_bounds
    by_room: bool = False  # nothing but room and ports is missing there
    known: Callable[[], Plan] | None = None  # makes the plan, where it is known


@dataclass(frozen=True, slots=True, eq=False)
class PlanBounds:
    """What is known of the plans on some nodes before any of them is made."""

    exact: tuple[Candidates, ...]  # the victims are known, by each order in which units are reprieved
    bounded: (
        Candidates  # only bounds are: constraints beyond room matter there, or budgets need a closer look
    )
    clear: ClearNodes
    outcomes: tuple[NodeOutcome, ...]  # what ``exact`` is made of

    @property
    def node_units(self) -> NodeUnits:
        return self.clear.node_units

    def costs(self, rows: Ints, order: Sequence[Criterion]) -> dict[tuple[int, int], Rank]:
        """What the known plans on these nodes cost, by node and outcome."""
        found: dict[tuple[int, int], Rank] = {}
        places = np.searchsorted(self.node_units.nodes, np.sort(rows))
        for turn, outcome in enumerate(one for one in self.outcomes if len(one.nodes)):
            part = outcome.on(np.isin(outcome.nodes, places))
            if not len(part.nodes):
                continue
            bounds = lower_bounds([self.clear.candidates(part, exactly=True)], order)
            if not bounds:
                return found
            costs = zip(*(bound.tolist() for bound in bounds), strict=True)
            nodes = self.node_units.nodes[part.nodes].tolist()
            found.update({(row, turn): cost for row, cost in zip(nodes, costs, strict=True)})
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ByBounds:
    """Nodes in the order of the lower bounds of their plans, and then by name."""

    places: Ints  # of the nodes, in this order
    bounds: Sequence[Ints | Floats]  # [criterion][node]

    @classmethod
    def of(cls, bounds: Sequence[Ints | Floats], rank: Ints) -> "ByBounds":
        return cls(in_order(rank, bounds), bounds)

    def among(self, chosen: Mask) -> "ByBounds":
        """``chosen``: [node]."""
        return ByBounds(self.places[chosen[self.places]], self.bounds)

    def bound(self, turn: int) -> Costs:
        return tuple(bound[self.places[turn]].item() for bound in self.bounds)

    def below(self, cost: Sequence[float]) -> Ints:
        """The places of the nodes where a plan may cost less. As a rule there is none."""
        if not len(self.places) or not self.bound(0) < tuple(cost):
            return self.places[:0]
        return self.places[: bisect_left(range(len(self.places)), tuple(cost), key=self.bound)]

    def count_up_to(self, cost: Costs) -> int:
        """How many nodes have no higher bounds, by the criteria of this cost."""
        turns = range(len(self.places))
        return bisect_right(turns, cost, key=lambda turn: self.bound(turn)[: len(cost)])


@dataclass(frozen=True, eq=False)
class NodeSearch:
    """All nodes that one pod could use if others were evicted there."""

    question: Question
    evictable: Evictable

    @cached_property
    def potential(self) -> PotentialNodes:
        return potential_nodes_of(self.question, self.evictable)

    @cached_property
    def rough(self) -> Candidates:
        return roughly_bounded(self.potential)

    @cached_property
    def by_rough_bounds(self) -> "ByBounds":
        rank = self.question.view.nodes.rank[self.rough.nodes]
        return ByBounds.of(lower_bounds([self.rough], self.question.criteria), rank)

    @property
    def are_many(self) -> bool:
        """Whether it is quicker to bound them roughly before anything is worked out about each."""
        return len(self.potential.node_units.nodes) > self.question.shortcuts.victims

    def worth_planning(self) -> Iterator[Candidate]:
        """The nodes where there may be a plan, in the order of their lower bounds.

        Nodes are taken up by rough bounds, some at a time, and then ordered by what the closer look found.
        """
        heads: list[tuple[Rank, int, Candidate]] = []
        streams: list[Iterator[tuple[Rank, Candidate]]] = []
        enough = list[Costs]()
        done = set[int]()
        for chosen, later in self._portions(enough):
            ranking = _Ranking(self.potential.on(chosen))
            enough.append(ranking.enough(self.question.most))
            streams.append(ranking.candidates())
            _advance(streams, len(streams) - 1, heads)
            while heads and (later is None or heads[0][0] < later):
                _, number, candidate = heappop(heads)
                _advance(streams, number, heads)
                if candidate.node not in done:  # by another order of its units
                    done.add(candidate.node)
                    yield candidate

    def _portions(self, enough: Sequence[Costs]) -> Iterator[tuple[Mask | None, Rank | None]]:
        """Which nodes come next, None: all of them; and the least that a plan on any of those left can be,
        None: none are left.

        ``enough``: what as many plans as are wanted cost at most, in each portion so far. As a rule no other
        nodes are needed than those that have no higher bound.
        """
        question, rows = self.question, self.potential.node_units.nodes
        if not self.are_many:
            yield None, None
            return
        ordered, names = self.by_rough_bounds, question.view.nodes.names
        if question.policy.breaks_no_budget:
            ordered = ordered.among(fewest_budgets_broken(self.rough) == 0)
        order, first, size = ordered.places, 0, question.shortcuts.victims
        while first < len(order):
            needed = ordered.count_up_to(min(enough)) - first if enough else size
            last, size = first + (min(needed, size) if needed > 0 else size), size * 2
            later = (*ordered.bound(last), names[rows[order[last]]]) if last < len(order) else None
            yield mask_of(order[first:last], len(rows)), later
            first = last


def in_order(rank: Ints, bounds: Sequence[Ints | Floats]) -> Ints:
    """Places by their bounds, and then by name. Bounds that are equal for all are not sorted by."""
    differing = [bound for bound in bounds if len(bound) and (bound != bound[0]).any()]
    return np.lexsort((rank, *reversed(differing)))


def _advance(
    streams: Sequence[Iterator[tuple[Rank, Candidate]]], number: int, heads: list[tuple[Rank, int, Candidate]]
) -> None:
    head = next(streams[number], None)
    if head is not None:
        heappush(heads, (head[0], number, head[1]))


class _Ranking:
    """Nodes in the order of their lower bounds; where the victims are known, that is what a plan costs."""

    def __init__(self, potential: PotentialNodes) -> None:
        question = potential.question
        self._potential, self._seen = potential, plan_bounds(potential)
        self._parts = [part for part in (*self._seen.exact, self._seen.bounded) if len(part.nodes)]
        self._rows = np.concatenate([NO_CANDIDATES.nodes, *(part.nodes for part in self._parts)])
        self._bounds = lower_bounds(self._parts, question.criteria) if self._parts else []
        self._order = in_order(question.view.nodes.rank[self._rows], self._bounds)
        if question.policy.breaks_no_budget and self._parts:
            broken = np.concatenate([fewest_budgets_broken(part) for part in self._parts])
            self._order = self._order[broken[self._order] == 0]
        self._exact = len(self._rows) - len(self._seen.bounded.nodes)
        # By the first criteria, bounds are what plans cost: they are quick to have.
        self._quick = min(potential.evictable.prices.quick(question.criteria), len(self._bounds))
        self._made: dict[int, Plan] = {}

    def enough(self, count: int) -> Costs:
        """What so many of the plans here cost at most, by the first criteria."""
        ours = self._order[self._order < len(self._seen.exact[0].nodes)]
        if len(ours) < count:
            return (math.inf,)
        return tuple(bound[ours[count - 1]].item() for bound in self._bounds[: self._quick])

    def candidates(self) -> Iterator[tuple[Rank, Candidate]]:
        potential, seen, bounds, rows = self._potential, self._seen, self._bounds, self._rows
        names, order_of = potential.question.view.nodes.names, potential.question.criteria
        is_whole, quick = len(bounds) == len(order_of), self._quick
        waiting: list[tuple[Rank, int, Candidate]] = []
        for first in range(0, len(self._order), _AT_A_TIME):
            last = first + _AT_A_TIME
            part = self._order[first:last]
            columns = [bound[part].tolist() for bound in bounds]
            bounded: list[Rank] = [*zip(*columns, strict=True)] if columns else [()] * len(part)
            numbers, by_room = rows[part].tolist(), potential.by_room[rows[part]].tolist()
            later: Rank | None = None
            if last < len(self._order):
                next_one = self._order[last]
                later = (*(bound[next_one].item() for bound in bounds), names[rows[next_one]])
            costs: dict[tuple[int, int], Rank] = {}
            if quick < len(bounds):  # what takes long to work out is needed where all before it is equal
                tied = _equal_beginnings(numbers, bounded, later, quick)
                costs = seen.costs(rows[part[tied & (part < self._exact)]], order_of)
            for turn, (row, at_least) in enumerate(zip(numbers, bounded, strict=True)):
                at, place = int(part[turn]), first + turn
                exactly = costs.get((row, _turn_of(at, self._parts))) if costs else None
                cost = at_least[:quick] if exactly is None else exactly
                key = (*(at_least if exactly is None else exactly), names[row])
                make = partial(self._plan, row, place, cost) if at < self._exact else None
                candidate = Candidate(row, key if is_whole else key[:-1], by_room[turn], make)
                heappush(waiting, (key, place, candidate))
            while waiting and (later is None or waiting[0][0] < later):
                key, _, candidate = heappop(waiting)
                yield key, candidate

    def _plan(self, row: int, place: int, cost: Rank) -> Plan:
        """Made together with those that are asked for next."""
        if row not in self._made:
            ahead = self._order[place : place + self._potential.question.most]
            nodes = {*self._rows[ahead[ahead < self._exact]].tolist()}
            self._made.update(_plans_on(sorted(nodes), self._potential, self._seen))
        self._made[row].cost.learn([float(value) for value in cost])
        return self._made[row]


def _equal_beginnings(numbers: Sequence[int], bounds: Sequence[Rank], later: Rank | None, size: int) -> Mask:
    """[turn] whether another node, or what comes later, has the same first bounds. ``numbers``: of nodes."""
    nodes_of: dict[Rank, set[int]] = {later[:size]: {NOWHERE}} if later is not None else {}
    for number, bound in zip(numbers, bounds, strict=True):
        nodes_of.setdefault(bound[:size], set()).add(number)
    return np.array([len(nodes_of[bound[:size]]) > 1 for bound in bounds], np.bool_)


def _turn_of(place: int, parts: Sequence[Candidates]) -> int:
    """Which part a place in the list of all candidates is in."""
    for turn, part in enumerate(parts):
        if place < len(part.nodes):
            return turn
        place -= len(part.nodes)
    return len(parts)


def _plans_on(rows: Sequence[int], potential: PotentialNodes, seen: PlanBounds) -> dict[int, Plan]:
    """The best of the plans that are known on each of these nodes (rows)."""
    question, node_units, units = potential.question, seen.node_units, potential.evictable.units
    names, prices = question.view.nodes.names, potential.evictable.prices
    wanted = mask_of(np.searchsorted(node_units.nodes, rows), len(node_units.nodes))
    found: dict[int, list[Plan]] = {row: [] for row in rows}
    for outcome, part in zip(seen.outcomes, seen.exact, strict=True):
        here = np.flatnonzero(wanted[outcome.nodes])
        at = outcome.nodes[here]
        gone, numbers = outcome.victims[:, here].T, node_units.units[:, at].T  # [node, slot]
        stays = node_units.there[:, at].T & ~gone
        victims, spared, begin = iter(units.made(numbers[gone])), numbers[stays], 0
        counts = gone.sum(axis=1), np.cumsum(stays.sum(axis=1))
        columns = *counts, outcome.broken[here], outcome.ceiling[here], part.groups_broken[here]
        for row, count, end, broken, ceiling, gangs_broken in zip(
            node_units.nodes[at].tolist(), *(column.tolist() for column in columns), strict=True
        ):
            evicted = tuple(islice(victims, count))
            plan = Plan(
                domain=names[row],
                placement=Placement((row,)),
                victims=evicted,
                spared=Listing(units, spared[begin:end]),
                broken=broken,
                ceiling=None if ceiling == NO_CEILING else int(ceiling),
                pods=question.demand.pods,
                gangs_broken=gangs_broken,
                cost=prices.of(evicted, broken),
            )
            begin = end
            if all(evicted != other.victims for other in found[row]):
                found[row].append(plan)
    return {
        row: plans[0] if len(plans) == 1 else min(plans, key=lambda plan: plan.cost)
        for row, plans in found.items()
    }


def lower_bounds(parts: Sequence[Candidates], order: Sequence[Criterion]) -> list[Ints | Floats]:
    """[criterion, candidate] the bounds by the criteria in turn, up to the first criterion that has none.

    Costs are compared from the left. Bounds by each criterion make a bound of the whole cost. But where two
    plans tie up to a criterion without a bound, that one may decide either way, so no later bound helps.
    """
    bounds: list[Ints | Floats] = []
    for criterion in order:
        if criterion.measures_plans and criterion.bound is None:
            break
        first, *others = (criterion.at_least(part) for part in parts)
        bounds.append(np.concatenate([first, *others]) if others else first)
    return bounds


def plan_bounds(potential: PotentialNodes) -> PlanBounds:
    node_units, is_clear = potential.node_units, potential.is_clear[potential.node_units.nodes]
    clear = ClearNodes.of(potential if is_clear.all() else potential.on(is_clear))
    outcomes = outcomes_on(clear)
    known = clear.node_units.nodes[outcomes[0].nodes]
    if len(known) == len(node_units.nodes):
        bounded = NO_CANDIDATES
    else:
        bounded = closely_bounded(potential.on(~mask_of(known, len(potential.by_room))[node_units.nodes]))
    return PlanBounds(
        exact=tuple(map(clear.candidates, outcomes)),
        bounded=bounded,
        clear=clear,
        outcomes=outcomes,
    )
