"""Running pods want more, among arrivals and faults: no pod is evicted for them in vain."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from reprieve.scheduler.reporting.decision import Outcome
from reprieve_minicluster.virtual_time import run
from tests.simulation.play import silent
from tests.simulation.resizes import End, ResizingPlay, play_resizes, resizing_settings
from tests.simulation.test_replay import Journaling, check_repetition

COUNTED = range(30)  # played together, and what happens in them is counted
SEEDS = range(COUNTED.stop, 40 if settings().derandomize else 3_000)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crowd_comes_to_rest(seed: int) -> None:
    play_resizes(seed)


def test_enough_is_going_on() -> None:
    """Each way in which a resize can end is counted, and most are granted."""
    total: Counter[str] = sum((play_resizes(seed) for seed in COUNTED), Counter())
    assert total[Outcome.PREEMPTS] > 10
    assert total[Outcome.FITS] > 10
    assert total[End.GRANTED] > 10
    assert total[End.GRANTED] > sum(total[end] for end in End if end is not End.GRANTED)


class JournalingResizes(Journaling, ResizingPlay):
    pass


@pytest.mark.parametrize("seed", range(10))
def test_it_is_repeated_from_its_journal(seed: int, tmp_path: Path) -> None:
    play = JournalingResizes(seed, silent).written_to(tmp_path)
    run(play.act())
    assert check_repetition(play, resizing_settings(seed)) > 0
