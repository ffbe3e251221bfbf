"""What no plan is below, without a solver: each unit's price is split evenly over the nodes where it runs.

Then every node can be looked at alone, and the cheapest nodes together are a lower bound. It is weak where
units run on many nodes, and all that is known where no solver was started.
"""

import math
from collections.abc import Iterator, Sequence

from reprieve.preemption.least_disturbance.costs import Disturbance
from reprieve.preemption.least_disturbance.model import RoomModel
from reprieve.preemption.least_disturbance.patterns import EvictionPatterns, patterns_of

_SUMS = (Disturbance.PODS_STOPPED, Disturbance.WORKLOADS_ENDED, Disturbance.PODS)


def covers_all(order: Sequence[Disturbance]) -> bool:
    """Whether the bound may be a proof: no criterion follows the first sum."""
    return order[-1] in _SUMS and not any(criterion in _SUMS for criterion in order[:-1])


def bound_of(model: RoomModel) -> tuple[float, ...]:
    """The first criteria, up to the first sum over units."""
    bound: list[float] = []
    if not model.levels or len(model.needs) > 1:
        return ()
    ceiling = math.inf
    for place, criterion in enumerate(model.order):
        if criterion is Disturbance.HIGHEST_PRIORITY:
            ceiling = model.levels[0]
            bound.append(ceiling)
        elif criterion in (Disturbance.BUDGETS_BROKEN, Disturbance.DISRUPTION_COST):
            bound.append(0)
        else:
            if criterion in _SUMS:
                lower = model.below(ceiling)
                bound.append(_least_sum(lower, patterns_of(lower), place))
            break
    return tuple(bound)


def _least_sum(model: RoomModel, patterns: EvictionPatterns, place: int) -> float:
    missing = model.target - patterns.free
    segments = sorted(_segments(model, patterns, place))
    total = 0.0
    for slope, members in segments:
        taken = min(members, missing)
        total, missing = total + slope * taken, missing - taken
        if not missing:
            break
    return math.ceil(total - 1e-6)


def _segments(model: RoomModel, patterns: EvictionPatterns, place: int) -> Iterator[tuple[float, int]]:
    """Prices of one more member, and for how many: the lower envelope of each node's prices."""
    prices: dict[int, dict[int, float]] = {}
    for pattern in patterns.listed:
        price = sum(_share(model, i, place) * n for i, n in pattern.counts)
        there = prices.setdefault(pattern.node, {})
        there[pattern.gain] = min(price, there.get(pattern.gain, math.inf))
    for node in patterns.dense:
        prices[node] = _prices_at(model, node, place)
    for found in prices.values():
        yield from _envelope(found)


def _share(model: RoomModel, item: int, place: int) -> float:
    return model.items[item].prices[place] / len(model.items[item].footprint)


def _envelope(prices: dict[int, float]) -> Iterator[tuple[float, int]]:
    members, price = 0, 0.0
    while later := [(n, one) for n, one in prices.items() if n > members]:
        slope, reached = min(((one - price) / (n - members), n) for n, one in later)
        yield max(0.0, slope), reached - members
        members, price = reached, prices[reached]


def _prices_at(model: RoomModel, node: int, place: int) -> dict[int, float]:
    """By number of members: what they cost at least, if units could be evicted in part."""
    left = model.left[node]
    offers = [(used, len(model.items[i].units), _share(model, i, place)) for i, used in model.items_at[node]]
    emptied = [have + sum(used[r] * n for used, n, _ in offers) for r, have in enumerate(left)]
    return {
        fits: max(
            _covering([(used[r], n, price) for used, n, price in offers], fits * need - left[r])
            for r, need in enumerate(model.needs[0])
            if need
        )
        for fits in range(1, model.capacity(node, emptied) + 1)
    }


def _covering(offers: Sequence[tuple[int, int, float]], lack: int) -> float:
    """The least price of so much of one resource."""
    price = 0.0
    for used, units, each in sorted(offers, key=lambda offer: offer[2] / offer[0] if offer[0] else math.inf):
        if lack <= 0 or not used:
            break
        taken = min(lack, used * units)
        price, lack = price + each * taken / used, lack - taken
    return price
