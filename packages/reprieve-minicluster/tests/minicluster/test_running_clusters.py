"""Which clusters run on this machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from reprieve_minicluster.assembly.running_clusters import RunningCluster, entered, entries
from tests.processes import started

KEEPER = """
import os, sys, time
from reprieve_minicluster.assembly.running_clusters import RunningCluster, entered
with entered(RunningCluster(os.getpid(), "a", "k", "", 2.0)):
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRIEVE_RUNTIME_DIR", str(tmp_path))


def test_one_is_there_while_it_is_up() -> None:
    entry = RunningCluster(1, "https://127.0.0.1:1", "/k", "/d", 1.0)
    assert entries() == []
    with entered(entry):
        assert entries() == [entry]
    assert entries() == []


def test_the_oldest_comes_first() -> None:
    young, old = RunningCluster(1, "a", "k", "", 9.0), RunningCluster(2, "b", "k", "", 5.0)
    with entered(young), entered(old):
        assert entries() == [old, young]


def test_one_that_was_killed_is_not_up(tmp_path: Path) -> None:
    with started([sys.executable, "-c", KEEPER], stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == "ready\n"
        assert [entry.pid for entry in entries()] == [keeper.pid]
        keeper.kill()
    assert list((tmp_path / "reprieve").iterdir())
    assert entries() == []
    assert not list((tmp_path / "reprieve").iterdir())
