"""A journal is bounded, survives what befalls files, and never stands in the way of scheduling."""

import os
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.unit.scheduler.making import a_node, a_pod, bound, target

from reprieve.model.effects import Effect
from reprieve.model.events import Done, Event, Gone, Seen, Synced
from reprieve.model.json import Json
from reprieve.model.moment import Moment, on_one_clock
from reprieve.runtime.journal import Bounds, Journal, Journaled, JournalError, read_entries
from reprieve.runtime.journal_lines import Asked, Began, Observed, Recorded
from reprieve.runtime.journal_replay import Headless, Replayed, replay_runs
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import PlanOpened, StageReached

SMALL = Bounds(file_bytes=2_000, files=3)


def scheduler(_: Json) -> Scheduler:
    return Scheduler()


def play(journal: Journal, pods: int = 2, machine: Scheduler | None = None) -> int:
    """Places pods, one after the other; says how many."""
    machine = machine or Scheduler()
    watched, placed = Journaled(machine, journal), 0
    watched.observe([Seen(a_node("n1", cpu="100")), Synced()], on_one_clock(0.0))
    for i in range(pods):
        effects = watched.observe([Seen(a_pod(f"p{i}"))], on_one_clock(float(i)))
        while (decided := watched.decide(on_one_clock(float(i)))) is not None:
            effects += decided.effects
            placed += 1
        watched.observe([*map(Done, effects), Seen(bound(a_pod(f"p{i}"), "n1"))], on_one_clock(i + 0.5))
    return placed


def written(directory: Path, pods: int = 2, bounds: Bounds | None = None) -> list[str]:
    """The complaints about writing a run down."""
    complaints: list[str] = []
    with closing(Journal(directory, {"is": "a test"}, complaints.append, bounds or Bounds())) as journal:
        assert play(journal, pods) == pods, "scheduling goes on, whatever becomes of the journal"
    return complaints


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# --- writing and repeating -----------------------------------------------------------------------


def test_a_run_is_written_and_repeated(tmp_path: Path) -> None:
    assert written(tmp_path / "new" / "directory") == []
    assert list(replay_runs(tmp_path / "new" / "directory", scheduler)) == [Replayed(events=8, decisions=2)]


def test_every_step_is_written_with_how_it_began(tmp_path: Path) -> None:
    written(tmp_path, pods=1)
    assert [type(entry) for entry in read_entries(tmp_path)] == [
        Began,
        Observed,
        Observed,
        Asked,
        Asked,
        Observed,
    ]
    assert next(read_entries(tmp_path)) == Began({"is": "a test"})


def test_files_that_others_could_read_are_private_from_the_next_start_on(tmp_path: Path) -> None:
    Journal(tmp_path / "journal", {}, print).close()
    old = tmp_path / "journal" / "00000001.jsonl"
    old.chmod(0o644)
    Journal(tmp_path / "journal", {}, print).close()
    assert old.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o700


def test_a_second_run_has_a_file_of_its_own(tmp_path: Path) -> None:
    written(tmp_path, pods=1)
    written(tmp_path, pods=3)
    assert files(tmp_path) == ["00000001.jsonl", "00000002.jsonl"]
    assert [run.decisions for run in replay_runs(tmp_path, scheduler) if isinstance(run, Replayed)] == [1, 3]


def test_another_decision_is_found(tmp_path: Path) -> None:
    """The pods are not its own, so it has nothing to decide."""
    written(tmp_path)
    path = tmp_path / "00000001.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"schedulerName":"reprieve"', b'"schedulerName":"other"'))
    (run,) = replay_runs(tmp_path, scheduler)
    assert isinstance(run, Replayed)
    assert run.difference is not None
    assert run.difference.replayed is None
    assert b'"outcome":"Placed"' in (run.difference.written or b"")


# --- plan records --------------------------------------------------------------------------------


