"""A good plan at once, for equal members: all units go, and are put back by room and price.

The unit that takes the fewest members' room for its price is put back first, as long as enough room is left.
Units that do not meet on a node go back together, so that a large room takes few rounds. What is found is
seldom the best. A solver starts from it, and it is used where there is no effort for one.
"""

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.least_disturbance.model import (
    Counts,
    Item,
    Measure,
    RoomModel,
    Term,
    capacities,
)

_NEXT = 1e-4  # what a criterion weighs beside the one before it; only the order of trials depends on it
_SIZE = 0.1  # what room weighs that takes no member's place yet, but brings nodes closer to it
_HARM = 1e6  # what it weighs that a unit, with the others that go, exceeds a budget
_AT_ONCE = 12  # the twelfth part of the units that can stay may go back in one round
_SPARE_NODES = 4  # for each member, so many nodes are looked at that no unit ties to others


def first_plan(model: RoomModel) -> Counts | None:
    """Which units go; None if there is not enough room without all of them."""
    room = _Room(model)
    if room.seats < model.target:
        return None
    room.put_back()
    return room.counts()


class _Room:
    """What nodes have left, in columns, while units are put back."""

    def __init__(self, model: RoomModel) -> None:
        self._model, cells = model, model.cells
        self._needs = np.array(model.needs[0], np.int64)
        price = weights_of(model)
        helpful = self._helpful_items(price)
        # One entry for each unit; the more important ones come first, and win ties.
        counts = np.where(helpful, cells.units, 0)
        self._items = np.repeat(np.arange(len(counts)), counts)[::-1]
        listed = [model.items[i] for i in self._items.tolist()]
        entries = cells.of_items(self._items)
        self._node, self._used = cells.node[entries.cells], cells.used[entries.cells]
        self._unit = entries.places
        shares = (self._used / np.maximum(self._needs, 1)).max(axis=1, initial=0.0)
        self._size = np.bincount(self._unit, shares, len(listed))  # in members, whether or not they would fit
        self._left = cells.left.copy()
        np.add.at(self._left, self._node, self._used)
        self._fits = self._capacity(self._left)
        # Elsewhere any number of units can go back: none of them takes a member's place.
        tight = (self._fits > self._capacity(cells.left))[self._node]
        self._unit, self._node, self._used = self._unit[tight], self._node[tight], self._used[tight]
        self._lost = np.zeros(len(self._unit), np.int64)  # [cell] members that lose their place there
        self._weigh(np.arange(len(self._unit)))
        self._gone = np.ones(len(listed), np.bool_)
        self._price = price[self._items]
        self._budgets = Charges(model, listed)

    def _weigh(self, cells: Ints) -> None:
        nodes = self._node[cells]
        self._lost[cells] = self._fits[nodes] - self._capacity(self._left[nodes] - self._used[cells])

    def _helpful_items(self, price: Floats) -> Mask:
        """[item] whether its units are of use: on nodes where more members fit without any of its units.

        Of nodes whose units run nowhere else and share no budget, only the cheapest are looked at: no plan
        uses more nodes than members.
        """
        model, cells = self._model, self._model.cells
        helps = model.capacities(model.emptied()) > model.capacities(cells.left)
        coupled = np.array(model.coupled, np.bool_)
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
        lack = np.maximum((fits[:, None] + 1) * self._needs - cells.left, 0)
        with np.errstate(divide="ignore"):
            rates = price[cells.item, None] / cells.used
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
        spare = self.seats - self._model.target
        while True:
            loss = self._losses()
            stays = self._gone & (loss <= spare)
            if not stays.any():
                return
            worth = (loss + _SIZE * self._size) / (self._price + self._budgets.harm())
            best = np.argsort(np.where(stays, worth, np.inf), kind="stable")
            best = best[: max(1, int(stays.sum()) // _AT_ONCE)]
            apart = self._apart(best) if len(best) > 1 else best
            apart = apart[np.cumsum(loss[apart]) <= spare]
            spare -= int(loss[apart].sum())
            self._return(apart)

    def _losses(self) -> Ints:
        """[unit] how many members lose their place if it alone is put back."""
        return np.bincount(self._unit, self._lost, len(self._gone)).astype(np.int64)

    def _apart(self, units: Ints) -> Ints:
        """Of these units, in their order, those that share no node and no exceeded budget with one before."""
        turn = np.full(len(self._gone), len(units))
        turn[units] = np.arange(len(units))
        here = np.flatnonzero(turn[self._unit] < len(units))
        first = np.full(len(self._fits), len(units))
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
        cells = back[self._unit]
        np.subtract.at(self._left, self._node[cells], self._used[cells])
        touched = np.zeros(len(self._fits), np.bool_)
        touched[self._node[cells]] = True
        self._fits[touched] = self._capacity(self._left[touched])
        self._weigh(np.flatnonzero(touched[self._node]))

    def _capacity(self, left: Ints) -> Ints:
        """[node] how many members fit into so much: no node is in the model that takes none."""
        return capacities(left, self._model.needs[0], self._model.members[0])


class Charges:
    """Budgets that are exceeded by the units that are still gone."""

    def __init__(self, model: RoomModel, units: list[Item]) -> None:
        shares = [(u, b, n) for u, item in enumerate(units) for b, n in item.budgets if b in model.breakable]
        columns = np.array(shares, np.int64).reshape(len(shares), 3).T
        self._unit, self._budget, self._pods = columns
        self._units = len(units)
        self._over = np.bincount(self._budget, self._pods, len(model.allowances)) - model.allowances
        self._harm = self._weighed()

    def harm(self) -> Floats:
        """[unit] what its eviction weighs with that of the others."""
        return self._harm

    def _weighed(self) -> Floats:
        over = np.minimum(self._pods, np.maximum(self._over[self._budget], 0))
        return np.bincount(self._unit, _HARM * over, self._units).astype(np.float64)

    def late(self, turn: Ints) -> Ints:
        """The turns at which a unit is put back that shares an exceeded budget with one before it."""
        shares = np.flatnonzero(self._over[self._budget] > 0)
        turns = turn[self._unit[shares]]
        first = np.full(len(self._over), turn.max(initial=0))
        np.minimum.at(first, self._budget[shares], turns)
        return turns[first[self._budget[shares]] < turns]

    def refund(self, units: Mask) -> None:
        shares = units[self._unit]
        if shares.any():
            np.subtract.at(self._over, self._budget[shares], self._pods[shares])
            self._harm = self._weighed()


def weights_of(model: RoomModel) -> Floats:
    """[item] one number for all criteria that are sums; the first weighs most."""
    sums = [place for place, term in enumerate(model.order) if _has_price(term)]
    prices = np.array([item.prices for item in model.items], np.float64).reshape(-1, len(model.order))[
        :, sums
    ]
    # Each as a part of what a unit costs on average: sums of priorities are large numbers.
    prices = prices / np.maximum(prices.mean(axis=0), 1.0) if len(prices) else prices
    weights: Floats = prices @ (_NEXT ** np.arange(len(sums))) + _NEXT ** len(sums)
    return weights


def _has_price(term: Term) -> bool:
    return term.measured is Measure.SUM and not term.budgets
