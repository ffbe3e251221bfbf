"""Scores that are kept from one decision to the next, and made anew only for the rows that changed.

Only scores that depend on nothing but a node's own numbers can be kept this way. A what-if keeps none.
"""

from collections.abc import Callable, Hashable

import numpy as np

from reprieve.model.columns import Ints

Rows = Ints | slice
ALL = slice(None)

_MOST_ENTRIES = 256  # shapes of pods that take turns; more than that start over


class ScoreCache:
    def __init__(self) -> None:
        self._scores: dict[Hashable, tuple[Ints, int]] = {}

    def refreshed(self, key: Hashable, touched: Ints, compute: Callable[[Rows], Ints]) -> Ints:
        """``touched`` says for each row when its numbers last changed, in rising numbers."""
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
        """Rows have been given to other nodes."""
        self._scores.clear()
