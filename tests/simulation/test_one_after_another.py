"""Crowded clusters in which nothing is decided while effects are under way: what must hold is the same."""

import pytest
from hypothesis import settings

from reprieve.runtime.loop import Loop
from reprieve.runtime.performer import PerformerLimits
from reprieve.scheduler.core import Scheduler
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.crowded_play import CrowdedPlay
from tests.simulation.play import silent

SEEDS = range(20 if settings().derandomize else 2_000)


class OneAfterAnother(CrowdedPlay):
    def _loop(self, scheduler: Scheduler) -> Loop:
        return Loop(scheduler, self._cluster, clock, self._decided, PerformerLimits(decide_meanwhile=False))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crowd_comes_to_rest(seed: int) -> None:
    run(OneAfterAnother(seed, silent).act())
