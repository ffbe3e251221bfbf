"""Lower bounds on what a plan for a group costs: counted in columns, without a model or a solver.

Each node must lose at least so much to take one member, two members and so on; the cheapest nodes together
are a lower bound. A unit that runs on several nodes has its price split evenly over them, so that every node
can be looked at alone. Only room counts, and members that differ count as if all were as small as the
smallest: both make plans cheaper than they are, never dearer. So no plan that satisfies all constraints costs
less than the bound, and a plan that costs as much by every criterion is the best.

In this module ``[unit]`` and ``[node]`` are by place in the reach, and ``[cell]`` is one node of one unit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.criteria import HIGHEST_PRIORITY, LATEST_START, Combined, Criterion
from reprieve.preemption.least_disturbance.model import capacities, levels_of, most_seated
from reprieve.preemption.least_disturbance.model_of_question import Reach
from reprieve.preemption.prices import Evictable

_FEW = 200  # units, of which everything is worked out
_ROUNDING = 2**-48  # more than the rounding errors of a sum, as a part of it: they must not lift a bound


@dataclass(frozen=True, eq=False)
class CountedBound:
    """The bounds on plans for one demand on the nodes in reach."""

    evictable: Evictable
    reach: Reach
    requests: Ints  # [resource, member]
    target: int  # how many members must get room

    @cached_property
    def needs(self) -> Ints:
        """[resource] of the smallest member."""
        smallest: Ints = self.requests.min(axis=1)
        return smallest

    @property
    def members(self) -> int:
        return int(self.requests.shape[1])

    @cached_property
    def together(self) -> Ints:
        """[resource] of as many members as must get room, if the smallest of each resource were enough."""
        together: Ints = np.sort(self.requests, axis=1)[:, : self.target].sum(axis=1)
        return together

    @property
    def has_room(self) -> bool:
        """Whether there may be room as things are, so that something else keeps the members out."""
        return self._may_suffice(np.zeros(len(self.reach.units), np.bool_))

    def below(self, order: tuple[Criterion, ...], cost: Sequence[float]) -> tuple[float, ...]:
        """A bound by each criterion, for plans that cost as much by those before.

        It ends with the first criterion by which a plan may cost less than ``cost``: what comes after that
        says nothing about such a plan.
        """
        bound: list[float] = []
        # [unit] those that a plan may evict which costs no more by the criteria so far. What is short depends
        # on them and on no criterion, and is kept from one sum to the next; with more units than may go, the
        # bound is only lower.
        among, shortage = np.ones(len(self.reach.units), np.bool_), None
        for place, criterion in enumerate(order):
            if criterion is LATEST_START and HIGHEST_PRIORITY not in order[:place]:
                break  # it is about the victims of the highest priority, which is not known then
            level = self._level(criterion, among)
            if level is not None:
                bound.append(self._lowest(level, among))
                among, shortage = among & (level <= cost[place]), None
            elif criterion.combined is Combined.SUM:
                shortage = _Shortage(self, among) if shortage is None else shortage
                bound.append(shortage.least_sum(self._prices(criterion, among)))
            elif criterion.budgets:
                bound.append(0)
                among = among & ~self._exceeding if not cost[place] else among
            else:
                break
            if bound[-1] < cost[place]:
                break
        return tuple(bound)

    def _level(self, criterion: Criterion, among: Mask) -> Floats | None:
        """[unit] what it costs by a criterion that counts the highest of all victims; None: by any other."""
        units, numbers = self.evictable.units, self.reach.units
        if criterion is LATEST_START:
            top = self.reach.priority.max(where=among, initial=np.iinfo(np.int64).min)
            return np.where(self.reach.priority == top, -units.start[numbers], -np.inf)
        if criterion is HIGHEST_PRIORITY:
            return self.reach.priority.astype(np.float64)
        if criterion.combined is not Combined.HIGHEST:
            return None
        return self.evictable.prices.alone(criterion, numbers).astype(np.float64)

    def _lowest(self, level: Floats, among: Mask) -> float:
        """The lowest level up to which all units together may make room. ``level``, ``among``: [unit]"""
        levels = np.unique(level[among]).tolist()
        found = levels_of(levels, lambda most: self._may_suffice(among & (level <= most)))
        return found[0] if found else math.inf

    def _may_suffice(self, gone: Mask) -> bool:
        """Whether enough members fit without these units ([unit]), if each shape had all the room."""
        left, by_shape = self.reach.emptied(gone), self.reach.members.by_shape
        needs = [tuple(self.requests[:, positions[0]].tolist()) for positions in by_shape]
        sizes = [len(positions) for positions in by_shape]
        return most_seated(left, needs, sizes, self.reach.usable) >= self.target

    @cached_property
    def _exceeding(self) -> Mask:
        """[unit] whether its eviction alone exceeds a budget."""
        return self.evictable.shares.unaffordable()[self.reach.units]

    def _prices(self, criterion: Criterion, among: Mask) -> Floats:
        """[unit] what it costs alone, or less where that would take long to work out."""
        prices, found = self.evictable.prices, np.zeros(len(among))
        is_quick = np.count_nonzero(among) <= _FEW
        worked_out = prices.alone if is_quick else prices.alone_at_least
        found[among] = worked_out(criterion, self.reach.units[among])
        return found


class _Shortage:
    """What nodes lack for members, and the units that could make room there (``among``: [unit])."""

    def __init__(self, counted: CountedBound, among: Mask) -> None:
        reach, self.needs = counted.reach, counted.needs
        needs, left = self.needs.tolist(), counted.reach.left
        self.fits = capacities(left, needs, counted.members)  # [node] how many members have room as it is
        self.missing = counted.target - int(self.fits.sum())
        # [resource] as if all nodes were one. What an overdrawn node owes need not be made good: nothing has
        # to go there.
        self.among, self.lacking = among, counted.together - np.maximum(left, 0).sum(axis=0)
        cells = np.flatnonzero(among[reach.unit])  # from here on, [cell] is one of these
        self.unit, self.node, self.used = reach.unit[cells], reach.node[cells], reach.used[cells]
        self.nodes_of = np.maximum(np.bincount(reach.unit, minlength=len(reach.units)), 1)  # [unit] how many
        emptied = left.copy()  # [node, resource]
        np.add.at(emptied, self.node, self.used)
        # [node] how many members more have room if all these units go, and the nodes where any has. From here
        # on, ``[.., node]`` is one of those.
        self.more = np.minimum(capacities(emptied, needs, counted.members) - self.fits, self.missing)
        self.helps = np.flatnonzero(self.more > 0)
        self.is_enough = int(self.more[self.helps].sum()) >= self.missing
        if self.missing <= 0 or not self.is_enough:
            return
        # [more, node, resource] what a node lacks to take one member more, two more and so on
        self.members = np.arange(1, int(self.more[self.helps].max()) + 1)[:, None]
        wanted = (self.fits[self.helps] + self.members)[..., None] * self.needs
        self.lack = np.maximum(wanted - left[self.helps], 0)
        # Nodes with a unit that runs elsewhere, too: what they cost need be no whole number.
        self.is_split = np.isin(self.helps, self.node[self.nodes_of[self.unit] > 1])
        # [more, node] how many units must go at least: a cover by parts of units at a price of one each,
        # rounded up, since only whole units go.
        covering = self._covering(np.ones(len(self.unit)))
        self.fewest = np.ceil(covering * (1 - _ROUNDING) - 1e-9).astype(np.int64)

    def least_sum(self, price: Floats) -> float:
        """The least that units cost together which make enough room. ``price``: [unit]"""
        if not price.any():
            return 0
        if self.missing <= 0:
            return self._least_together(price)
        if not self.is_enough:
            return math.inf
        return max(self._least_by_node(price), self._least_together(price))

    def _least_together(self, price: Floats) -> float:
        """The least price of freeing enough, as if all nodes were one.

        One eviction may serve several resources, so the maximum over them is a bound, and their sum is not.
        """
        if not (self.lacking > 0).any():
            return 0
        numbers = np.flatnonzero(self.among)
        used = np.zeros((len(self.among), len(self.lacking)), np.int64)  # [unit, resource] on all nodes
        np.add.at(used, self.unit, self.used)
        nowhere, least = np.zeros(len(numbers), np.int64), 0.0
        for resource in np.flatnonzero(self.lacking > 0).tolist():
            lack = self.lacking[None, [resource]]
            of_each = used[numbers, resource]
            by_price = _Offers(nowhere, of_each, price[numbers])
            by_count = _Offers(nowhere, of_each, np.ones(len(numbers)))
            if by_price.freed[-1] < lack:
                return math.inf
            # At least so many units must go, and no so many are cheaper than the cheapest.
            count = math.ceil(_covering(lack, nowhere[:1], by_count).item() * (1 - _ROUNDING) - 1e-9)
            cheapest = np.sort(price[numbers])[:count].sum().item()
            least = max(least, cheapest, _covering(lack, nowhere[:1], by_price).item())
        return math.ceil(least * (1 - _ROUNDING) - 1e-6)  # prices are whole numbers, and so is the least sum

    def _least_by_node(self, price: Floats) -> float:
        """The least price of room for all that miss it, node by node. ``price``: [unit]"""
        # If all units cost the same, and none of them runs elsewhere too, the fewest units are the cheapest.
        if not self.is_split.any() and (price[self.among] == price[self.among][0]).all():
            least = self.fewest * price[self.among][0]
            least[self.members > self.more[self.helps]] = np.inf
            return _cheapest(least, self.missing)
        # [cell] A unit is paid for in full if all its nodes are used, and in part otherwise.
        share = (price / self.nodes_of)[self.unit]
        covering = self._covering(share)
        # Only whole units go: what they cost is a whole number, where no unit's price is split.
        covering = np.where(self.is_split, covering, np.ceil(covering * (1 - _ROUNDING) - 1e-9))
        least = np.maximum(covering, self._cheapest_units(share))
        least[self.members > self.more[self.helps]] = np.inf  # the node never has room for so many
        return _cheapest(least, self.missing)

    def _covering(self, share: Floats) -> Floats:
        """[more, node] the least price if units could be evicted in part. ``share``: [cell] a unit's there.

        Each resource is covered by itself, and the dearest is the bound.
        """
        least = np.zeros(self.lack.shape[:2])
        for resource in np.flatnonzero(self.needs).tolist():
            offers = _Offers(self.node, self.used[:, resource], share)
            first = np.searchsorted(offers.node, self.helps)
            least = np.maximum(least, _covering(self.lack[..., resource], first, offers))
        return least

    def _cheapest_units(self, share: Floats) -> Floats:
        """[more, node] the price of as many units as must go at least, if they were the cheapest there."""
        order = np.lexsort((share, self.node))
        first = np.searchsorted(self.node[order], self.helps)
        paid = np.concatenate([[0.0], np.cumsum(share[order])])  # [place in that order] for all before it
        found: Floats = paid[np.minimum(first + self.fewest, len(order))] - paid[first]
        return found


class _Offers:
    """What units free of one resource, node by node, the cheapest for its room first.

    node, used, share  [cell]  where, how much of the resource, and what the unit costs there
    """

    def __init__(self, node: Ints, used: Ints, share: Floats) -> None:
        some = np.flatnonzero(used > 0)
        some = some[np.lexsort((share[some] / used[some], node[some]))]
        # [offer] those that free any; the price of one unit of the resource has one entry more, for none.
        self.node, self.rate = node[some], np.append(share[some] / used[some], 0.0)
        # Summed over all offers before each place: differences of two places are sums over those between.
        self.freed = np.concatenate([[0], np.cumsum(used[some])])
        self.paid = np.concatenate([[0.0], np.cumsum(share[some])])


def _covering(lack: Ints, first: Ints, offers: _Offers) -> Floats:
    """[more, node] the least price of so much of one resource, if units could be evicted in part.

    The cheapest for their room go first, and the last one in part: no other choice costs less.

    lack   [more, node]  how much is needed
    first  [node]        where the node's offers begin
    """
    wanted = offers.freed[first] + np.maximum(lack, 0)
    # The unit with which enough is freed; the part of it that is not needed is not paid.
    last = np.minimum(np.searchsorted(offers.freed, wanted), len(offers.node))
    spare = (offers.freed[last] - wanted) * offers.rate[np.maximum(last - 1, 0)]
    price: Floats = np.where(lack > 0, offers.paid[last] - offers.paid[first] - spare, 0.0)
    return price


def _cheapest(least: Floats, missing: int) -> float:
    """The least price of so many members on all nodes together. ``least``: [more, node] on each.

    Each node's prices are replaced by the largest convex function below them. Then members can be given room
    one by one, always where the next one is cheapest, and no other choice costs less.
    """
    # [node] how many members the convex function covers so far, and its value there. Each round adds the next
    # straight piece: to the point with the flattest slope from here.
    count, width = np.arange(1, len(least) + 1)[:, None], least.shape[1]
    at, paid = np.zeros(width, np.int64), np.zeros(width)
    slopes: list[Floats] = []
    sizes: list[Ints] = []
    while len(at):
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(count > at, (least - paid) / (count - at), np.inf)
        best = slope.argmin(axis=0)
        taken = np.take_along_axis(slope, best[None], axis=0)[0]
        goes_on = np.isfinite(taken)
        best, taken, least, at = best[goes_on], taken[goes_on], least[:, goes_on], at[goes_on]
        slopes.append(np.maximum(taken, 0.0))
        sizes.append(best + 1 - at)
        at = best + 1
        paid = np.take_along_axis(least, best[None], axis=0)[0]
    slope, size = np.concatenate(slopes), np.concatenate(sizes)  # [piece] price of a member, and how many
    order = np.argsort(slope, kind="stable")
    slope, size = slope[order], size[order]
    before = np.cumsum(size) - size
    total = float((slope * np.clip(missing - before, 0, size)).sum())
    return math.ceil(total * (1 - _ROUNDING) - 1e-6)
