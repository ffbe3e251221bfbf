"""Which sets of units let so many members fit on a node? The minimal ones, node by node, for equal members.

A node with too many such sets is left to a solver as it is: its room, its units and its members.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import le, sub
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


def patterns_of(model: RoomModel) -> EvictionPatterns:
    """The patterns of all nodes, for equal members. Nodes that look the same to the enumeration share it."""
    known: dict[object, list[tuple[int, tuple[int, ...]]] | None] = {}
    least, most = (model.capacities(left).tolist() for left in (model.room(), model.emptied()))
    free, listed, dense = 0, list[EvictionPattern](), list[int]()
    for node, (fits, could_fit) in enumerate(zip(least, most, strict=True)):
        if fits == could_fit:  # no eviction helps there
            free += fits
            continue
        left = model.left[node]
        offers = _offers(model, left, model.items_at[node], could_fit)
        # Of a resource, more than all of these members need makes no difference.
        useful = tuple(min(have, could_fit * need) for have, need in zip(left, model.needs[0], strict=True))
        key = (useful, tuple((used, count) for _, used, count in offers), fits, could_fit)
        if key not in known:
            known[key] = _sets(model.needs[0], useful, range(fits, could_fit), offers)
        sets = known[key]
        free += fits
        if sets is None:
            dense.append(node)
            continue
        for gain, counts in sets:
            named = tuple((offers[i][0], n) for i, n in enumerate(counts) if n)
            listed.append(EvictionPattern(node, gain, named))
    return EvictionPatterns(free, tuple(_worth_keeping(model, listed)), tuple(dense))


_Offer = tuple[int, Amounts, int]  # an item, what one unit of it uses, how many units it has


def _offers(model: RoomModel, left: Amounts, items: Sequence[tuple[int, Amounts]], most: int) -> list[_Offer]:
    """List the items whose eviction can help there, with no more room than is of use, the largest first.

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
    needs: Amounts, left: Amounts, fits: range, offers: Sequence[_Offer]
) -> list[tuple[int, tuple[int, ...]]] | None:
    """Minimal sets with their gains; None if there are too many. ``fits``: members that have room before."""
    found: dict[tuple[int, ...], int] = {}
    steps = _STEPS
    try:
        for gain, members in enumerate(fits, start=1):
            lack = [(members + 1) * need - have for need, have in zip(needs, left, strict=True)]
            covers = _Covers(lack, offers, steps)
            for counts in covers.minimal():
                found[counts] = gain  # one that is minimal for more members gains more
                if len(found) > _MOST:
                    return None
            steps = covers.steps
    except _TooManyError:
        return None
    return [(gain, counts) for counts, gain in found.items()]


class _Covers:
    """The minimal numbers of units of each item that together have so much room."""

    def __init__(self, lack: Sequence[int], offers: Sequence[_Offer], steps: int) -> None:
        self.steps = steps
        short = [r for r, amount in enumerate(lack) if amount > 0]
        self._lack = tuple(lack[r] for r in short)
        self._used = [tuple(used[r] for r in short) for _, used, _ in offers]
        self._most = [count for _, _, count in offers]
        # What the items from each place on have together.
        self._rest = [tuple(0 for _ in short)]
        for used, count in zip(reversed(self._used), reversed(self._most), strict=True):
            self._rest.append(
                tuple(have + one * count for have, one in zip(self._rest[-1], used, strict=True))
            )
        self._rest.reverse()

    def minimal(self) -> list[tuple[int, ...]]:
        self._step()
        found: list[tuple[int, ...]] = []
        if all(map(le, self._lack, self._rest[0])):
            self._choose(0, self._lack, (), found)
        return found

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise _TooManyError

    def _choose(
        self, i: int, missing: Amounts, counts: tuple[int, ...], found: list[tuple[int, ...]]
    ) -> None:
        """How many units of an item go, after it was chosen for the items before; nothing is enough yet."""
        used, rest, last = self._used[i], self._rest[i + 1], i + 1 == len(self._used)
        for n in range(self._most[i] + 1):
            self._step()
            if max(missing) <= 0:
                chosen = (*counts, n, *([0] * (len(self._used) - i - 1)))
                if self._is_minimal(chosen):
                    found.append(chosen)
                if len(found) > _MOST:
                    raise _TooManyError
                return
            if not last and all(map(le, missing, rest)):
                self._choose(i + 1, missing, (*counts, n), found)
            missing = tuple(map(sub, missing, used))

    def _is_minimal(self, counts: tuple[int, ...]) -> bool:
        chosen = [(n, used) for n, used in zip(counts, self._used, strict=True) if n]
        spare = [sum(n * used[r] for n, used in chosen) - lack for r, lack in enumerate(self._lack)]
        return not any(all(map(le, used, spare)) for _, used in chosen)


def _worth_keeping(model: RoomModel, listed: Sequence[EvictionPattern]) -> Iterator[EvictionPattern]:
    """Keep only the cheapest of the nodes without coupled items, for each gain.

    No plan uses more nodes than members. So a dearer one can be exchanged for one of those, on a node that
    the plan does not use.
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
