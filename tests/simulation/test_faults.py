"""Whatever fails: no pod is bound twice, no node is overcommitted, and in the end all pods run that can.

What must hold is said in ``invariants``.
"""

import pytest
from hypothesis import settings

from tests.simulation.play import play

COUNTED = range(20)  # played together, and what happens in them is counted
SEEDS = range(COUNTED.stop, 100 if settings().derandomize else 20_000)  # a soak plays all others


@pytest.mark.parametrize("seed", SEEDS)
def test_all_is_well_in_the_end(seed: int) -> None:
    play(seed)


def test_enough_is_going_on() -> None:
    outcomes = [play(seed) for seed in COUNTED]
    assert sum(outcome.ran for outcome in outcomes) > 300
    assert sum(outcome.mishaps for outcome in outcomes) > 50
    assert sum(outcome.planning.asked for outcome in outcomes) > 5, "solvers"
    assert sum(outcome.planning.first for outcome in outcomes) > 2
