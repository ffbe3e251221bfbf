"""Whatever happened in a simulated cluster, with all its faults and restarts: repeated from its journal, the
scheduler decides the same, byte for byte, and wants the same done.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Self

import hypothesis
import pytest

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.model.json import Json
from reprieve.model.moment import Due, Moment
from reprieve.model.urgency import Urgency
from reprieve.runtime.journal import Journal, Journaled
from reprieve.runtime.journal_replay import Replayed, replay_runs
from reprieve.runtime.loop import Loop
from reprieve.runtime.observers import Machine
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decided
from reprieve.scheduler.set_aside import SchedulerFailure
from reprieve.scheduler.settings import Settings
from reprieve_minicluster.virtual_time import run
from tests.simulation.crowd import settings_of
from tests.simulation.crowded_play import CrowdedPlay
from tests.simulation.invariants import hold
from tests.simulation.play import Play, silent
from tests.simulation.resizes import ResizingPlay, resizing_settings
from tests.simulation.scenario import USUAL, scenario

CROWDS = range(60 if hypothesis.settings().derandomize else 2_000)
TROUBLES = range(30 if hypothesis.settings().derandomize else 2_000)

Wanted = list[tuple[Effect, ...]]


class Noting:
    """A scheduler, and all that it ever wanted."""

    def __init__(self, machine: Machine, wanted: Wanted) -> None:
        self._machine = machine
        self._wanted = wanted

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
        effects = self._machine.observe(events, now)
        self._wanted.append(tuple(effects))
        return effects

    def decide(self, now: Moment) -> Decided | None:
        decided = self._machine.decide(now)
        self._wanted.append(decided.effects if decided is not None else ())
        return decided

    def records(self) -> tuple[PlanRecord, ...]:
        return self._machine.records()

    def failures(self) -> tuple[SchedulerFailure, ...]:
        return self._machine.failures()

    def next_time(self) -> Due:
        return self._machine.next_time()

    def urgency(self, effect: Effect) -> Urgency:
        return self._machine.urgency(effect)

    def improving(self) -> frozenset[str]:
        return self._machine.improving()


class Journaling(Play):
    """A play whose scheduler writes a journal; every restart is a run of its own."""

    directory: Path
    journals: list[Journal]
    wanted: Wanted

    def _loop(self, scheduler: Scheduler) -> Loop:
        self.journals.append(Journal(self.directory, {}, _fail))
        machine = Noting(Journaled(scheduler, self.journals[-1]), self.wanted)
        return Loop(machine, self._cluster, self._clock, self._decided, solver=self._solver)

    def written_to(self, directory: Path) -> Self:
        self.directory, self.journals, self.wanted = directory, [], []
        return self

    def close(self) -> int:
        """How many runs were written."""
        for journal in self.journals:
            journal.close()
        return len(self.journals)


class JournalingCrowd(Journaling, CrowdedPlay):
    pass


class JournalingResizes(Journaling, ResizingPlay):
    pass


def _fail(sentence: str) -> None:
    hold(False, sentence)


def scheduler(settings: Settings, wanted: Wanted | None = None) -> Callable[[Json], Machine]:
    """A scheduler that replays a run; the effects it wants are recorded."""
    return lambda _: Noting(Scheduler(settings), [] if wanted is None else wanted)


def repeated(directory: Path, machine_of: Callable[[Json], Machine]) -> list[Replayed]:
    return [run for run in replay_runs(directory, machine_of) if isinstance(run, Replayed)]


def check_repetition(play: Journaling, settings: Settings) -> int:
    """How many decisions were repeated."""
    wanted: Wanted = []
    runs = repeated(play.directory, scheduler(settings, wanted))
    assert [one.difference for one in runs] == [None] * play.close()
    assert wanted == play.wanted
    return sum(one.decisions for one in runs)


@pytest.mark.parametrize("seed", CROWDS)
def test_a_crowd_is_repeated(seed: int, tmp_path: Path) -> None:
    play = JournalingCrowd(seed, silent).written_to(tmp_path)
    tally = run(play.act())
    assert check_repetition(play, settings_of(seed)) >= tally.placed + tally.plans


@pytest.mark.parametrize("seed", CROWDS)
def test_a_crowd_that_wants_to_grow_is_repeated(seed: int, tmp_path: Path) -> None:
    play = JournalingResizes(seed, silent).written_to(tmp_path)
    tally = run(play.act())
    assert check_repetition(play, resizing_settings(seed)) >= tally.placed + tally.plans


@pytest.mark.parametrize("seed", TROUBLES)
def test_whatever_goes_wrong_goes_wrong_again(seed: int, tmp_path: Path) -> None:
    play = Journaling(scenario(seed), silent).written_to(tmp_path)
    outcome = run(play.perform())
    assert check_repetition(play, USUAL) == outcome.decisions


def test_another_scheduler_decides_differently(tmp_path: Path) -> None:
    """So that a comparison that sees nothing is noticed: here nothing is evicted."""
    differing = 0
    for seed in range(5):
        play = JournalingCrowd(seed, silent).written_to(tmp_path / str(seed))
        run(play.act())
        play.close()
        runs = repeated(play.directory, scheduler(replace(settings_of(seed), policies={})))
        differing += any(one.difference is not None for one in runs)
    assert differing >= 3
