"""Where cells are played: the same results everywhere, and workers that die are replaced."""

import inspect
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.study.test_comparison import BREAKS, KEEPS, toy

from reprieve.assembly import scheduler_settings
from reprieve_study import studies
from reprieve_study import workers as study_workers
from reprieve_study.cell import StudiedPolicy
from reprieve_study.studies import Cell, StudyError, played, version_and_code
from reprieve_study.workers import (
    DaskCluster,
    ProcessPool,
    WorkersDiedError,
    _all_played,
    dask_cluster,
)

CELLS: list[Cell] = [(BREAKS, 0), (KEEPS, 1)]


def digests(results: Iterator[tuple[Cell, bytes]]) -> dict[tuple[str, int], str]:
    return {(policy.name, seed): msgspec.json.decode(found)["digest"] for (policy, seed), found in results}


def here() -> dict[tuple[str, int], str]:
    return digests((cell, played(toy(2), *cell)) for cell in CELLS)


class Killing:
    """Plays cells, but the process that plays the first one is killed while it does."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __call__(self, *cell: Any) -> bytes:
        with self._marker.open("a") as file:
            file.write("x")
        if self._marker.stat().st_size == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return played(*cell[-3:])


def test_a_process_that_dies_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_workers, "played", Killing(tmp_path / "killed"))
    assert digests(ProcessPool(1).results(toy(2), CELLS)) == here()


def test_a_cell_that_ends_every_worker_ends_the_study() -> None:
    def tried(cells: Sequence[Cell]) -> Iterator[tuple[Cell, bytes]]:
        """The first cell ends its worker; another may be done before."""
        yield from ((cell, b"") for cell in cells[1:2])
        raise WorkersDiedError

    done: list[Cell] = []
    with pytest.raises(StudyError, match="workers died 3 times in a row, with 1 cells left"):
        for cell, _ in _all_played([(BREAKS, seed) for seed in range(4)], tried):
            done.append(cell)
    assert done == [(BREAKS, seed) for seed in range(1, 4)]


# --- Dask ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def local_cluster() -> Iterator[Any]:
    """Two processes, reached over the loopback interface alone, without a dashboard."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def dask(local_cluster: Any) -> Iterator[DaskCluster]:
    with dask_cluster(local_cluster.scheduler_address) as cluster:
        yield cluster


@pytest.mark.filterwarnings("default")
def test_the_same_digests_on_dask(dask: DaskCluster) -> None:
    assert digests(dask.results(toy(2), CELLS)) == here()


@pytest.mark.filterwarnings("default")
def test_a_dask_worker_that_dies_is_replaced(
    dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_workers, "played_by", Killing(tmp_path / "killed"))
    assert digests(dask.results(toy(2), CELLS)) == here()
    assert (tmp_path / "killed").stat().st_size == len(CELLS) + 1


@pytest.mark.filterwarnings("default")
def test_a_dask_worker_with_another_version(dask: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_workers, "version_and_code", lambda: "9.9.9+0")
    with pytest.raises(StudyError) as error:
        [*dask.results(toy(1), CELLS[:1])]
    assert str(error.value) == f"expected workers with reprieve 9.9.9+0, got one with {version_and_code()}"


def test_versions_that_differ() -> None:
    def found(release: str) -> dict[str, Any]:
        return {"packages": {"python": "3.11.7.final.0", "dask": release, "distributed": release}}

    compare: Callable[[Any], None] = study_workers._compare_versions
    compare({"client": found("1"), "scheduler": found("1"), "workers": {"tcp://w": found("1")}})
    with pytest.raises(StudyError, match=r"^expected dask 1 as here, got 2 \(tcp://w\)$"):
        compare({"client": found("1"), "scheduler": found("1"), "workers": {"tcp://w": found("2")}})


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("nowhere", "expected an address such as tcp://HOST:8786"),
        ("tcp://[::1", "expected an address such as tcp://HOST:8786"),
        ("http://127.0.0.1:8786", "expected an address such as tcp://HOST:8786"),
        ("tcp://127.0.0.1:1", "got no answer: connection refused"),
    ],
)
def test_no_scheduler_there(address: str, sentence: str) -> None:
    with pytest.raises(StudyError, match=sentence), dask_cluster(address):
        pass


def test_dask_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    missing = pytest.raises(StudyError, match=r"not installed: pip install 'reprieve-study\[dask\]'")
    with missing, dask_cluster("tcp://127.0.0.1:1"):
        pass


class Counting:
    """Notes each cell that is played, and plays none."""

    def __init__(self, played_cells: Path) -> None:
        self._played_cells = played_cells

    def __call__(self, _content: bytes, _policy: StudiedPolicy, seed: int) -> bytes:
        (self._played_cells / str(seed)).touch()
        return b"{}"


def test_a_study_that_is_given_up_plays_no_further_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those that a process had taken already."""
    monkeypatch.setattr(study_workers, "played", Counting(tmp_path))
    results = ProcessPool(1)._tried(b"", [(KEEPS, seed) for seed in range(200)])
    next(results)
    results.close()  # type: ignore[attr-defined]  # a generator, as any iterator with a clean-up
    assert len([*tmp_path.iterdir()]) < 200


def test_the_digest_of_the_code_covers_what_sets_a_scheduler_up() -> None:
    """Else cells that another code played would be taken for those of this one."""
    found = re.findall(r"^from reprieve\.(\w+)", inspect.getsource(scheduler_settings), re.M)
    assert set(found) <= set(studies._PLAYED_BY)
