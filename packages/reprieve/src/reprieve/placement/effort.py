"""How much work the searches of one decision may do, counted in placements of one pod that they evaluate.

A count and not a time, so that the same input gives the same decision on any machine. The searches share one
way of going through their states, depth first; what a state is, they know themselves.
"""

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

_NODES_PER_UNIT = 250  # so that a unit is about the same work in clusters of any size
_PART = 4  # a search may spend one part in so many: it must leave something to those after it


def unlimited() -> float:
    return math.inf


@dataclass(slots=True, eq=False)
class Effort:
    """Changes while it is spent: all searches for one demand share it."""

    units: int
    spent: int = 0
    fell_short: bool = False  # a search ended before it had tried everything
    unanswered: bool = False  # a solver was asked, and there is no answer
    # For how long whoever asked still waits. Nothing within a decision looks at it.
    seconds_left: Callable[[], float] = unlimited

    @property
    def is_over(self) -> bool:
        return self.seconds_left() <= 0

    def share(self) -> "Share":
        """What the next search may spend of what is left."""
        return Share(self, self._part)

    @property
    def _part(self) -> int:
        return -(-(self.units - self.spent) // _PART)

    def lent(self, *, all_of_it: bool) -> "Effort":
        """An effort of its own, of what is left, for a search that counts by itself; see ``returned``."""
        return Effort(self.units - self.spent if all_of_it else self._part, seconds_left=self.seconds_left)

    def half(self) -> "Effort":
        """An effort of its own, of half of what is left, also of the time; see ``returned``."""
        left = self.seconds_left()
        return Effort((self.units - self.spent) // 2, seconds_left=lambda: self.seconds_left() - left / 2)

    def returned(self, lent: "Effort") -> None:
        self.spent += lent.spent
        self.fell_short |= lent.fell_short
        self.unanswered |= lent.unanswered


@dataclass(slots=True, eq=False)
class Share:
    effort: Effort
    left: int
    is_spent: bool = False

    def take(self, units: int = 1) -> bool:
        """Spends so many units, or says that they are not there."""
        if units > self.left:
            self.is_spent = self.effort.fell_short = True
            return False
        self.left -= units
        self.effort.spent += units
        return True


def price_of_placing(pods: int, nodes: int) -> int:
    """How many units it takes to place so many pods, each of them tried on so many nodes."""
    return pods * max(1, -(-nodes // _NODES_PER_UNIT))


NO_EFFORT = Effort(0)  # nothing is searched, and nothing falls short


class SearchState(Protocol):
    @property
    def missing(self) -> int:
        """How many pods must still be placed."""

    @property
    def key(self) -> Hashable:
        """Equal for states that have the same future."""

    def successors(self, share: Share) -> Iterator[Self]:
        """The most promising first; they end early when the share is spent."""


S = TypeVar("S", bound=SearchState)


def first_complete(start: S, share: Share, kept: int | None = None) -> S | None:
    """The first state found in which no pod is missing; None if there is none, or none within the share.

    ``kept`` bounds the number of states that the search can return to, for states that are large.
    """
    path, seen, is_complete = [start.successors(share)], {start.key}, True
    while path and not share.is_spent:
        state = next(path[-1], None)
        if state is None:
            path.pop()
        elif not state.missing:
            return state
        elif (key := state.key) not in seen:
            seen.add(key)
            path.append(state.successors(share))
            if kept is not None and len(path) > kept:
                del path[0]
                is_complete = False
    share.effort.fell_short |= not is_complete
    return None
