"""Statistics of studies: known answers, intervals, and policies that never disagree."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from reprieve_study.cell import StudiedPolicy, StudyInput, encoded
from reprieve_study.job import Job
from reprieve_study.measures import Measured
from reprieve_study.node_pools import node
from reprieve_study.report import (
    StudyHead,
    compared,
    disagreements,
    estimated,
    eviction_lines,
    heading,
    markdown,
    student,
    study_report,
)
from reprieve_study.report_html import html
from reprieve_study.studies import Cell, KeptCells, StudyError, played, studied
from reprieve_study.workers import ProcessPool


def policy(name: str, **args: str) -> StudiedPolicy:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "Reprieve", "args": args}]}],
    }
    return StudiedPolicy(name, msgspec.json.encode(document))


def toy(rounds: int) -> bytes:
    """In each round two pods under a budget are in the way of one that is more important."""
    found = []
    for i in range(rounds):
        at = 1000.0 * i
        asked = (("cpu", "2"),)
        found.append(
            Job(name=f"low-{i}", arrival=at, duration=400, pods=2, requests=asked, budget=2, grace=1)
        )
        found.append(
            Job(name=f"high-{i}", arrival=at + 50, duration=100, requests=(("cpu", "4"),), priority=9)
        )
    # The last job arrives when everything else is over, so that all of it is within the window.
    found.append(Job(name="end", arrival=1000.0 * rounds, duration=1))
    return encoded(StudyInput((node("n", {"cpu": "4", "pods": "9"}),), tuple(found), warmup=0.0))


BREAKS, KEEPS = policy("breaks"), policy("keeps", respectBudgets="Always")


def test_a_study_whose_answer_is_known(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []
    cells = KeptCells(tmp_path, "1", lambda done, expected: shown.append((done, expected)))
    results = studied(toy(4), [KEEPS, BREAKS], (0, 1, 2), cells, InThisProcess())
    table = {one.metric: one for one in compared(results)}
    difference = table["evictions"].differences["breaks"]
    assert (difference.mean, difference.low, difference.high) == (8.0, 8.0, 8.0)
    assert table["budget breaks"].means["breaks"].mean == 8.0
    (found,) = disagreements(results)
    assert (found.only_first, found.only_other, found.seeds_that_differ) == (0, 12, 3)
    assert shown == [(0, 6), *((i, 6) for i in range(1, 7))]
    again: list[tuple[int, int]] = []
    cells = KeptCells(tmp_path, "1", lambda done, expected: again.append((done, expected)))
    assert studied(toy(4), [KEEPS, BREAKS], (0, 1, 2), cells, NoWorkers()) == results
    assert again == [(6, 6)]


def test_what_the_last_arrival_causes_counts() -> None:
    """Its own wait ends after the last arrival, and the gang notices then that it is interrupted."""
    asked = (("cpu", "2"),)
    jobs = (
        Job(name="gang", arrival=0, duration=400, pods=2, gang=2, requests=asked, grace=5),
        Job(name="high", arrival=100, duration=50, requests=asked, priority=9),
    )
    content = encoded(StudyInput((node("n", {"cpu": "4", "pods": "9"}),), jobs, warmup=0.0))
    found = msgspec.json.decode(played(content, BREAKS, 0), type=Measured)
    assert (found.evictions, found.workloads_ended) == (1, 1)
    assert found.waiting[9].starts == 1
    assert found.waiting[9].p50 == pytest.approx(6.1)  # the grace of its victim, and its own start
    assert found.work_lost == pytest.approx(2 * 2 * (100 - 1.1) / 3600)


def test_a_study_that_is_cut_off_goes_on(tmp_path: Path) -> None:
    cells = KeptCells(tmp_path, "1", lambda _done, _expected: None)
    with pytest.raises(StudyError):
        studied(toy(1), [KEEPS, BREAKS], (0,), cells, CutOff())
    workers = InThisProcess()
    found = studied(toy(1), [KEEPS, BREAKS], (0,), cells, workers)
    assert workers.played == [(BREAKS, 0)]
    assert [*found] == ["keeps", "breaks"]


def test_equal_policies_never_disagree(tmp_path: Path) -> None:
    cells = KeptCells(tmp_path, "1", lambda _done, _expected: None)
    same = StudiedPolicy("same", BREAKS.document)
    results = studied(toy(2), [BREAKS, same], (0, 1), cells, InThisProcess())
    report = study_report(head("breaks", "same"), results)
    assert report.verdicts == ("breaks and same never disagreed here: every decision is the same.",)
    assert "never disagreed" in markdown(report)
    assert "never disagreed" in html(report)


def test_the_same_digest_in_another_process(tmp_path: Path) -> None:
    here = msgspec.json.decode(played(toy(2), BREAKS, 0))
    ((_, there),) = ProcessPool(1).results(toy(2), [(BREAKS, 0)])
    assert msgspec.json.decode(there) == here


def test_a_hostile_name_stays_text(tmp_path: Path) -> None:
    cells = KeptCells(tmp_path, "1", lambda _done, _expected: None)
    odd = StudiedPolicy("<script>alert(1)</script>|", KEEPS.document)
    report = study_report(
        head("keeps", odd.name), studied(toy(1), [KEEPS, odd], (0,), cells, InThisProcess())
    )
    assert "<script>" not in html(report)
    assert "&lt;script&gt;" in html(report)


def test_a_file_that_is_cut_off_does_not_count(tmp_path: Path) -> None:
    cells = KeptCells(tmp_path, "1", lambda _done, _expected: None)
    studied(toy(1), [KEEPS], (0,), cells, InThisProcess())
    (path,) = tmp_path.glob("*.json")
    path.write_bytes(path.read_bytes()[:40])
    assert not cells.has(cells.key(toy(1), KEEPS, 0))


def test_two_processes_that_play_the_same_study_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one keeps the same cell between this one's writing and moving."""
    cells = KeptCells(tmp_path, "1", lambda _done, _expected: None)
    cells.prepare()
    key, result = cells.key(toy(1), KEEPS, 0), played(toy(1), KEEPS, 0)
    moved = Path.replace

    def other_comes_first(path: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", moved)
        monkeypatch.setattr("os.getpid", lambda: 0)
        cells.keep(key, result)
        return moved(path, target)

    monkeypatch.setattr(Path, "replace", other_comes_first)
    cells.keep(key, result)
    assert cells.has(key)
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cells = KeptCells(tmp_path / "file" / "cells", "1", lambda _done, _expected: None)
    workers = InThisProcess()
    with pytest.raises(StudyError, match="file: cannot be written: not a directory"):
        studied(toy(1), [KEEPS], (0,), cells, workers)
    assert not workers.played


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.706), (9, 2.262), (30, 2.042), (31, 2.0395), (60, 2.0003), (1000, 1.9623)],
)
def test_student(freedom: int, expected: float) -> None:
    assert student(freedom) == pytest.approx(expected, abs=2e-4)


