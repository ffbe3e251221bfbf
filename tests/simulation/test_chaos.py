"""A network that cuts, delays and silences, a moody server, credentials that are exchanged meanwhile: nothing
is lost, nothing is done twice."""

import pytest
from hypothesis import settings

from tests.simulation.over_http import play_chaos

COUNTED = range(10)  # played together, and what happens in them is counted
SEEDS = range(COUNTED.stop, 50 if settings().derandomize else 500)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_is_well_over_a_bad_network(seed: int) -> None:
    play_chaos(seed)


def test_enough_is_going_on() -> None:
    played = [play_chaos(seed) for seed in COUNTED]
    assert sum(tally.evicted for tally, _ in played) > 5
    assert sum(wrongs.refused for _, wrongs in played) > 100
    assert sum(wrongs.renewed for _, wrongs in played) > 10
    assert sum(wrongs.strangers for _, wrongs in played) > 10
