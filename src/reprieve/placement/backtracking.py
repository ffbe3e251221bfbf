"""Depth-first search for a state in which nothing is missing.

What a state is, and in which order its successors come, is known to the searches that use it.
"""

from collections.abc import Hashable, Iterator
from typing import Protocol, Self, TypeVar

from reprieve.placement.effort import Share


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
