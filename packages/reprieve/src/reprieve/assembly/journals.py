"""How is a scheduler observed, how does a run write its journal, and how are journals read and replayed?

Each run is replayed with its own configuration.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from reprieve import config
from reprieve.assembly.scheduler_settings import settings_of
from reprieve.cluster.api.decode_errors import fault_of
from reprieve.cluster.api.values import items, part
from reprieve.config.decoding import Seconds
from reprieve.config.former_args import FORMER_DEFAULTS, recorded_args, recorded_document
from reprieve.config.parsing import as_document
from reprieve.model.json import Json
from reprieve.runtime.journal import Journal, Journaled, JournalError, read_results
from reprieve.runtime.journal_replay import Headless, Replayed, replay_runs
from reprieve.runtime.observers import Machine, ObservedScheduler, SchedulerObserver
from reprieve.runtime.recent_decisions import RecentDecisions, remember
from reprieve.runtime.telemetry import Telemetry
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision_document import UnreadableDecisionError

JOURNAL = "journal"  # below the data directory of a cluster


@contextmanager
def journal_in(
    directory: Path | None,
    configured: config.Configuration,
    gates: config.Gates,
    complain: Callable[[str], None],
) -> Iterator[Journal | None]:
    """A journal for as long as the context is open; None without a directory."""
    if directory is None:
        yield None
        return
    # With every key, so that it means the same to a version with other defaults.
    head = {"configuration": as_document(configured), "gates": msgspec.to_builtins(gates)}
    with closing(Journal(directory, head, complain)) as journal:
        yield journal


def earlier_decisions(directory: Path | None, complain: Callable[[str], None]) -> RecentDecisions:
    """The recent decisions of earlier runs, within the usual bounds; as many as could be read."""
    kept = RecentDecisions()
    if directory is None or not directory.is_dir():
        return kept
    try:
        remember(kept, read_results(directory))
    except (JournalError, UnreadableDecisionError) as error:
        complain(f"not all earlier decisions are shown: {error}")
    return kept


def replay_journal(directory: Path) -> Iterator[Replayed | Headless]:
    """Replays every run of a journal, each with its own configuration; raises JournalError."""
    return replay_runs(directory, _scheduler_of)


def _scheduler_of(head: Json) -> Scheduler:
    return Scheduler(settings_of(*run_configuration(head)))


def run_configuration(head: Json) -> tuple[config.Configuration, config.Gates]:
    """Read the configuration of the run that this head began; raises JournalError."""
    written = head.get("configuration")
    try:
        is_document = isinstance(written, dict) and "kind" in written
        configured = (
            config.parse_configuration(recorded_document(written))
            if is_document
            else _of_earlier_version(written)
        )
        return configured, msgspec.convert(head.get("gates"), config.Gates)
    except config.InvalidConfigurationError as error:
        raise JournalError(f"the configuration of a run cannot be read: {error.errors[0]}") from error
    except msgspec.ValidationError as error:
        raise JournalError(f"the configuration of a run cannot be read: {_sentence(error)}") from error


def _of_earlier_version(written: object) -> config.Configuration:
    """A record without the keys that had their default of then."""
    if isinstance(written, dict) and isinstance(written.get("profiles"), list):
        written = {
            **written,
            "profiles": [_profile_of_today(profile) for profile in items(written, "profiles")],
        }
    return msgspec.convert(written, config.Configuration, dec_hook=_length)


def _profile_of_today(profile: Json) -> Json:
    args = part(profile, "args")
    own = recorded_args({**FORMER_DEFAULTS, **part(args, "Reprieve")})
    return {**profile, "args": {**args, "Reprieve": own}}


def _length(kind: type, value: object) -> Seconds:
    if kind is not Seconds or not isinstance(value, int | float):
        raise ValueError(f"expected a number of seconds, got {value!r}")
    return Seconds(value)


def _sentence(error: msgspec.ValidationError) -> str:
    return ": ".join(filter(None, fault_of(error)))


def observed_scheduler(
    scheduler: Scheduler,
    telemetry: Telemetry | None = None,
    journal: Journal | None = None,
    others: Sequence[SchedulerObserver] = (),
) -> Machine:
    """The scheduler with its journal and its observers; without any, the scheduler itself."""
    machine: Machine = scheduler if journal is None else Journaled(scheduler, journal)
    if telemetry is not None:
        telemetry.read_from(scheduler.pending, scheduler.known)
        others = (telemetry, *others)
    return ObservedScheduler(machine, _elapsed, others) if others else machine


def _elapsed() -> float:
    """Read the clock on which the loop measures durations."""
    return asyncio.get_running_loop().time()
