"""What metrics say of crowded clusters equals what the records of plans say."""

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import settings
from prometheus_client.parser import text_string_to_metric_families

from reprieve.runtime.loop import Loop
from reprieve.runtime.observers import ObservedScheduler
from reprieve.runtime.telemetry import ABANDONED, FAILED, PREEMPTORS, Telemetry
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import (
    EndReason,
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    StageReached,
    VictimsJudged,
)
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.crowded_play import CrowdedPlay
from tests.simulation.play import silent
from tests.simulation.resizes import ResizingPlay

COUNTED = range(20)  # played together, and what happens in them is counted
SEEDS = range(30 if settings().derandomize else 2_000)

Series = tuple[str, frozenset[str]]  # the name of a metric, and the values of its labels
ABOUT_PLANS = (
    "reprieve_handovers_begun_total",
    "reprieve_handovers_ready_total",
    "reprieve_handovers_abandoned_total",
    "reprieve_handovers_open",
    "reprieve_wasted_evictions_total",
    "reprieve_resizes_ended_total",
    "scheduler_preemption_goroutines_execution_total",
)


class MeasuredPlay(CrowdedPlay):
    def _loop(self, scheduler: Scheduler) -> Loop:
        """The last restart begins at zero, as do the records that are kept."""
        self.telemetry = Telemetry()
        self.telemetry.read_from(scheduler.pending)
        machine = ObservedScheduler(scheduler, clock, [self.telemetry])
        return Loop(machine, self._cluster, clock, self._decided)

    def records(self) -> list[PlanRecord]:
        return self._watched.plan_audit.records


class MeasuredResizes(MeasuredPlay, ResizingPlay):
    pass


PLAYS = [
    *((MeasuredPlay, seed) for seed in SEEDS[COUNTED.stop :]),
    *((MeasuredResizes, seed) for seed in SEEDS),
]


def played(play: MeasuredPlay) -> MeasuredPlay:
    run(play.act())
    return play


def measured(telemetry: Telemetry) -> Counter[Series]:
    families = text_string_to_metric_families(telemetry.text().decode())
    samples = (sample for family in families for sample in family.samples if sample.name in ABOUT_PLANS)
    return Counter({(s.name, frozenset(s.labels.values())): s.value for s in samples if s.value})


def recorded(records: Iterable[PlanRecord]) -> Counter[Series]:
    """The same, counted from the records."""
    found: Counter[Series] = Counter()
    for record in records:
        match record:
            case PlanOpened(preemptor=preemptor):
                found["reprieve_handovers_begun_total", frozenset({PREEMPTORS[preemptor]})] += 1
                found["reprieve_handovers_open", frozenset()] += 1
            case StageReached(stage=Stage.DRAINING, victims=victims) if victims:
                found["scheduler_preemption_goroutines_execution_total", frozenset({"success"})] += 1
            case PlanEnded(preemptor=preemptor, reason=EndReason.ROOM_USED):
                found["reprieve_handovers_ready_total", frozenset({PREEMPTORS[preemptor]})] += 1
                found["reprieve_handovers_open", frozenset()] -= 1
            case PlanEnded(preemptor=preemptor, reason=reason, victims=victims):
                labels = frozenset({PREEMPTORS[preemptor], ABANDONED[reason]})
                found["reprieve_handovers_abandoned_total", labels] += 1
                found["reprieve_handovers_open", frozenset()] -= 1
                if victims and ABANDONED[reason] == FAILED:
                    found["scheduler_preemption_goroutines_execution_total", frozenset({"error"})] += 1
            case VictimsJudged(wasted=wasted):
                found["reprieve_wasted_evictions_total", frozenset()] += len(wasted)
            case GrowthEnded(end=end):
                found["reprieve_resizes_ended_total", frozenset({str(end)})] += 1
    return +found


@pytest.mark.parametrize(("kind", "seed"), PLAYS)
def test_metrics_equal_records(kind: type[MeasuredPlay], seed: int) -> None:
    check(played(kind(seed, silent)))


def check(play: MeasuredPlay) -> None:
    assert measured(play.telemetry) == recorded(play.records())


def test_enough_is_going_on() -> None:
    records: list[PlanRecord] = []
    for seed in COUNTED:
        check(play := played(MeasuredPlay(seed, silent)))
        records += play.records()
    ends = Counter(record.reason for record in records if isinstance(record, PlanEnded))
    assert ends[EndReason.ROOM_USED] > 5
    assert len(ends) >= 5, f"plans end in few ways: {ends}"
    verdicts = [record for record in records if isinstance(record, VictimsJudged)]
    assert sum(len(verdict.used) for verdict in verdicts) > 10
    assert any(verdict.wasted for verdict in verdicts)
