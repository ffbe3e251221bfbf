"""Replays the runs of a journal, and compares the decisions and plan records with those that were written.

A run begins with a scheduler without state, so it can be replayed for as long as the journal has its
beginning.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from reprieve.model.json import Json
from reprieve.runtime import journal_lines as lines
from reprieve.runtime.journal import read_entries
from reprieve.runtime.journal_lines import Asked, Began, Observed, Recorded
from reprieve.runtime.observers import Machine
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.reporting.decision_document import encoded, read_decision


class Compared(StrEnum):
    DECISION = "decision"
    PLAN_RECORDS = "plan record"


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """The first thing that came out differently."""

    what: Compared
    at: float
    written: bytes | None
    replayed: bytes | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """How the replay of a run went, up to the first difference."""

    events: int
    decisions: int
    difference: ReplayDifference | None = None


@dataclass(frozen=True, slots=True)
class Headless:
    """The rest of a run whose beginning was removed: it cannot be replayed."""

    steps: int


def replay_runs(directory: Path, machine_of: Callable[[Json], Machine]) -> Iterator[Replayed | Headless]:
    """Replays one run after the other; ``machine_of`` makes a scheduler that is configured as the head says.

    Raises JournalError where the journal cannot be read.
    """
    run: _Repetition | _Rest = _Rest()
    for entry in read_entries(directory):
        if not isinstance(entry, Began):
            run.step(entry)
            continue
        if run.steps:
            yield run.end()
        run = _Repetition(machine_of(entry.head), entry)
    yield run.end()


def _gist(decision: Decision) -> object:
    victims = decision.preemption.victims if decision.preemption is not None else ()
    return decision.id, decision.outcome, decision.places, {victim.pod for victim in victims}


class _Rest:
    def __init__(self) -> None:
        self.steps = 0

    def step(self, _: Observed | Asked | Recorded) -> None:
        self.steps += 1

    def end(self) -> Headless:
        return Headless(self.steps)


class _Repetition:
    def __init__(self, machine: Machine, began: Began) -> None:
        self._machine = machine
        self._began = began
        self._last: tuple[float, tuple[PlanRecord, ...]] = (
            0.0,
            (),
        )  # records that the journal should have next
        self.steps = self._events = self._decisions = 0
        self._difference: ReplayDifference | None = None

    def step(self, entry: Observed | Asked | Recorded) -> None:
        self.steps += 1
        if self._difference is not None:
            return  # what follows differs because of it
        if isinstance(entry, Recorded):
            self._compare_records(entry.at, entry.records)
            return
        self._compare_records(self._last[0], ())  # the last step has no line with records
        if self._difference is None:
            self._take(entry)
            self._last = entry.now.wall, self._machine.records() if self._began.has_records else ()

    def _take(self, entry: Observed | Asked) -> None:
        match entry:
            case Observed(now, events):
                self._events += len(events)
                self._machine.observe(events, now)
            case Asked(now, written):
                found = self._machine.decide(now)
                decided = encoded(found.decision) if found is not None else None
                self._decisions += decided is not None
                if not self._is_same(written, decided):
                    self._difference = ReplayDifference(Compared.DECISION, now.wall, written, decided)

    def _is_same(self, written: bytes | None, decided: bytes | None) -> bool:
        """Byte for byte; of an older form, what it decided."""
        if written == decided or written is None or decided is None or self._began.has_documents:
            return written == decided
        return _gist(read_decision(written)) == _gist(read_decision(decided))

    def _compare_records(self, at: float, written: tuple[PlanRecord, ...]) -> None:
        (_, expected), self._last = self._last, (at, ())
        if written != expected:
            both = (lines.records_json(records) if records else None for records in (written, expected))
            self._difference = ReplayDifference(Compared.PLAN_RECORDS, at, *both)

    def end(self) -> Replayed:
        """The process may have ended before it wrote the records of its last step: they are not missed."""
        return Replayed(self._events, self._decisions, self._difference)
