"""How good is each feasible node, and which is the best: for one pod, and for equal ones in turn?"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.snapshot import NOWHERE
from reprieve.model.whatif import with_equals_everywhere
from reprieve.placement.constraints.resources import how_many_fit
from reprieve.placement.demand import Ask
from reprieve.placement.profile import Preference
from reprieve.placement.scoring import SCORERS

Choose = Callable[[Ask, Mask], int]

_REFUSED = -1  # the merit of a node that will not do; all others are higher

# What they say of a node depends on what it is, and on how full.
_OF_A_NODE_ALONE = frozenset({Preference.RESOURCES, Preference.BALANCE, Preference.IMAGES})


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """[node] how good each is, in total and by preference; only feasible nodes mean anything."""

    total: Ints
    parts: Mapping[Preference, Ints]


def rate(ask: Ask, feasible: Mask) -> Ratings:
    total = np.zeros(len(feasible), np.int64)
    parts: dict[Preference, Ints] = {}
    for preference, weight in ask.profile.weights:
        scores = SCORERS[preference](ask, feasible)
        if scores is not None:
            parts[preference] = scores * weight
            total += parts[preference]
    return Ratings(total, parts)


def best(ask: Ask, feasible: Mask) -> int:
    """The feasible node with the highest rating; of equals the first by name."""
    rows = np.flatnonzero(feasible)
    if len(rows) == 1:
        return int(rows[0])
    ratings = rate(ask, feasible).total[rows]
    top = rows[ratings == ratings.max()]
    return int(top[ask.view.nodes.rank[top].argmin()])


@dataclass(frozen=True, slots=True, eq=False)
class Least:
    """Chooses among the nodes with the least of something, which depends on each node alone."""

    amount: Callable[[Ask], Floats]  # [node]
    among: Choose

    def __call__(self, ask: Ask, feasible: Mask) -> int:
        amounts = np.where(feasible, self.amount(ask), np.inf)
        return self.among(ask, amounts == amounts.min())


def best_in_turn(
    asks: Sequence[Ask], feasible: Mask, choose: Choose, nominated: Sequence[int], *, counts_room: bool
) -> list[int]:
    """The best nodes for equal pods that only take room from each other, as long as there is any.

    None if nodes have to be compared anew after each pod, because a preference looks beyond the node.

    asks       of the first pod, in each view in which there must be room
    feasible   [node]  for the first pod
    nominated  for each pod a node to be tried before all others, or NOWHERE
    """
    last = choose.among if isinstance(choose, Least) else choose
    if len(nominated) < 2 or last is not best:
        return []
    ratings = rate(asks[0], feasible)
    if not ratings.parts.keys() <= _OF_A_NODE_ALONE:
        return []
    most = len(nominated)
    fit = np.min([how_many_fit(ask) for ask in asks], axis=0) if counts_room else np.full(len(feasible), most)
    turns, nodes = _Turns(asks[0], feasible, choose, ratings, fit), list[int]()
    for tried in nominated:
        node = tried if tried != NOWHERE and turns.merit[tried] != _REFUSED else turns.best()
        if turns.merit[node] == _REFUSED:
            break
        nodes.append(node)
        turns.take(node)
    return nodes


class _Turns:
    """What nodes are worth to one pod after the other.

    After each, only its node is any different. How it is then is worked out for all nodes at once, as if so
    many of the pods ran on every one of them.
    """

    def __init__(self, ask: Ask, feasible: Mask, choose: Choose, ratings: Ratings, fit: Ints) -> None:
        """``fit``: [node] for how many of the pods there is room."""
        least = choose.amount if isinstance(choose, Least) else None
        self._beside = cache(partial(_worth_beside, ask, feasible, ratings, least))
        self._taken, self._fit = Counter[int](), fit
        # [node] the best has the largest merit of those with the least amount
        merit, amount = self._beside(0)
        self.merit = np.where(feasible, merit, _REFUSED)
        self._amount = np.where(feasible, amount, np.inf) if amount is not None else None

    def best(self) -> int:
        if self._amount is None:
            return int(self.merit.argmax())
        return int(np.where(self._amount == self._amount.min(), self.merit, _REFUSED).argmax())

    def take(self, node: int) -> None:
        self._taken[node] += 1
        has_room = self._taken[node] < self._fit[node]
        merit, amount = self._beside(self._taken[node] if has_room else 0)
        self.merit[node] = merit[node] if has_room else _REFUSED
        if self._amount is not None and amount is not None:
            self._amount[node] = amount[node] if has_room else np.inf


def _worth_beside(
    ask: Ask, feasible: Mask, ratings: Ratings, least: Callable[[Ask], Floats] | None, count: int
) -> tuple[Ints, Floats | None]:
    """[node] the rating and then the name, as one number; and the amount that decides before it, if one does.

    ``ratings``: beside none.
    """
    if count:
        ask = replace(ask, view=with_equals_everywhere(ask.view, ask.pod, count))
        ratings = rate(ask, feasible)
    last = len(feasible) - 1
    merit = ratings.total * (last + 1) + (last - ask.view.nodes.rank)
    return merit, least(ask) if least is not None else None
