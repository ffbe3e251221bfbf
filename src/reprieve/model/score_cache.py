"""Scores cached from one decision to the next, and recomputed only for the node rows that changed.

Only scores that depend on nothing but a node's own numbers can be cached this way. A what-if has no cache.
"""

from collections.abc import Callable, Hashable

import numpy as np

from reprieve.model.columns import Ints

Rows = Ints | slice
ALL = slice(None)

_MOST_ENTRIES = 256  # pod shapes; beyond that the cache starts over


class ScoreCache:
    def __init__(self) -> None:
        self._scores: dict[Hashable, tuple[Ints, int]] = {}

    def refreshed(self, key: Hashable, touched: Ints, compute: Callable[[Rows], Ints]) -> Ints:
        """``touched``: for each row, the number of the change that touched it last; numbers only grow."""
        newest = int(touched.max(initial=0))
        kept = self._scores.get(key)
        if kept is None or len(kept[0]) != len(touched):
            if len(self._scores) >= _MOST_ENTRIES:
                self._scores.clear()
            scores = compute(ALL).copy()
        else:
            scores, known = kept
            rows = np.flatnonzero(touched > known)
            if len(rows):
                scores.setflags(write=True)
                scores[rows] = compute(rows)
        scores.setflags(write=False)
        self._scores[key] = scores, newest
        return scores

    def clear(self) -> None:
        """Needed when rows are reused for other nodes."""
        self._scores.clear()
