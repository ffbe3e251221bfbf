"""Scores cached from one decision to the next, and recomputed only for the node rows that changed.

Only scores that depend on nothing but the node itself can be cached this way: on what it is (labels, taints,
a cordon, features, capacity), and on how full it is. A what-if has the scores of its base, but for the nodes
where they differ.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints

Rows = Ints | slice
ALL = slice(None)

_MOST_ENTRIES = 256  # kinds of pods; beyond that the longest unused is dropped
_MOST_TOUCHES = 4096  # scores that are older than so many changes are computed anew


class Touches:
    """Which rows changed in anything that scores depend on, in order.

    Changes are numbered from 1; only the latest are remembered.
    """

    def __init__(self) -> None:
        self.newest = 0
        self._latest: list[int] = []

    def touch(self, row: int) -> None:
        self.newest += 1
        self._latest.append(row)
        if len(self._latest) >= 2 * _MOST_TOUCHES:
            del self._latest[:_MOST_TOUCHES]

    def since(self, number: int) -> list[int] | None:
        """The rows that changed after the change of this number, each once; None if it is too long ago."""
        behind = self.newest - number
        if behind > len(self._latest):
            return None
        return list(dict.fromkeys(self._latest[len(self._latest) - behind :]))


@dataclass(slots=True, eq=False)
class _Entry:
    """Scores that are up to date with all changes up to one. They are written in place, so it is no value."""

    scores: Ints
    newest: int


class ScoreCache:
    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}  # the longest unused first

    def refreshed(self, key: Hashable, size: int, touches: Touches, compute: Callable[[Rows], Ints]) -> Ints:
        """[row] the scores, computed anew where rows have changed. ``size``: how many rows there are."""
        entry = self._entries.pop(key, None)
        rows = touches.since(entry.newest) if entry is not None and len(entry.scores) == size else None
        if entry is None or rows is None:
            entry = _Entry(compute(ALL).copy(), touches.newest)
            if len(self._entries) >= _MOST_ENTRIES:
                del self._entries[next(iter(self._entries))]
        elif rows:
            entry.scores.setflags(write=True)
            entry.scores[rows] = compute(np.array(rows, np.int64))
            entry.newest = touches.newest
        entry.scores.setflags(write=False)
        self._entries[key] = entry
        return entry.scores

    def fresh(self, key: Hashable, size: int, touches: Touches) -> Ints | None:
        """[row] the scores, if they are known and no row has changed since."""
        entry = self._entries.get(key)
        if entry is None or len(entry.scores) != size or entry.newest != touches.newest:
            return None
        return entry.scores

    def clear(self) -> None:
        """Needed when rows are reused for other nodes."""
        self._entries.clear()


Known = Callable[[Hashable], Ints | None]


class WhatIfScores:
    """The scores of a what-if, which differ from those of its base (``known``) only in some rows.

    They are kept here: the base learns nothing from a what-if.
    """

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
