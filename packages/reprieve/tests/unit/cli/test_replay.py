"""`reprieve replay`: its output and exit codes."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from click.testing import CliRunner, Result
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.assembly.journals import journal_in
from reprieve.cli.main import reprieve
from reprieve.config import Gates, default_configuration
from reprieve.model.events import Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.runtime.journal import Bounds, Journal, Journaled
from reprieve.scheduler.core import Scheduler


def replay(directory: Path) -> Result:
    return CliRunner().invoke(reprieve, ["replay", str(directory)])


def write(directory: Path, pods: int = 1) -> None:
    """A run that is configured as usual."""
    with journal_in(directory, default_configuration(), Gates(), print) as journal:
        assert journal is not None
        play(journal, pods)


def play(journal: Journal, pods: int) -> None:
    machine = Journaled(Scheduler(), journal)
    machine.observe([Seen(a_node("n1", cpu="100")), Synced()], on_one_clock(0.0))
    for i in range(pods):
        machine.observe([Seen(a_pod(f"p{i}"))], on_one_clock(float(i)))
        machine.decide(on_one_clock(float(i)))


@contextmanager
def headless(directory: Path) -> Iterator[None]:
    """The beginning of a run was removed."""
    with closing(Journal(directory, {}, print, Bounds(file_bytes=500, files=2))) as journal:
        play(journal, 20)
    yield


def test_runs_that_are_repeated(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, pods=2)
    done = replay(tmp_path)
    assert done.output == (
        "run 1: 3 events, 1 decision: all the same\nrun 2: 4 events, 2 decisions: all the same\n"
    )
    assert done.exit_code == 0


def test_a_decision_that_differs(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "00000001.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"uid":"uid-p0"', b'"uid":"uid-p7"', 1))
    done = replay(tmp_path)
    first, was, now = done.output.splitlines()
    assert first == "run 1: a decision differs, at 1970-01-01 00:00:00 UTC"
    assert '"uid":"uid-p0"' in was
    assert '"uid":"uid-p7"' in now
    assert done.exit_code == 1


def test_a_run_without_its_beginning(tmp_path: Path) -> None:
    with headless(tmp_path):
        done = replay(tmp_path)
    assert done.stdout == ""
    assert done.stderr.endswith("cannot be replayed: the journal no longer has its beginning\n")
    assert done.exit_code == 1


def test_a_run_that_is_whole_counts(tmp_path: Path) -> None:
    with headless(tmp_path):
        write(tmp_path)
    done = replay(tmp_path)
    assert done.stdout == "run 2: 3 events, 1 decision: all the same\n"
    assert done.exit_code == 0


def test_what_cannot_be_read_is_said_in_a_sentence(tmp_path: Path) -> None:
    done = replay(tmp_path)
    assert (
        done.output
        == f"Error: {tmp_path}: expected a journal; `reprieve up --data-dir D` writes to D/journal\n"
    )
    assert done.exit_code == 1


def test_a_configuration_that_cannot_be_read(tmp_path: Path) -> None:
    with closing(Journal(tmp_path, {"gates": {}}, print)) as journal:
        play(journal, 1)
    done = replay(tmp_path)
    assert done.output == ("Error: the configuration of a run cannot be read: expected an object, got null\n")
