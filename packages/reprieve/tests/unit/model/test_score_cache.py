"""Scores that are cached: which are computed anew, and which are dropped."""

import numpy as np

from reprieve.model import score_cache
from reprieve.model.columns import Ints
from reprieve.model.score_cache import ALL, Rows, ScoreCache, Touches

SIZE = 3


class Asked:
    """A cache, and for which rows of which kind of pod it asked."""

    def __init__(self) -> None:
        self.cache, self.touches = ScoreCache(), Touches()
        self.rows: list[tuple[str, Rows]] = []
        self.numbers = np.zeros(SIZE, np.int64)

    def get(self, key: str) -> list[int]:
        def compute(rows: Rows) -> Ints:
            self.rows.append((key, rows))
            return self.numbers[rows]

        scores: list[int] = self.cache.refreshed(key, SIZE, self.touches, compute).tolist()
        return scores

    def write(self, row: int, number: int) -> None:
        self.numbers[row] = number
        self.touches.touch(row)

    def asked_for_all(self) -> list[str]:
        return [key for key, rows in self.rows if rows is ALL]


def test_only_rows_that_changed_are_computed_anew() -> None:
    asked = Asked()
    assert asked.get("a") == [0, 0, 0]
    asked.write(1, 7)
    assert asked.get("a") == [0, 7, 0]
    assert asked.get("a") == [0, 7, 0]
    assert [np.arange(SIZE)[rows].tolist() for _, rows in asked.rows] == [[0, 1, 2], [1]]


def test_scores_that_are_in_use_outlast_any_number_of_others() -> None:
    asked = Asked()
    for i in range(2 * score_cache._MOST_ENTRIES):
        asked.get("in use")
        asked.get(f"once-{i}")
    assert asked.asked_for_all().count("in use") == 1


def test_the_longest_unused_are_dropped() -> None:
    asked = Asked()
    kinds = [f"kind-{i}" for i in range(score_cache._MOST_ENTRIES + 1)]
    for kind in [*kinds, *reversed(kinds)]:
        asked.get(kind)
    assert asked.asked_for_all() == [*kinds, kinds[0]]