def preempted(directory: Path) -> Path:
    """A run in which a pod is evicted; says where it is written."""
    with closing(Journal(directory, {}, print)) as journal:
        machine = Journaled(Scheduler(), journal)
        old, new = a_pod("old", cpu="4", on="n1"), a_pod("new", cpu="4", priority=9)
        effects = machine.observe([Seen(a_node("n1")), Seen(old), Seen(new), Synced()], on_one_clock(0.0))
        for now in (1.0, 2.0, 3.0, 4.0):
            while (decided := machine.decide(on_one_clock(now))) is not None:
                effects += decided.effects
            effects = machine.observe(map(Done, effects), on_one_clock(now))
        machine.observe([Gone(target(old))], on_one_clock(5.0))
    return directory / "00000001.jsonl"


def changed(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> Replayed:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    (run,) = replay_runs(path.parent, scheduler)
    assert isinstance(run, Replayed)
    return run


def is_record(line: bytes) -> bool:
    return b'"records":' in line


def test_records_are_written_after_their_step(tmp_path: Path) -> None:
    path = preempted(tmp_path)
    written = [entry.records for entry in read_entries(tmp_path) if isinstance(entry, Recorded)]
    assert isinstance(written[0][0], PlanOpened)
    assert [record.stage for step in written for record in step if isinstance(record, StageReached)] == [
        Stage.MARKING,
        Stage.COMMITTING,
        Stage.EVICTING,
        Stage.DRAINING,
        Stage.READY,
    ]
    assert changed(path, lambda lines: lines).difference is None


def test_a_record_that_differs_is_found(tmp_path: Path) -> None:
    run = changed(
        preempted(tmp_path), lambda lines: [line.replace(b'"draining"', b'"ready"') for line in lines]
    )
    assert run.difference is not None
    assert (run.difference.what, run.difference.at) == ("plan record", 3.0)
    assert b'"ready"' in (run.difference.written or b"")
    assert b'"draining"' in (run.difference.replayed or b"")


def test_a_record_that_is_missing_is_found(tmp_path: Path) -> None:
    run = changed(preempted(tmp_path), lambda lines: [line for line in lines if b'"PlanOpened"' not in line])
    assert run.difference is not None
    assert (run.difference.what, run.difference.written) == ("plan record", None)
    assert b'"PlanOpened"' in (run.difference.replayed or b"")


def test_a_record_that_nothing_makes_is_found(tmp_path: Path) -> None:
    path = preempted(tmp_path)
    extra = next(line for line in path.read_bytes().splitlines(keepends=True) if is_record(line))
    run = changed(path, lambda lines: [*lines, extra])
    assert run.difference is not None
    assert run.difference.written is not None


def test_the_records_of_a_last_step_may_be_missing(tmp_path: Path) -> None:
    """The process ended between the two."""

    def cut(lines: list[bytes]) -> list[bytes]:
        assert is_record(lines[-1])
        return lines[:-1]

    assert changed(preempted(tmp_path), cut).difference is None


def test_a_journal_of_the_first_format_has_none_and_is_replayed(tmp_path: Path) -> None:
    def older(lines: list[bytes]) -> list[bytes]:
        return [line.replace(b'"begin":4', b'"begin":1') for line in lines if not is_record(line)]

    run = changed(preempted(tmp_path), older)
    assert (run.difference, run.decisions) == (None, 1)


def test_events_are_written_before_they_can_do_harm(tmp_path: Path) -> None:
    class Frail(Scheduler):
        def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
            raise RuntimeError("too much")

    with closing(Journal(tmp_path, {}, print)) as journal, pytest.raises(RuntimeError):
        play(journal, machine=Frail())
    with pytest.raises(RuntimeError, match="too much"):
        list(replay_runs(tmp_path, lambda _: Frail()))


# --- bounds --------------------------------------------------------------------------------------


def test_the_oldest_files_are_removed(tmp_path: Path) -> None:
    assert written(tmp_path, pods=50, bounds=SMALL) == []
    assert len(files(tmp_path)) == 3
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 3 * 2 * SMALL.file_bytes


def test_no_more_are_removed_than_must_be(tmp_path: Path) -> None:
    for run in range(12):
        written(tmp_path, pods=1, bounds=Bounds(files=8))
        assert len(files(tmp_path)) == min(run + 1, 8)


def test_a_run_in_many_files_is_repeated(tmp_path: Path) -> None:
    written(tmp_path, pods=50, bounds=Bounds(file_bytes=2_000, files=1_000))
    assert len(files(tmp_path)) > 10
    assert list(replay_runs(tmp_path, scheduler)) == [Replayed(events=152, decisions=50)]


def test_a_run_whose_beginning_is_gone_cannot_be_repeated(tmp_path: Path) -> None:
    written(tmp_path, pods=50, bounds=SMALL)
    (rest,) = replay_runs(tmp_path, scheduler)
    assert isinstance(rest, Headless)
    assert rest.steps > 0


def test_a_later_run_can(tmp_path: Path) -> None:
    written(tmp_path, pods=50, bounds=SMALL)
    written(tmp_path, pods=1, bounds=SMALL)
    rest, run = replay_runs(tmp_path, scheduler)
    assert isinstance(rest, Headless)
    assert run == Replayed(events=5, decisions=1)


# --- what befalls files --------------------------------------------------------------------------


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / "00000001.jsonl"
    whole = path.read_bytes()
    for cut in range(1, len(whole.splitlines()[-1]) + 1, 50):
        path.write_bytes(whole[:-cut])
        (run,) = replay_runs(tmp_path, scheduler)
        assert isinstance(run, Replayed)
        assert (run.decisions, run.difference) == (2, None)


def test_a_new_run_may_follow_a_line_that_was_cut_off(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / "00000001.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    written(tmp_path)
    assert [run.decisions for run in replay_runs(tmp_path, scheduler) if isinstance(run, Replayed)] == [2, 2]


def complaint(directory: Path) -> str:
    with pytest.raises(JournalError) as raised:
        list(replay_runs(directory, scheduler))
    return str(raised.value)


def test_the_same_run_may_not(tmp_path: Path) -> None:
    written(tmp_path, pods=50, bounds=Bounds(file_bytes=2_000, files=1_000))
    path = tmp_path / "00000002.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert complaint(tmp_path) == f"{path}: the last line is not whole, and 00000003.jsonl goes on after it"


def test_a_line_that_is_damaged_is_named(tmp_path: Path) -> None:
    written(tmp_path)
    path = tmp_path / "00000001.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"kind":"Pod","is":"Seen"', b'"kind":"Dog","is":"Seen"', 1))
    assert complaint(tmp_path) == f"{path}: line 3 names a kind that Reprieve does not know: 'Dog'"


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    written(tmp_path, pods=50, bounds=Bounds(file_bytes=2_000, files=1_000))
    (tmp_path / "00000003.jsonl").unlink()
    assert complaint(tmp_path) == (
        f"{tmp_path}: the files between 00000002.jsonl and 00000004.jsonl are missing"
    )


def test_where_there_is_no_journal(tmp_path: Path) -> None:
    assert (
        complaint(tmp_path)
        == f"{tmp_path}: expected a journal; `reprieve up --data-dir D` writes to D/journal"
    )
    assert (
        complaint(tmp_path / "no") == f"{tmp_path / 'no'}: expected a directory with a journal, got nothing"
    )


# --- scheduling goes on --------------------------------------------------------------------------


def the_end(directory: Path, reason: str) -> str:
    return f"the journal in {directory} ends here: {reason}; scheduling goes on without it"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for directory, reason in (
        (tmp_path / "file", "file exists"),
        (tmp_path / "file" / "below", "not a directory"),
    ):
        assert written(directory) == [the_end(directory, reason)]


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """There is room for half of it: what was written until then can be repeated."""
    complaints: list[str] = []
    with closing(Journal(tmp_path, {}, complaints.append)) as journal, at_most(3_000):
        assert play(journal, pods=10) == 10
    assert complaints == [
        f"the journal in {tmp_path} ends here: file too large; scheduling goes on without it"
    ]
    (run,) = replay_runs(tmp_path, scheduler)
    assert isinstance(run, Replayed)
    assert 0 < run.decisions < 10
    assert run.difference is None


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Files cannot become larger than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_any_room(tmp_path: Path) -> None:
    complaints: list[str] = []
    with (
        closing(Journal(tmp_path, {}, complaints.append)) as journal,
        Path("/dev/full").open("wb", 0) as full,
    ):
        assert journal._file is not None
        os.dup2(full.fileno(), journal._file.fileno())
        play(journal)
    assert complaints == [the_end(tmp_path, "no space left on device")]
