"""Trees of groups in crowded clusters in which much goes wrong: none is left in part.

What must hold is said in ``watched`` and in ``whole_trees``.
"""

import pytest
from hypothesis import settings

from tests.simulation.forest_play import play_forest

SEEDS = range(10 if settings().derandomize else 1_000)  # as many more as a soak has examples


@pytest.mark.parametrize("seed", SEEDS)
def test_no_tree_is_left_in_part(seed: int) -> None:
    play_forest(seed)
