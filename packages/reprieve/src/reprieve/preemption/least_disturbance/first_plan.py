"""Where a solver starts: a good plan at once, in the part of the room in which a better one may be.

What is found is seldom the best, and is used as it is where there is no effort for a solver. For equal
members, all units go, and are put back by room and price as long as enough room is left. Members of several
shapes take seats, and units are put back around them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.least_disturbance.improve import Solution
from reprieve.preemption.least_disturbance.model import (
    Counts,
    Item,
    Measure,
    RoomModel,
    Seats,
    Term,
    capacities,
)

_LEVELS = 5  # ceilings for which a first plan is made
_ROUNDS = 3  # in which members of several shapes choose their seats
_NEXT = 1e-4  # what a criterion weighs beside the one before it; only the order of trials depends on it
_SIZE = 0.1  # what room weighs that takes no member's place yet, but brings nodes closer to it
_EXCESS = 1e6  # what each pod weighs by which a unit, with the others that go, exceeds a budget
_AT_ONCE = 12  # the twelfth part of the units that can stay may go back in one round
_SPARE_NODES = 4  # for each member, so many nodes are looked at that no unit ties to others


class Rooms(Protocol):
    """Models of one room, each without units above a priority. A model is one of them."""

    @property
    def order(self) -> tuple[Term, ...]: ...
    @property
    def levels(self) -> Sequence[float]: ...
    @property
    def levels_within_budgets(self) -> Sequence[float]: ...
    def below(self, ceiling: float, /) -> RoomModel: ...


def begun(rooms: Rooms, known: Callable[[RoomModel], Solution | None]) -> tuple[RoomModel, Solution | None]:
    """The model to search in, and the best of the first plans there and of one that is known.

    Without units above the lowest ceiling for which a first plan costs nothing by the criteria that come
    before the priority: those can only make a plan worse.
    """
    at, firsts = _place_of_priority(rooms.order) or 0, list[Solution]()
    for ceiling in _ceilings(rooms):
        model = rooms.below(ceiling)
        first = _first(model)
        if first is not None:
            counts, seats = first
            firsts.append(Solution(model.units_of(counts), seats))
            if model.permits(counts) and not any(model.cost(counts)[:at]):
                break
    else:
        model = rooms.below(math.inf)
    return model, best_of(model, [one for one in (known(model), *firsts) if one is not None])


def best_of(model: RoomModel, found: Iterable[Solution]) -> Solution | None:
    """The first of the best that the model permits."""
    counted = [(one, model.counts_of(one.units) or {}) for one in found]
    permitted = [(model.cost(counts), one) for one, counts in counted if model.permits(counts)]
    return min(permitted, key=lambda pair: pair[0], default=(None, None))[1]


def worth_solving(model: RoomModel, start: Solution | None) -> RoomModel:
    """Without units above the highest of a plan that costs nothing by the criteria before the priority."""
    counts = model.counts_of(start.units) if start is not None else None
    at = _place_of_priority(model.order)
    if counts is None or at is None:
        return model
    cost = model.cost(counts)
    return model if any(cost[:at]) else model.below(cost[at])


def _ceilings(rooms: Rooms) -> Sequence[float]:
    """In the order of their promise: where a budget must break, only after the others."""
    order, at = rooms.order, _place_of_priority(rooms.order)
    if at is None:
        return [math.inf] if rooms.levels else []
    if not any(term.budgets for term in order[:at]):
        return rooms.levels[:_LEVELS]
    first = rooms.levels_within_budgets[:_LEVELS]
    return [*first, *(level for level in rooms.levels[:_LEVELS] if level not in first)]


def _place_of_priority(order: Sequence[Term]) -> int | None:
    return next((i for i, term in enumerate(order) if term.measured is Measure.PRIORITY), None)


def _first(model: RoomModel) -> tuple[Counts, Seats] | None:
    if len(model.needs) > 1:
        return _first_seats(model)
    counts = _first_plan(model)
    return (counts, {}) if counts is not None else None


# --- equal members -------------------------------------------------------------------------------


def _first_plan(model: RoomModel) -> Counts | None:
    """Which units go; None if there is not enough room without all of them."""
    room = _Room(model)
    if room.seats < model.target:
        return None
    room.put_back()
    return room.counts()


class _Room:
    """What nodes have left, in columns, while units are put back.

    Here ``[unit]`` is by place in a list of single units, of all items; the more important units come first,
    and ``[cell]`` is one node of one of them.
    """

    def __init__(self, model: RoomModel) -> None:
        self._model, cells = model, model.cells
        self._needs = np.array(model.needs[0], np.int64)
        price = _weights_of(model)
        helpful = self._helpful_items(price)
        # Items come with the least important first: turned round, the more important unit wins a tie.
        counts = np.where(helpful, cells.units, 0)
        self._items = np.repeat(np.arange(len(counts)), counts)[::-1]
        listed = [model.items[i] for i in self._items.tolist()]
        entries = cells.of_items(self._items)
        self._node, self._used = cells.node[entries.cells], cells.used[entries.cells]
        self._unit = entries.places
        shares = (self._used / np.maximum(self._needs, 1)).max(axis=1, initial=0.0)
        self._size = np.bincount(self._unit, shares, len(listed))  # in members, whether or not they would fit
        self._left = cells.left.copy()  # [node, resource] with the units gone that were not put back
        np.add.at(self._left, self._node, self._used)
        self._fits = self._capacity(self._left)  # [node] members
        # Elsewhere any number of units can go back: none of them takes a member's place.
        tight = (self._fits > self._capacity(cells.left))[self._node]
        self._unit, self._node, self._used = self._unit[tight], self._node[tight], self._used[tight]
        self._lost = np.zeros(len(self._unit), np.int64)  # [cell] members that lose their place there
        self._weigh(np.arange(len(self._unit)))
        self._gone = np.ones(len(listed), np.bool_)  # [unit] was not put back
        self._price = price[self._items]
        self._budgets = _Charges(model, listed)

    def _weigh(self, cells: Ints) -> None:
        """Count anew how many members lose their place if these cells' units are put back, each alone."""
        nodes = self._node[cells]
        self._lost[cells] = self._fits[nodes] - self._capacity(self._left[nodes] - self._used[cells])

    def _helpful_items(self, price: Floats) -> Mask:
        """[item] whether its units are of use: on nodes where more members fit without any of its units.

        Of nodes whose units run nowhere else and share no budget, only the cheapest are looked at: no plan
        uses more nodes than members.
        """
        model, cells = self._model, self._model.cells
        helps = model.capacities(model.emptied()) > model.capacities(cells.left)
        coupled = np.array(model.coupled, np.bool_)  # [item]
        tied = np.zeros(len(helps), np.bool_)
        tied[cells.node[coupled[cells.item]]] = True
        free = np.flatnonzero(helps & ~tied)
        most = _SPARE_NODES * model.target
        if len(free) > most:
            dear = self._prices_of_room(price)[free]
            helps[free[np.argsort(dear, kind="stable")[most:]]] = False
        helpful = np.zeros(len(model.items), np.bool_)
        helpful[cells.item[helps[cells.node]]] = True
        return helpful

    def _prices_of_room(self, price: Floats) -> Floats:
        """[node] what room for one member more costs, if units could be evicted in part: the cheapest."""
        model, cells = self._model, self._model.cells
        fits = model.capacities(cells.left)
        lack = np.maximum((fits[:, None] + 1) * self._needs - cells.left, 0)  # [node, resource]
        with np.errstate(divide="ignore"):  # what a unit does not use, it cannot free at any price
            rates = price[cells.item, None] / cells.used  # [cell, resource]
        least = np.full(lack.shape, np.inf)
        np.minimum.at(least, cells.node, rates)
        prices: Floats = np.where(lack > 0, lack * np.where(np.isfinite(least), least, 0.0), 0.0).max(axis=1)
        return prices

    @property
    def seats(self) -> int:
        return int(self._fits.sum())

    def counts(self) -> Counts:
        items, counts = np.unique(self._items[self._gone], return_counts=True)
        return dict(zip(items.tolist(), counts.tolist(), strict=True))

    def put_back(self) -> None:
        # How many members may still lose their place.
        spare = self.seats - self._model.target
        while True:
            loss = self._losses()
            stays = self._gone & (loss <= spare)
            if not stays.any():
                return
            # The room that a unit takes for its price: the least goes back first.
            worth = (loss + _SIZE * self._size) / (self._price + self._budgets.excess())
            best = np.argsort(np.where(stays, worth, np.inf), kind="stable")
            best = best[: max(1, int(stays.sum()) // _AT_ONCE)]
            apart = self._apart(best) if len(best) > 1 else best
            # Of units that share no node, the members that lose their place add up.
            apart = apart[np.cumsum(loss[apart]) <= spare]
            spare -= int(loss[apart].sum())
            self._return(apart)

    def _losses(self) -> Ints:
        """[unit] how many members lose their place if it alone is put back."""
        return np.bincount(self._unit, self._lost, len(self._gone)).astype(np.int64)

    def _apart(self, units: Ints) -> Ints:
        """Leave out units that share a node or an exceeded budget with one before them in this order."""
        turn = np.full(len(self._gone), len(units))  # [unit] its place in the order; the last one: not in it
        turn[units] = np.arange(len(units))
        here = np.flatnonzero(turn[self._unit] < len(units))
        first = np.full(len(self._fits), len(units))  # [node] the first turn at which one of its units is
        np.minimum.at(first, self._node[here], turn[self._unit[here]])
        late = here[first[self._node[here]] < turn[self._unit[here]]]
        meets = np.zeros(len(units) + 1, np.bool_)
        meets[turn[self._unit[late]]] = True
        meets[self._budgets.late(turn)] = True
        return units[~meets[:-1]]

    def _return(self, units: Ints) -> None:
        back = np.zeros(len(self._gone), np.bool_)
        back[units] = True
        self._gone &= ~back
        self._budgets.refund(back)
        cells = np.flatnonzero(back[self._unit])
        nodes = self._node[cells]  # each once: the units share none
        self._left[nodes] -= self._used[cells]
        self._fits[nodes] = self._capacity(self._left[nodes])
        touched = np.zeros(len(self._fits), np.bool_)
        touched[nodes] = True
        self._weigh(np.flatnonzero(touched[self._node] & self._gone[self._unit]))

    def _capacity(self, left: Ints) -> Ints:
        """[node] how many members fit into so much: no node is in the model that takes none."""
        return capacities(left, self._model.needs[0], self._model.members[0])


# --- members of several shapes -------------------------------------------------------------------


def _first_seats(model: RoomModel) -> tuple[Counts, Seats] | None:
    """Which units go, and where members sit; None if not as many as are needed find a seat in this way."""
    best: tuple[Counts, Seats] | None = None
    gone: Counts = {}
    for _ in range(_ROUNDS):
        seating = _Seating(model, gone)
        if not seating.seat_all():
            break
        gone = seating.put_back()
        if best is not None and model.cost(gone) >= model.cost(best[0]):
            break
        best = gone, seating.seats
    return best


class _Seating:
    """Members on nodes. ``gone``: units that go anyway; all others can go, but that has its price."""

    def __init__(self, model: RoomModel, gone: Counts) -> None:
        self._model = model
        self._needs = np.array(model.needs, np.int64)
        # [shape, node]
        self._usable = np.array([[s in by for by in model.usable_by] for s in range(len(model.needs))])
        self._emptied = self._left_without({i: len(item.units) for i, item in enumerate(model.items)})
        # [node, resource] what is left if all units, or only these, are gone; members take from both.
        self._left = self._left_without(gone)
        self._requested = np.zeros(self._left.shape, np.bool_)  # [node, resource] a member there asks for it
        self.seats: Seats = {}

    def _left_without(self, gone: Counts) -> Ints:
        """[node, resource]"""
        left = np.array(self._model.left, np.int64).reshape(len(self._model.left), self._needs.shape[1])
        for i, count in gone.items():
            for node, used in self._model.items[i].footprint:
                left[node] += np.array(used, np.int64) * count
        return left

    def seat_all(self) -> bool:
        """Give seats to the smallest members that are enough; of these the largest choose first.

        False if one finds none.
        """
        average = np.maximum(self._emptied.mean(axis=0), 1)  # [resource] of a node
        size = (self._needs / average).max(axis=1, initial=0.0)
        smallest = sorted(
            (shape for shape, count in enumerate(self._model.members) for _ in range(count)),
            key=lambda shape: (size[shape], shape),
        )
        return all(self._seat(shape) for shape in reversed(smallest[: self._model.target]))

    def _seat(self, shape: int) -> bool:
        needs = self._needs[shape]
        asked = needs > 0
        fits: Mask = self._usable[shape] & (self._emptied[:, asked] >= needs[asked]).all(axis=1)
        if not fits.any():
            return False
        # [node, resource] in shares of what the member needs; the resource that is shortest there counts
        lacking = np.maximum(needs[asked] - self._left[:, asked], 0) / needs[asked]
        short = np.where(fits, lacking.max(axis=1, initial=0.0), np.inf)
        node = int(short.argmin())
        self._emptied[node] -= needs
        self._left[node] -= needs
        self._requested[node] |= asked
        self.seats[node, shape] = self.seats.get((node, shape), 0) + 1
        return True

    def put_back(self) -> Counts:
        """The units that cannot stay beside the members, after the dearest for their room had their turn."""
        model = self._model
        units = [i for i, item in reversed([*enumerate(model.items)]) for _ in item.units]
        items = [model.items[i] for i in units]
        price = _weights_of(model)[units] + _Charges(model, items).excess()
        needs = np.maximum(self._needs.max(axis=0), 1)
        room = np.array([sum((np.array(used) / needs).max() for _, used in item.footprint) for item in items])
        gone: Counts = {}
        for u in np.lexsort((np.arange(len(units)), -price / np.maximum(room, 1e-9))).tolist():
            if not self._put_back_one(units[u]):
                gone[units[u]] = gone.get(units[u], 0) + 1
        return gone

    def _put_back_one(self, item: int) -> bool:
        """Put a unit of the item back; False if a member has its room, of a resource that it requests."""
        footprint = [(node, np.array(used, np.int64)) for node, used in self._model.items[item].footprint]
        for node, used in footprint:
            requested = self._requested[node]
            if (self._emptied[node][requested] < used[requested]).any():
                return False
        for node, used in footprint:
            self._emptied[node] -= used
        return True


# --- what units weigh ----------------------------------------------------------------------------


class _Charges:
    """By how much the units that are still gone exceed budgets, and what that weighs in the order of trials.

    ``[share]`` is one budget that a unit is charged to. Only budgets that all units together exceed are here.
    """

    def __init__(self, model: RoomModel, units: list[Item]) -> None:
        shares = [(u, b, n) for u, item in enumerate(units) for b, n in item.budgets if b in model.breakable]
        columns = np.array(shares, np.int64).reshape(len(shares), 3).T
        self._unit, self._budget, self._pods = columns
        self._units = len(units)
        # [budget] by how many pods it is exceeded; less than zero if more could go
        self._over = np.bincount(self._budget, self._pods, len(model.allowances)) - model.allowances
        self._excess = self._weighed()

    def excess(self) -> Floats:
        """[unit] what its part in exceeded budgets weighs, as things are."""
        return self._excess

    def _weighed(self) -> Floats:
        over = np.minimum(self._pods, np.maximum(self._over[self._budget], 0))
        return np.bincount(self._unit, _EXCESS * over, self._units).astype(np.float64)

    def late(self, turn: Ints) -> Ints:
        """The turns at which a unit is put back that shares an exceeded budget with one before it.

        turn  [unit]  see ``_Room._apart``
        """
        shares = np.flatnonzero(self._over[self._budget] > 0)
        turns = turn[self._unit[shares]]
        first = np.full(len(self._over), turn.max(initial=0))
        np.minimum.at(first, self._budget[shares], turns)
        return turns[first[self._budget[shares]] < turns]

    def refund(self, units: Mask) -> None:
        shares = units[self._unit]
        if shares.any():
            np.subtract.at(self._over, self._budget[shares], self._pods[shares])
            self._excess = self._weighed()


def _weights_of(model: RoomModel) -> Floats:
    """[item] one number for all criteria that are sums; the first weighs most.

    Only the order of trials depends on it: plans are compared criterion by criterion.
    """
    sums = [place for place, term in enumerate(model.order) if _has_price(term)]
    prices = np.array([item.prices for item in model.items], np.float64).reshape(-1, len(model.order))[
        :, sums
    ]
    # [item, criterion] each as a part of what a unit costs on average: sums of priorities are large numbers.
    prices = prices / np.maximum(prices.mean(axis=0), 1.0) if len(prices) else prices
    weights: Floats = prices @ (_NEXT ** np.arange(len(sums))) + _NEXT ** len(sums)
    return weights


def _has_price(term: Term) -> bool:
    return term.measured is Measure.SUM and not term.budgets
