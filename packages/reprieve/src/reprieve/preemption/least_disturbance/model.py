"""What a solver needs of a question, in plain numbers: members, nodes, and units that can make room.

The model is small enough to be handed to another process, and free of rows of a snapshot but for the numbers
of units and nodes in the answer. It covers room alone: constraints between pods are checked when a plan is
verified.

Equal members have one shape. Tuples are by place: of a node, an
item, a shape, a resource that any member requests, a budget.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.gangs import GroupNeeds

Amounts = tuple[int, ...]  # of each resource
Footprint = tuple[tuple[int, Amounts], ...]  # nodes, and what one unit uses of each
Shares = tuple[tuple[int, int], ...]  # budgets, and with how many pods of a unit each is charged
Costs = tuple[float, ...]  # by each term; the smallest wins


class Measure(StrEnum):
    """What a term of the model measures."""

    SUM = "Sum"  # of what units cost alone
    HIGHEST = "Highest"
    PRIORITY = "Priority"  # the highest
    EARLIEST_START = "EarliestStart"  # of the units of the highest priority; the later, the better


class Term(NamedTuple):
    """A criterion, in the plain terms of a solver."""

    name: str
    measured: Measure
    budgets: int = 0  # what a pod beyond a budget adds
    idle: int = 0  # what a pod adds that runs on for nothing
    ended: int = 0  # what a group adds that is left with too little


@dataclass(frozen=True, slots=True)
class Item:
    """Units that the model does not tell apart: equal pods of one node, or one group."""

    # The latest start first, and then the least important: if so many are evicted, the first are.
    units: tuple[int, ...]
    starts: tuple[float, ...]  # of the units
    priority: int
    prices: tuple[int, ...]  # of one unit, by each term; without what budgets and groups add
    footprint: Footprint
    budgets: Shares
    group: int  # the leaf that its pods belong to, or NOWHERE
    pods: int  # of one unit

    def not_before(self, start: float) -> "Item":
        """Only the units that started then, or later."""
        return self.first(sum(one >= start for one in self.starts))

    def first(self, count: int) -> "Item":
        """Only so many units."""
        if count >= len(self.units):
            return self
        return replace(self, units=self.units[:count], starts=self.starts[:count])


Seats = dict[tuple[int, int], int]  # members by node and shape
Counts = dict[int, int]  # items, and how many of the units of each are evicted


@dataclass(frozen=True)
class RoomModel:
    """The room that members need, and the units that could make it."""

    order: tuple[Term, ...]
    needs: tuple[Amounts, ...]  # of a member of each shape
    members: tuple[int, ...]  # how many there are of each shape
    target: int  # how many members must get room
    left: tuple[Amounts, ...]  # what each node has left; less than nothing if it is overdrawn
    usable_by: tuple[tuple[int, ...], ...]  # for each node, the shapes whose members it may take
    nodes: tuple[int, ...]  # the row of each in the snapshot
    items: tuple[Item, ...]
    allowances: tuple[int, ...]  # by budget
    groups: GroupNeeds  # those of the items
    shape_of: tuple[int, ...]  # [member]
    breaks_no_budget: bool
    is_exact: bool  # whether room is all that matters: then what holds in the model holds
    barred: tuple[tuple[int, ...], ...] = ()  # units that do not suffice, although they leave enough room

    def below(self, ceiling: float) -> "RoomModel":
        """The model without units above this priority."""
        items = tuple(item for item in self.items if item.priority <= ceiling)
        return self if len(items) == len(self.items) else replace(self, items=items)

    def up_to(self, place: int, most: float) -> "RoomModel":
        """The model without units that cost more than this by a term that is no sum."""
        if self.order[place].measured is Measure.PRIORITY:
            return self.below(most)
        if self.order[place].measured is Measure.HIGHEST:
            return replace(self, items=tuple(item for item in self.items if item.prices[place] <= most))
        top = max((item.priority for item in self.items), default=0)
        cut = (item if item.priority < top else item.not_before(-most) for item in self.items)
        return replace(self, items=tuple(item for item in cut if item.units))

    def within_budgets(self) -> "RoomModel":
        """The model if no budget may be exceeded: without units that exceed one alone."""
        most = ((item, self._affordable(item)) for item in self.items)
        items = tuple(item.first(count) for item, count in most if count > 0)
        return replace(self, items=items, breaks_no_budget=True)

    def _affordable(self, item: Item) -> int:
        """How many of its units exceed no budget, if no other goes."""
        return min((self.allowances[b] // n for b, n in item.budgets if n), default=len(item.units))

    @cached_property
    def levels(self) -> list[float]:
        """The priorities up to which all units together may make enough room; exact for equal members."""
        return levels_of((item.priority for item in self.items), self._may_suffice)

    @cached_property
    def levels_within_budgets(self) -> list[float]:
        """The ``levels`` if no unit goes that exceeds a budget alone. At all others, some budget breaks."""
        exceeding = (any(n > self.allowances[b] for b, n in item.budgets) for item in self.items)
        among = ~np.fromiter(exceeding, np.bool_, len(self.items))
        return levels_of(
            (item.priority for item in self.items), lambda ceiling: self._may_suffice(ceiling, among)
        )

    @cached_property
    def cells(self) -> "Cells":
        return Cells.of(self)

    @cached_property
    def items_at(self) -> list[list[tuple[int, Amounts]]]:
        """[node] the items with units there, and what one unit uses."""
        found: list[list[tuple[int, Amounts]]] = [[] for _ in self.left]
        for i, item in enumerate(self.items):
            for node, used in item.footprint:
                found[node].append((i, used))
        return found

    @cached_property
    def breakable(self) -> frozenset[int]:
        """Budgets that the items together exceed."""
        charged = _charges((item.budgets, len(item.units)) for item in self.items)
        return frozenset(budget for budget, pods in charged.items() if pods > self.allowances[budget])

    @cached_property
    def breakable_groups(self) -> frozenset[int]:
        """Groups that the items together leave with too little."""
        return frozenset(
            self.groups.broken(self.lost({i: len(item.units) for i, item in enumerate(self.items)}))
        )

    @cached_property
    def stoppable(self) -> frozenset[int]:
        """Leaves of which pods may run on for nothing."""
        inside = self.groups.leaves_in
        return frozenset(leaf for group in self.breakable_groups for leaf in inside.get(group, (group,)))

    @cached_property
    def coupled(self) -> list[bool]:
        """[item] whether its eviction matters to more than one node: by its room, a budget or a group."""
        return [
            len(item.footprint) > 1
            or any(budget in self.breakable for budget, _ in item.budgets)
            or item.group in self.stoppable
            for item in self.items
        ]

    def capacity(self, node: int, left: Sequence[int], shape: int = 0) -> int:
        """How many members of a shape fit on a node with so much left, if no other member is there."""
        if shape not in self.usable_by[node]:
            return 0
        needs = self.needs[shape]
        fits = min((have // need for have, need in zip(left, needs, strict=True) if need), default=0)
        return max(0, min(fits, self.members[shape]))

    def _may_suffice(self, ceiling: float, among: Mask | None = None) -> bool:
        """Whether enough members fit with all units up to a priority gone, if each shape had all the room.

        ``among``: [item] if these alone may go.
        """
        gone = self.cells.priority <= ceiling
        left = self.cells.left_without(gone if among is None else gone & among)
        return most_seated(left, self.needs, self.members, self._usable) >= self.target

    def emptied(self) -> Ints:
        """[node, resource] what is left without all units."""
        return self.cells.left_without(np.ones(len(self.items), np.bool_))

    def room(self) -> Ints:
        """[node, resource] what is left with all units where they are."""
        return self.cells.left

    def capacities(self, left: Ints, shape: int = 0) -> Ints:
        """[node] how many members of a shape fit into so much, if no other member is there."""
        return np.where(self._usable[shape], capacities(left, self.needs[shape], self.members[shape]), 0)

    @cached_property
    def _usable(self) -> Mask:
        """[shape, node]"""
        shapes = range(len(self.needs))
        return np.array([[shape in by for by in self.usable_by] for shape in shapes], np.bool_)

    def units_of(self, counts: Counts) -> tuple[int, ...]:
        return tuple(sorted(unit for i, count in counts.items() for unit in self.items[i].units[:count]))

    @cached_property
    def _item_of(self) -> dict[int, int]:
        return {unit: i for i, item in enumerate(self.items) for unit in item.units}

    def counts_of(self, units: Iterable[int]) -> Counts | None:
        """None if the model does not have one of the units."""
        counts: Counts = {}
        for unit in units:
            i = self._item_of.get(unit)
            if i is None:
                return None
            counts[i] = counts.get(i, 0) + 1
        return counts

    def counts_among(self, units: Iterable[int]) -> Counts:
        """Only of the units that the model has."""
        return self.counts_of(unit for unit in units if unit in self._item_of) or {}

    def seats_of(self, nodes: Sequence[int]) -> Seats:
        """A placement (rows, for each member) in words of the model."""
        place_of = {row: place for place, row in enumerate(self.nodes)}
        seats: Seats = {}
        for shape, row in zip(self.shape_of, nodes, strict=True):
            if row in place_of:
                seat = place_of[row], shape
                seats[seat] = seats.get(seat, 0) + 1
        return seats

    def nodes_for(self, seats: Seats) -> list[tuple[int, int]]:
        """Members (positions), and the nodes (rows) that they take."""
        waiting: list[list[int]] = [[] for _ in self.needs]
        for member, shape in enumerate(self.shape_of):
            waiting[shape].append(member)
        return [
            (member, self.nodes[node])
            for (node, shape), count in sorted(seats.items())
            for member in _taken(waiting[shape], count)
        ]

    def has_room(self, counts: Counts, seats: Seats) -> bool:
        """Whether enough members get room by these evictions: in these seats if there are several shapes."""
        left = [list(amounts) for amounts in self.left]
        for i, count in counts.items():
            for node, used in self.items[i].footprint:
                left[node] = [have + amount * count for have, amount in zip(left[node], used, strict=True)]
        if len(self.needs) == 1:
            return sum(self.capacity(node, amounts) for node, amounts in enumerate(left)) >= self.target
        for (node, shape), count in seats.items():
            if shape not in self.usable_by[node]:
                return False
            needs = self.needs[shape]
            left[node] = [have - need * count for have, need in zip(left[node], needs, strict=True)]
        enough = sum(seats.values()) >= self.target
        return enough and all(min(left[node], default=0) >= 0 for node, _ in seats)

    def permits(self, counts: Counts) -> bool:
        """Whether these evictions exceed no budget that must hold, and are not known to be of no use."""
        charged = _charges((self.items[i].budgets, n) for i, n in counts.items())
        is_affordable = not self.breaks_no_budget or all(
            pods <= self.allowances[b] for b, pods in charged.items()
        )
        units = set(self.units_of(counts))
        return is_affordable and not any(units.issubset(barred) for barred in self.barred)

    def without_success(self, units: tuple[int, ...]) -> "RoomModel":
        """The model once the eviction of these units was tried and did not help. Then nothing is exact."""
        return replace(self, barred=(*self.barred, units), is_exact=False)

    def lost(self, counts: Counts) -> dict[int, int]:
        """How many pods each leaf loses."""
        lost: dict[int, int] = {}
        for i, n in counts.items():
            item = self.items[i]
            if item.group != NOWHERE and n:
                lost[item.group] = lost.get(item.group, 0) + n * item.pods
        return lost

    def cost(self, counts: Counts) -> Costs:
        """What these evictions cost, by each term."""
        going = [(self.items[i], n) for i, n in counts.items() if n]
        charged = _charges((item.budgets, n) for item, n in going)
        beyond = sum(max(0, pods - self.allowances[budget]) for budget, pods in charged.items())
        lost = self.lost(counts)
        broken = self.groups.broken(lost)
        idle, ended = self.groups.idle(broken, lost), self.groups.ended(broken)

        def value(place: int, term: Term) -> float:
            match term.measured:
                case Measure.PRIORITY:
                    return max((item.priority for item, _ in going), default=-math.inf)
                case Measure.HIGHEST:
                    return max((item.prices[place] for item, _ in going), default=-math.inf)
                case Measure.EARLIEST_START:
                    top = max((item.priority for item, _ in going), default=0)
                    return -min((i.starts[n - 1] for i, n in going if i.priority == top), default=math.inf)
                case Measure.SUM:
                    alone = sum(item.prices[place] * n for item, n in going)
                    return alone + beyond * term.budgets + idle * term.idle + ended * term.ended

        return tuple(value(place, term) for place, term in enumerate(self.order))


def levels_of(priorities: Iterable[int], may_suffice: Callable[[float], bool]) -> list[float]:
    """The levels from the lowest up to which units may suffice; minus infinity stands for no unit.

    More units make no less room, so the lowest can be bisected.
    """
    levels = [-math.inf, *sorted(set(priorities))]
    return levels[bisect_left(levels, True, key=may_suffice) :]


def capacities(left: Ints, needs: Sequence[int], most: int) -> Ints:
    """[node] how many members with these needs ([resource]) fit into so much, and at most so many.

    left  [node, resource]  less than zero if the node is overdrawn: then it takes no member that asks for it
    """
    fits = np.full(len(left), most)
    for place, need in enumerate(needs):
        if need:
            np.minimum(fits, left[:, place] // need, out=fits)
    np.maximum(fits, 0, out=fits)  # faster than clip, which looks at limits of the type
    return fits


def most_seated(left: Ints, needs: Sequence[Amounts], members: Sequence[int], usable: Mask) -> int:
    """How many members may fit into so much, if each shape had all the room: no fewer than really fit.

    left  [node, resource],  usable  [shape, node]
    """
    shapes = zip(needs, members, usable, strict=True)
    return sum(min(count, int(capacities(left, need, count)[there].sum())) for need, count, there in shapes)


class Entries(NamedTuple):
    cells: Ints
    places: Ints  # for each of these cells, the place in the list of items that was asked for


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The footprints of all items in columns, one cell for each node of each item."""

    left: Ints  # [node, resource] with all units where they are
    item: Ints
    node: Ints
    used: Ints  # [cell, resource] by one unit of the item
    units: Ints  # [item]
    priority: Ints  # [item]
    starts: Ints  # [item] the first of its cells; and the end of the last

    @classmethod
    def of(cls, model: RoomModel) -> "Cells":
        width, items = len(model.needs[0]), model.items
        cells = [cell for item in items for cell in item.footprint]
        sizes = np.fromiter((len(item.footprint) for item in items), np.int64, len(items))
        amounts = chain.from_iterable(used for _, used in cells)
        return cls(
            np.fromiter(chain.from_iterable(model.left), np.int64).reshape(len(model.left), width),
            np.repeat(np.arange(len(items)), sizes),
            np.fromiter((node for node, _ in cells), np.int64, len(cells)),
            np.fromiter(amounts, np.int64, len(cells) * width).reshape(len(cells), width),
            np.fromiter((len(item.units) for item in items), np.int64, len(items)),
            np.fromiter((item.priority for item in items), np.int64, len(items)),
            np.concatenate([[0], np.cumsum(sizes)]),
        )

    def of_items(self, items: Ints) -> Entries:
        """The cells of these items, in their order; an item may be named several times."""
        # [cell asked for] where its item is in the list, and how far it is from the first cell of that item.
        sizes = self.starts[items + 1] - self.starts[items]
        ends = np.cumsum(sizes)
        places = np.repeat(np.arange(len(items)), sizes)
        return Entries(np.arange(len(places)) + (self.starts[items] - (ends - sizes))[places], places)

    def left_without(self, gone: Mask) -> Ints:
        """[node, resource] what is left without all units of these items ([item])."""
        left, cells = self.left.copy(), gone[self.item]
        np.add.at(left, self.node[cells], self.used[cells] * self.units[self.item[cells], None])
        return left


def _taken(waiting: list[int], count: int) -> list[int]:
    taken = waiting[:count]
    del waiting[:count]
    return taken


def _charges(shares: Iterable[tuple[Shares, int]]) -> dict[int, int]:
    """Budgets, and how many pods each is charged with, if so many units go."""
    charged: dict[int, int] = {}
    for share, units in shares:
        for which, pods in share:
            charged[which] = charged.get(which, 0) + pods * units
    return charged
