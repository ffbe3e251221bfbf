"""Which sets of units let so many members fit on a node? The minimal ones, node by node, for equal members.

A node with too many such sets is left to a solver as it is: its room, its units and its members.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from reprieve.preemption.least_disturbance.model import Amounts, RoomModel

_MOST = 6  # patterns of one node; with more, variables for its units are the smaller model
_STEPS = 400  # of the enumeration on one node


class EvictionPattern(NamedTuple):
    node: int
    gain: int  # how many more members fit than without any eviction
    counts: tuple[tuple[int, int], ...]  # items, and how many units of each go


@dataclass(frozen=True, slots=True)
class EvictionPatterns:
    free: int  # members that fit on the nodes with patterns without any eviction
    listed: tuple[EvictionPattern, ...]
    dense: tuple[int, ...]  # nodes with too many patterns


class _TooManyError(Exception):
    """The node has more patterns than are worth listing."""


class PatternsBelow:
    """The patterns of a model without units above a priority, found once for each priority."""

    def __init__(self, model: RoomModel) -> None:
        self.model = cache(model.below)
        self._patterns = cache(lambda ceiling: patterns_of(self.model(ceiling)))

    def __call__(self, ceiling: float) -> EvictionPatterns:
        return self._patterns(ceiling)


def patterns_of(model: RoomModel) -> EvictionPatterns:
    """Of equal members. Nodes that look the same to the enumeration are enumerated once."""
    known: dict[object, list[tuple[int, tuple[int, ...]]] | None] = {}
    least, most = (model.capacities(left).tolist() for left in (model.room(), model.emptied()))
    free, listed, dense = 0, list[EvictionPattern](), list[int]()
    for node, (fits, could_fit) in enumerate(zip(least, most, strict=True)):
        if fits == could_fit:  # no eviction helps there
            free += fits
            continue
        left = model.left[node]
        offers = _offers(model, left, model.items_at[node], could_fit)
        key = (left, tuple((used, count) for _, used, count in offers), fits)
        if key not in known:
            known[key] = _sets(model, node, fits, offers)
        sets = known[key]
        if sets is None:
            dense.append(node)
            continue
        free += fits
        for gain, counts in sets:
            named = tuple((offers[i][0], n) for i, n in enumerate(counts) if n)
            listed.append(EvictionPattern(node, gain, named))
    return EvictionPatterns(free, tuple(_worth_keeping(model, listed)), tuple(dense))


_Offer = tuple[int, Amounts, int]  # an item, what one unit of it uses, how many units it has


def _offers(model: RoomModel, left: Amounts, items: Sequence[tuple[int, Amounts]], most: int) -> list[_Offer]:
    """The items whose eviction can help there, with no more room than is of use, the largest first.

    ``most``: how many members fit without all of them.
    """
    lack = [max(0, most * need - have) for need, have in zip(model.needs[0], left, strict=True)]
    offers = []
    for i, used in items:
        useful = tuple(map(min, used, lack))
        if any(useful):
            offers.append((i, useful, len(model.items[i].units)))
    return sorted(offers, key=lambda offer: tuple(-amount for amount in offer[1]))


def _sets(
    model: RoomModel, node: int, least: int, offers: Sequence[_Offer]
) -> list[tuple[int, tuple[int, ...]]] | None:
    """Minimal sets with their gains; None if there are too many."""
    found: dict[tuple[int, ...], int] = {}
    left, steps = model.left[node], [_STEPS]
    top = model.capacity(
        node, [have + sum(used[r] * n for _, used, n in offers) for r, have in enumerate(left)]
    )
    try:
        for fits in range(least + 1, top + 1):
            lack = [max(0, fits * need - have) for need, have in zip(model.needs[0], left, strict=True)]
            for counts in _covers(lack, offers, steps):
                found[counts] = fits - least  # one that is minimal for more members gains more
                if len(found) > _MOST:
                    return None
    except _TooManyError:
        return None
    return [(gain, counts) for counts, gain in found.items()]


def _covers(lack: Sequence[int], offers: Sequence[_Offer], steps: list[int]) -> Iterator[tuple[int, ...]]:
    """The minimal numbers of units of each item that together have so much room."""
    rest = [[0] * len(lack)]
    for _, used, count in reversed(offers):
        rest.append([have + amount * count for have, amount in zip(rest[-1], used, strict=True)])
    rest.reverse()

    def choose(i: int, missing: list[int], counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        steps[0] -= 1
        if steps[0] < 0:
            raise _TooManyError
        if all(amount <= 0 for amount in missing):
            yield (*counts, *([0] * (len(offers) - i)))
            return
        if i == len(offers) or any(amount > there for amount, there in zip(missing, rest[i], strict=True)):
            return
        _, used, count = offers[i]
        for n in range(count + 1):
            after = [amount - n * one for amount, one in zip(missing, used, strict=True)]
            yield from choose(i + 1, after, (*counts, n))
            if all(amount <= 0 for amount in after):
                break

    for counts in choose(0, list(lack), ()):
        if _is_minimal(lack, offers, counts):
            yield counts


def _is_minimal(lack: Sequence[int], offers: Sequence[_Offer], counts: tuple[int, ...]) -> bool:
    room = [sum(n * offer[1][r] for n, offer in zip(counts, offers, strict=True)) for r in range(len(lack))]
    for n, (_, used, _) in zip(counts, offers, strict=True):
        if n and all(have - one >= need for have, one, need in zip(room, used, lack, strict=True)):
            return False
    return True


def _worth_keeping(model: RoomModel, listed: Sequence[EvictionPattern]) -> Iterator[EvictionPattern]:
    """Of nodes without coupled items only the cheapest, for each gain: no plan uses more nodes than members.

    All others can be exchanged for one of those, on a node that the plan does not use.
    """
    free_nodes: dict[int, list[tuple[tuple[int, ...], EvictionPattern]]] = {}
    bound = {pattern.node for pattern in listed if any(model.coupled[i] for i, _ in pattern.counts)}
    for pattern in listed:
        if pattern.node in bound:
            yield pattern
        else:
            free_nodes.setdefault(pattern.gain, []).append((_price(model, pattern), pattern))
    for alike in free_nodes.values():
        seen: set[int] = set()
        for _, pattern in sorted(alike):
            if pattern.node not in seen:
                yield pattern
            seen.add(pattern.node)
            if len(seen) >= model.target:
                break


def _price(model: RoomModel, pattern: EvictionPattern) -> tuple[int, ...]:
    prices = [(model.items[i].prices, n) for i, n in pattern.counts]
    return tuple(sum(price[c] * n for price, n in prices) for c in range(len(model.order)))
