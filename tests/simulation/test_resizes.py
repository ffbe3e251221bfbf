"""Pods that run want more, among arrivals and faults: who makes room for them does not do so in vain."""

from collections import Counter

import pytest
from hypothesis import settings

from reprieve.scheduler.decision import Outcome
from tests.simulation.resizes import End, play_resizes

SEEDS = range(40 if settings().derandomize else 3_000)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crowd_comes_to_rest(seed: int) -> None:
    play_resizes(seed)


def test_enough_is_going_on() -> None:
    """Each way in which a resize can end is counted, and most are granted."""
    total: Counter[str] = sum((play_resizes(seed) for seed in range(30)), Counter())
    assert total[Outcome.PREEMPTS] > 10
    assert total[Outcome.FITS] > 10
    assert total[End.GRANTED] > 10
    assert total[End.GRANTED] > sum(total[end] for end in End if end is not End.GRANTED)
