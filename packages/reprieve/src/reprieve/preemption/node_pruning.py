"""On which of thousands of nodes is it worth making a plan for one pod?

Which units are the victims on each node, or at least how many there are and of which priority, is worked
out for all nodes at once, in columns. From these the criteria of the ranking derive lower bounds; the search
looks at nodes in the order of the bounds, and stops when no other node can win. Where the victims are known,
so is the plan.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from heapq import heappop, heappush
from itertools import compress
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

Rank = tuple[float | str, ...]  # what a plan costs by each criterion, and its name
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
    def rough_bounds(self) -> list[Ints | Floats]:
        return lower_bounds([self.rough], self.question.criteria)

    def worth_planning(self) -> Iterator[Candidate]:
        """The nodes where there may be a plan, in the order of their lower bounds.

        Nodes are taken up by rough bounds, some at a time, and then ordered by what the closer look found.
        """
        heads: list[tuple[Rank, int, Candidate]] = []
        streams: list[Iterator[tuple[Rank, Candidate]]] = []
        done = set[int]()
        for chosen, later in self._portions():
            streams.append(_ranked(self.potential.on(chosen)))
            _advance(streams, len(streams) - 1, heads)
            while heads and (later is None or heads[0][0] < later):
                _, number, candidate = heappop(heads)
                _advance(streams, number, heads)
                if candidate.node not in done:  # by another order of its units
                    done.add(candidate.node)
                    yield candidate

    def _portions(self) -> Iterator[tuple[Mask | None, Rank | None]]:
        """Which nodes come next, None: all of them; and the least that a plan on any of those left can be,
        None: none are left.
        """
        question, rows = self.question, self.potential.node_units.nodes
        most = question.shortcuts.victims
        if len(rows) <= most:
            yield None, None
            return
        bounds, names = self.rough_bounds, question.view.nodes.names
        order = in_order(question.view.nodes.rank[rows], bounds)
        if question.policy.breaks_no_budget:
            order = order[fewest_budgets_broken(self.rough)[order] == 0]
        first, size = 0, max(1, most // 8)
        while first < len(order):
            last, size = first + size, size * 2
            later = None
            if last < len(order):
                later = (*(bound[order[last]].item() for bound in bounds), names[rows[order[last]]])
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


def _ranked(potential: PotentialNodes) -> Iterator[tuple[Rank, Candidate]]:
    """Nodes in the order of their lower bounds; where the victims are known, that is what a plan costs."""
    question = potential.question
    seen, nodes, order_of = plan_bounds(potential), question.view.nodes, question.criteria
    parts = [part for part in (*seen.exact, seen.bounded) if len(part.nodes)]
    if not parts:
        return
    rows, bounds = np.concatenate([part.nodes for part in parts]), lower_bounds(parts, order_of)
    order = in_order(nodes.rank[rows], bounds)
    if question.policy.breaks_no_budget:
        broken = np.concatenate([fewest_budgets_broken(part) for part in parts])
        order = order[broken[order] == 0]
    exact, places = len(rows) - len(seen.bounded.nodes), order.tolist()
    made: dict[int, Plan] = {}

    def known(row: int, turn: int, cost: Rank) -> Plan:
        """Made together with those that are asked for next."""
        if row not in made:
            ahead = {int(rows[i]) for i in places[turn : turn + question.most] if i < exact}
            made.update(_plans_on(sorted(ahead), potential, seen))
        made[row].cost.learn([float(value) for value in cost])
        return made[row]

    is_whole = len(bounds) == len(order_of)
    quick = min(potential.evictable.prices.quick(order_of), len(bounds))
    waiting: list[tuple[Rank, int, Candidate]] = []
    for first in range(0, len(places), _AT_A_TIME):
        last = first + _AT_A_TIME
        part = order[first:last]
        columns = [bound[part].tolist() for bound in bounds]
        bounded: list[Rank] = [*zip(*columns, strict=True)] if columns else [()] * len(part)
        numbers, by_room = rows[part].tolist(), potential.by_room[rows[part]].tolist()
        later: Rank | None = None
        if last < len(places):
            least = (bound[places[last]].item() for bound in bounds)
            later = (*least, nodes.names[rows[places[last]]])
        costs: dict[tuple[int, int], Rank] = {}
        if quick < len(bounds):  # what takes long to work out is needed where all before it is equal
            tied = _equal_beginnings(numbers, bounded, later, quick)
            costs = seen.costs(rows[part[tied & (part < exact)]], order_of)
        for turn, (row, at_least) in enumerate(zip(numbers, bounded, strict=True)):
            at, place = places[first + turn], first + turn
            exactly = costs.get((row, _turn_of(at, parts))) if costs else None
            cost = at_least[:quick] if exactly is None else exactly
            key = (*(at_least if exactly is None else exactly), nodes.names[row])
            make = partial(known, row, place, cost) if at < exact else None
            candidate = Candidate(row, key if is_whole else key[:-1], by_room[turn], make)
            heappush(waiting, (key, place, candidate))
        while waiting and (later is None or waiting[0][0] < later):
            key, _, candidate = heappop(waiting)
            yield key, candidate


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
    question, node_units = potential.question, seen.node_units
    places = np.searchsorted(node_units.nodes, rows)
    there = node_units.there[:, places].T
    units = potential.evictable.units.made(node_units.units[:, places].T[there])
    ends = np.cumsum(there.sum(axis=1)).tolist()
    found: dict[int, list[Plan]] = {row: [] for row in rows}
    for outcome, part in zip(seen.outcomes, seen.exact, strict=True):
        at = np.searchsorted(outcome.nodes, places)
        is_known = np.append(outcome.nodes, NOWHERE)[at] == places
        gone = np.zeros(there.shape, np.bool_)
        gone[is_known] = outcome.victims[:, at[is_known]].T
        goes, stays = gone[there].tolist(), (~gone)[there].tolist()
        numbers, known = np.flatnonzero(is_known).tolist(), at[is_known]
        columns = (column[known].tolist() for column in (outcome.broken, outcome.ceiling, part.groups_broken))
        for number, broken, ceiling, gangs_broken in zip(numbers, *columns, strict=True):
            mine = slice(ends[number - 1] if number else 0, ends[number])
            victims = tuple(compress(units[mine], goes[mine]))
            plan = Plan(
                domain=question.view.nodes.names[rows[number]],
                placement=Placement((rows[number],)),
                victims=victims,
                spared=tuple(compress(units[mine], stays[mine])),
                broken=broken,
                ceiling=None if ceiling == NO_CEILING else int(ceiling),
                pods=question.demand.pods,
                gangs_broken=gangs_broken,
                cost=potential.evictable.prices.of(victims, broken),
            )
            if all(plan.victims != other.victims for other in found[rows[number]]):
                found[rows[number]].append(plan)
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
