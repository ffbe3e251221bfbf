"""What metrics say of crowded clusters agrees with what the scheduler knows, after every step."""

from collections.abc import Sequence

import pytest
from hypothesis import settings
from prometheus_client.parser import text_string_to_metric_families

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.runtime.loop import Loop
from reprieve.runtime.observers import ObservedScheduler, Onlooker
from reprieve.runtime.telemetry import Telemetry
from reprieve.runtime.virtual_time import clock, run
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.decision import Decided
from tests.simulation.crowded_play import CrowdedPlay
from tests.simulation.invariants import hold, key_of
from tests.simulation.play import silent

SEEDS = range(30 if settings().derandomize else 2_000)


class PlansAgree:
    """Which plans are open is told from outside, and the scheduler knows it."""

    def __init__(self, telemetry: Telemetry, scheduler: Scheduler) -> None:
        self._telemetry = telemetry
        self._scheduler = scheduler

    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        self._compare()

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        self._compare()

    def _compare(self) -> None:
        told = set(map(key_of, self._telemetry._followed._plans))
        known = {key for key, _ in self._scheduler._state.plans}
        hold(told == known, f"open are {sorted(known)}, and metrics say {sorted(told)}")


class MeasuredPlay(CrowdedPlay):
    def _loop(self, scheduler: Scheduler) -> Loop:
        self.telemetry = Telemetry()
        self.telemetry.asks(scheduler.pending)
        onlookers: list[Onlooker] = [self.telemetry, PlansAgree(self.telemetry, scheduler)]
        return Loop(ObservedScheduler(scheduler, clock, onlookers), self._cluster, clock, self._decided)


def measured(seed: int) -> dict[str, float]:
    """The sums of all metrics after a seed was played; the last restart begins at zero."""
    play = MeasuredPlay(seed, silent)
    run(play.act())
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(play.telemetry.text().decode()):
        for sample in family.samples:
            sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
    return sums


@pytest.mark.parametrize("seed", SEEDS)
def test_every_plan_that_is_begun_ends_once(seed: int) -> None:
    sums = measured(seed)
    ended = sums["reprieve_handovers_ready_total"] + sums["reprieve_handovers_abandoned_total"]
    assert sums["reprieve_handovers_begun_total"] == ended + sums["reprieve_handovers_open"]
    assert sums["scheduler_preemption_goroutines_execution_total"] <= sums["reprieve_handovers_begun_total"]


def test_plans_come_true() -> None:
    sums = [measured(seed) for seed in range(20)]
    assert sum(one["reprieve_handovers_ready_total"] for one in sums) > 5
