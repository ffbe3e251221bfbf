"""Scores cached from one decision to the next, and recomputed only for the node rows that changed.

Only scores that depend on nothing but a node's own numbers can be cached this way. A what-if has the scores
of its base, but for the nodes where they differ.
"""

from collections.abc import Callable, Hashable, Sequence

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

    def fresh(self, key: Hashable, touched: Ints) -> Ints | None:
        """The scores, if they are known and no row has changed since."""
        kept = self._scores.get(key)
        is_fresh = kept is not None and len(kept[0]) == len(touched) and kept[1] == touched.max(initial=0)
        return kept[0] if kept is not None and is_fresh else None

    def clear(self) -> None:
        """Needed when rows are reused for other nodes."""
        self._scores.clear()


Known = Callable[[Hashable], Ints | None]


class WhatIfScores:
    """Of the base, whose scores may be ``known``, only some rows differ. The base learns nothing from it."""

    def __init__(self, known: Known | None = None, rows: Sequence[int] = ()) -> None:
        self._known, self._rows = known, np.array(rows, np.int64)
        self._scores: dict[Hashable, Ints] = {}

    def get(self, key: Hashable, compute: Callable[[Rows], Ints]) -> Ints:
        scores = self._scores.get(key)
        if scores is None:
            before = self._known(key) if self._known is not None else None
            if before is None:
                scores = compute(ALL)
            else:
                scores = before.copy()
                scores[self._rows] = compute(self._rows)
            scores.setflags(write=False)
            self._scores[key] = scores
        return scores

    @property
    def known(self) -> Known:
        """Without what its own base knew: a chain of what-ifs must not keep all of them in memory."""
        return self._scores.get