def test_an_interval() -> None:
    found = estimated([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.low == pytest.approx(3 - 1.9634, abs=1e-3)
    assert found.high == pytest.approx(3 + 1.9634, abs=1e-3)
    assert estimated([2.0]).low is None


def test_no_interval_goes_beyond_what_its_number_can_be(tmp_path: Path) -> None:
    """A metric that is 0 in most seeds, or almost 1 in all, has an interval that would."""
    cells = KeptCells(tmp_path, "1", lambda _done, _expected: None)
    ((one,),) = studied(toy(1), [BREAKS], (0,), cells, InThisProcess()).values()
    arm = [
        msgspec.structs.replace(one, evictions=count, fairness=share)
        for count, share in ((0, 1.0), (0, 0.9), (9, 1.0))
    ]
    other = [
        msgspec.structs.replace(one, evictions=count, fairness=share)
        for count, share in ((0, 0.0), (0, 1.0), (9, 0.0))
    ]
    table = {one.metric: one for one in compared({"a": arm, "b": other})}
    assert table["evictions"].means["a"].low == 0.0
    assert table["fairness"].means["a"].high == 1.0
    assert (table["fairness"].means["b"].low, table["fairness"].means["b"].high) == (0.0, 1.0)
    assert table["fairness"].differences["b"].low == -1.0


def test_a_title_in_words() -> None:
    made_up = replace(head("Upstream", "PriorityCeiling", "LeastDisturbance"), is_made_up=True)
    assert heading(made_up) == "PriorityCeiling and LeastDisturbance compared with Upstream, on made-up jobs"
    assert heading(head("Upstream")) == "Upstream on the jobs of toy"


def test_evictions_are_explained_where_they_are_not_as_many_as_preemptions(tmp_path: Path) -> None:
    cells = KeptCells(tmp_path, "1", lambda _done, _expected: None)
    ((one,),) = studied(toy(1), [BREAKS], (0,), cells, InThisProcess()).values()
    counts = {"more": (1, 2), "fewer": (2, 1), "same": (3, 3)}
    results = {
        name: [msgspec.structs.replace(one, preemptions=p, evictions=e)] for name, (p, e) in counts.items()
    }
    more, fewer = eviction_lines(study_report(head(*results), results))
    assert more == "more: 1 preemption evicted 2 pods."
    assert fewer.startswith(
        "fewer: 2 preemptions evicted 1 pod: a plan that is called off in time evicts none"
    )


def head(*policies: str) -> StudyHead:
    return StudyHead(
        trace="toy",
        digest="0" * 32,
        jobs=3,
        pods=4,
        nodes=1,
        resource="cpu",
        policies=policies,
        seeds=(0, 1),
        version="1",
        arrivals="the trace is played as it is",
    )


class InThisProcess:
    def __init__(self) -> None:
        self.played: list[Cell] = []

    def results(self, content: bytes, cells: Sequence[Cell]) -> Iterator[tuple[Cell, bytes]]:
        for cell in cells:
            self.played.append(cell)
            yield cell, played(content, *cell)


class CutOff:
    def results(self, content: bytes, cells: Sequence[Cell]) -> Iterator[tuple[Cell, bytes]]:
        yield cells[0], played(content, *cells[0])
        raise StudyError("cut off")


class NoWorkers:
    def results(self, content: bytes, cells: Sequence[Cell]) -> Iterator[tuple[Cell, bytes]]:
        assert not cells
        return iter(())


def test_a_pod_that_two_plans_evict_is_counted_once() -> None:
    """Both preemptors arrive at once, and the same pod is in the way of both."""
    jobs = (
        Job(name="low", arrival=0, duration=400, requests=(("cpu", "4"),), grace=5),
        Job(name="high", arrival=100, duration=50, requests=(("cpu", "2"),), priority=9, pods=2),
        Job(name="end", arrival=1000, duration=1),
    )
    content = encoded(StudyInput((node("n", {"cpu": "4", "pods": "9"}),), jobs, warmup=0.0))
    found = msgspec.json.decode(played(content, BREAKS, 0), type=Measured)
    assert found.evictions == 1


def test_jobs_that_all_arrive_at_once_have_time_to_end() -> None:
    jobs = tuple(Job(name=f"j{i}", arrival=0, duration=100, requests=(("cpu", "4"),)) for i in range(10))
    content = encoded(StudyInput((node("n", {"cpu": "4", "pods": "9"}),), jobs))
    found = msgspec.json.decode(played(content, BREAKS, 0), type=Measured)
    assert (found.finished, found.unfinished) == (10, 0)


@pytest.mark.parametrize(
    "requests", [(("cpu", "4"),), (("memory", "4Gi"),), ()], ids=["cpu", "memory", "none"]
)
def test_also_if_they_use_no_gpu_of_nodes_that_have_some(requests: tuple[tuple[str, str], ...]) -> None:
    offered = {"cpu": "4", "memory": "4Gi", "nvidia.com/gpu": "8", "pods": "1"}
    jobs = tuple(Job(name=f"j{i}", arrival=0, duration=100, requests=requests) for i in range(30))
    content = encoded(StudyInput((node("n", offered),), jobs))
    found = msgspec.json.decode(played(content, BREAKS, 0), type=Measured)
    assert (found.finished, found.unfinished) == (30, 0)


def test_one_job_ends() -> None:
    """Its pod takes a moment to start, and does not end with the trace."""
    content = encoded(
        StudyInput((node("n", {"cpu": "4", "pods": "9"}),), (Job(name="j", arrival=0, duration=10),))
    )
    found = msgspec.json.decode(played(content, BREAKS, 0), type=Measured)
    assert (found.finished, found.unfinished) == (1, 0)
