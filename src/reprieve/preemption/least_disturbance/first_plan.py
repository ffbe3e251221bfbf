"""A good plan at once, for equal members: all units go, and are put back by room and price.

The unit that takes the fewest members' room for its price is put back first, as long as enough room is left.
What is found is seldom the best. A solver starts from it, and it is used where there is no effort for one.
"""

import numpy as np

from reprieve.model.columns import Floats, Ints
from reprieve.preemption.least_disturbance.costs import Disturbance
from reprieve.preemption.least_disturbance.model import Counts, Item, RoomModel
from reprieve.preemption.least_disturbance.patterns import EvictionPatterns

_NEXT = 1e-4  # what a criterion weighs beside the one before it; only the order of trials depends on it
_SIZE = 0.1  # what room weighs that takes no member's place yet, but brings nodes closer to it
_HARM = 1e6  # what it weighs that a unit, with the others that go, exceeds a budget


def first_plan(model: RoomModel, patterns: EvictionPatterns) -> Counts | None:
    """Which units go; None if there is not enough room without all of them."""
    items = {i for pattern in patterns.listed for i, _ in pattern.counts}
    items.update(i for node in patterns.dense for i, _ in model.items_at[node])
    room = _Room(model, sorted(items, reverse=True))
    if room.seats < model.target:
        return None
    room.put_back()
    return room.counts()


class _Room:
    """What nodes have left, in columns, while units are put back one by one."""

    def __init__(self, model: RoomModel, items: list[int]) -> None:
        self._model = model
        # One entry for each unit; the more important ones come first, and win ties.
        self._items = [i for i in items for _ in model.items[i].units]
        listed = [model.items[i] for i in self._items]
        pairs = [(u, node, used) for u, item in enumerate(listed) for node, used in item.footprint]
        width = len(model.needs[0])
        self._unit = np.array([u for u, _, _ in pairs], np.int64)
        self._node = np.array([node for _, node, _ in pairs], np.int64)
        self._used = np.array([used for _, _, used in pairs], np.int64).reshape(len(pairs), width)
        self._left = np.array(model.left, np.int64).reshape(len(model.left), width)
        np.add.at(self._left, self._node, self._used)
        self._needs = np.array(model.needs[0], np.int64)
        self._fits = self._capacity(self._left)
        self._pairs_at = _Grouped(self._node, len(model.left))
        self._pairs_of = _Grouped(self._unit, len(listed))
        self._loss_of_pair = self._losses(np.arange(len(pairs)))
        self._loss = np.bincount(self._unit, self._loss_of_pair, len(listed)).astype(np.int64)
        self._gone = np.ones(len(listed), np.bool_)
        self._price = np.array([weight_of(model, item) for item in listed], np.float64)
        shares = (self._used / np.maximum(self._needs, 1)).max(axis=1, initial=0.0)
        self._size = np.bincount(self._unit, shares, len(listed))  # in members, whether or not they would fit
        self._budgets = Charges(model, listed)

    @property
    def seats(self) -> int:
        return int(self._fits.sum())

    def counts(self) -> Counts:
        counts: Counts = {}
        for u in np.flatnonzero(self._gone).tolist():
            counts[self._items[u]] = counts.get(self._items[u], 0) + 1
        return counts

    def put_back(self) -> None:
        spare = self.seats - self._model.target
        while True:
            stays = self._gone & (self._loss <= spare)
            if not stays.any():
                return
            worth = (self._loss + _SIZE * self._size) / (self._price + self._budgets.harm())
            unit = int(np.where(stays, worth, np.inf).argmin())
            spare -= int(self._loss[unit])
            self._return(unit)

    def _return(self, unit: int) -> None:
        self._gone[unit] = False
        self._budgets.refund(unit)
        pairs = self._pairs_of[unit]
        nodes = self._node[pairs]
        self._left[nodes] -= self._used[pairs]
        self._fits[nodes] = self._capacity(self._left[nodes])
        near = np.concatenate([self._pairs_at[node] for node in nodes.tolist()])
        near = near[self._gone[self._unit[near]]]
        losses = self._losses(near)
        np.add.at(self._loss, self._unit[near], losses - self._loss_of_pair[near])
        self._loss_of_pair[near] = losses

    def _losses(self, pairs: Ints) -> Ints:
        nodes = self._node[pairs]
        return self._fits[nodes] - self._capacity(self._left[nodes] - self._used[pairs])

    def _capacity(self, left: Ints) -> Ints:
        asked = self._needs > 0
        most = self._model.members[0]
        fits: Ints = (left[:, asked] // self._needs[asked]).min(axis=1, initial=most)
        return np.maximum(fits, 0)


class Charges:
    """Budgets that are exceeded by the units that are still gone."""

    def __init__(self, model: RoomModel, units: list[Item]) -> None:
        shares = [(u, b, n) for u, item in enumerate(units) for b, n in item.budgets if b in model.breakable]
        columns = np.array(shares, np.int64).reshape(len(shares), 3).T
        self._unit, self._budget, self._pods = columns
        self._units = len(units)
        self._over = np.bincount(self._budget, self._pods, len(model.allowances)) - model.allowances
        self._shares = _Grouped(self._unit, len(units))
        self._harm = self._weighed()

    def harm(self) -> Floats:
        """[unit] what its eviction weighs with that of the others."""
        return self._harm

    def _weighed(self) -> Floats:
        over = np.minimum(self._pods, np.maximum(self._over[self._budget], 0))
        return np.bincount(self._unit, _HARM * over, self._units).astype(np.float64)

    def refund(self, unit: int) -> None:
        shares = self._shares[unit]
        if len(shares):
            self._over[self._budget[shares]] -= self._pods[shares]
            self._harm = self._weighed()


class _Grouped:
    """By key: the places that have it."""

    def __init__(self, keys: Ints, size: int) -> None:
        self._order = np.argsort(keys, kind="stable")
        self._bounds = np.searchsorted(keys[self._order], np.arange(size + 1)).tolist()

    def __getitem__(self, key: int) -> Ints:
        return self._order[self._bounds[key] : self._bounds[key + 1]]


def weight_of(model: RoomModel, item: Item) -> float:
    """One number for all criteria that are sums; the first weighs most."""
    sums = [p for c, p in zip(model.order, item.prices, strict=True) if c not in _NO_PRICE]
    return sum(price * _NEXT**place for place, price in enumerate(sums)) + _NEXT ** len(sums)


_NO_PRICE = (Disturbance.BUDGETS_BROKEN, Disturbance.HIGHEST_PRIORITY)
