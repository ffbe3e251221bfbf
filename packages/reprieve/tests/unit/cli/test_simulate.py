"""`reprieve simulate`: its report, and one sentence for each mistake."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from reprieve.assembly.caller_page import recording_in
from reprieve.cli.main import reprieve
from reprieve.runtime.journal import read_results
from reprieve.runtime.journal_lines import Asked
from reprieve.scheduler.reporting.decision import Outcome
from tests.architecture.source import ROOT

TOY = "\n".join(
    f'{{"arrival": {100 * i}, "duration": 50, "cpu": 2, "priority": {i % 3}, "grace": 1}}' for i in range(9)
)


def simulate(folder: Path, *args: str, trace: str = TOY) -> Result:
    path = folder / "trace.jsonl"
    path.write_text(trace)
    out = ("--out", str(folder / "study"))
    return CliRunner().invoke(reprieve, ["simulate", str(path), "--nodes", "cpu16x1", *out, *args])


def test_a_report_in_three_forms(tmp_path: Path) -> None:
    done = simulate(tmp_path, "--seeds", "2", "--jobs", "1")
    assert done.exit_code == 0, done.output
    assert "Upstream and Reprieve never disagreed here" in done.output
    study = tmp_path / "study"
    assert "<!doctype html>" in (study / "report.html").read_text()
    text = (study / "report.md").read_text()
    assert text.startswith("# Reprieve compared with Upstream, on the jobs of trace.jsonl\n")
    assert "2 seeds: each seed draws blocks of the trace, with replacement." in text
    report = msgspec.json.decode((study / "report.json").read_bytes())
    assert report["head"]["policies"] == ["Upstream", "Reprieve"]
    assert [len(arm) for arm in report["results"].values()] == [2, 2]
    assert len(list((study / "cells").iterdir())) == 4


def test_one_seed_plays_the_trace_as_it_is(tmp_path: Path) -> None:
    """In the example of the docs policies differ; preemptions and evictions are explained."""
    trace = (ROOT / "docs" / "examples" / "jobs.csv").read_text()
    done = simulate(tmp_path, "--nodes", "gpu8x4", "--seeds", "1", "--jobs", "1", trace=trace)
    assert done.exit_code == 0, done.output
    assert "Reprieve and Upstream differ in 1 seed: 1 preemption only Reprieve makes" in done.output
    assert "Upstream: 1 preemption evicted 16 pods.\nReprieve: 1 preemption evicted 2 pods.\n" in done.output
    study = tmp_path / "study"
    text = (study / "report.md").read_text()
    assert (
        "5 jobs with 23 pods (seed 0) on 4 nodes; 2 hours count; 1 seed: the trace is played as it is."
        in text
    )
    for name in ("report.md", "report.html"):
        assert "Reprieve: 1 preemption evicted 2 pods." in (study / name).read_text()


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    trace = f'{TOY}\n{{"arrival": 1}}\n{{"arrival": 5, "duration": 1, "cpu": 99, "name": "huge"}}'
    done = simulate(tmp_path, "--seeds", "1", "--jobs", "1", trace=trace)
    assert done.exit_code == 0, done.output
    assert "left out: line 10: duration: expected a number of seconds" in done.output
    assert "left out: line 11: huge: does not fit into the empty cluster: a pod with 99 cpu" in done.output
    strict = simulate(tmp_path, "--strict", trace=trace)
    assert strict.exit_code == 1
    assert "2 left out; the first: line 10: duration: expected a number" in strict.output


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        (("--policy", "Nope"), 2, "--policy: expected one of Reprieve, Upstream, PriorityCeiling, "),
        (("--policy", "Upstream", "--policy", "Upstream"), 2, "--policy: expected each policy once"),
        (
            ("--nodes", "cpu3x1"),
            2,
            "--nodes: expected gpu8xN, gpu4xN, cpu16xN, cpu64xN, or a file with nodes",
        ),
        (("--window", "9d..2d"), 2, "--window: expected BEGIN..END, as in 2d..9d or 0..3600, got '9d..2d'"),
        (("--window", "5d..6d"), 1, "no job is left to play"),
        (("--map", "qos"), 2, "--map: expected COLUMN=VALUE:PRIORITY"),
        (("--map", "qos=LS:1000"), 1, "--map: expected one of the columns arrival, budget, "),
        (("--out", "/dev/null/x"), 1, "--out /dev/null/x"),
        (("--compress", "nan"), 2, "--compress: expected a number in the range 0.001<=x<=1000, got nan"),
        (("--warmup", "nan"), 2, "--warmup: expected a number in the range 0<=x<=0.9, got nan"),
        (("--seeds", "0"), 2, "--seeds: expected a number in the range"),
        (
            ("--journal", "Other:0"),
            2,
            "--journal: expected one of Upstream, Reprieve, and a seed from 0 to 19, as in Upstream:0",
        ),
        (("--seeds", "2", "--journal", "Upstream:2"), 2, "and a seed from 0 to 1, as in Upstream:0"),
        (
            ("--on", "tcp://127.0.0.1:1"),
            1,
            "--on tcp://127.0.0.1:1: expected the scheduler of a Dask cluster, got no answer: "
            "connection refused",
        ),
    ],
)
def test_mistakes(args: tuple[str, ...], code: int, sentence: str, tmp_path: Path) -> None:
    done = simulate(tmp_path, "--jobs", "1", *args)
    assert done.exit_code == code, done.output
    assert sentence in done.output.replace("Invalid value for ", "")


def test_a_policy_with_mistakes_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: 3\n"
    )
    done = simulate(tmp_path, "--policy", str(wrong))
    assert done.exit_code == 2
    assert "profiles" in done.output
    assert not (tmp_path / "study").exists()


def test_what_cannot_be_read(tmp_path: Path) -> None:
    done = CliRunner().invoke(reprieve, ["simulate", str(tmp_path / "none")])
    assert done.exit_code == 1
    assert "none: cannot be read: no such file or directory" in done.output
    done = CliRunner().invoke(reprieve, ["simulate", "generated:speed=3"])
    assert done.exit_code == 1
    assert "generated:speed=3: expected some of days, nodes" in done.output


def test_the_journal_of_a_cell_shows_its_decisions(tmp_path: Path) -> None:
    trace = "\n".join(
        f'{{"name": "j{i}", "arrival": {10 * i}, "duration": 500, "cpu": 12, "priority": {i}}}'
        for i in range(3)
    )
    args = ("--seeds", "1", "--jobs", "1", "--policy", "Reprieve", "--journal", "Reprieve:0")
    simulate(tmp_path, *args, trace=trace)
    done = simulate(tmp_path, *args, trace=trace)  # a journal of the same cell is replaced
    assert done.exit_code == 0, done.output
    directory = tmp_path / "study" / "journals" / "1-Reprieve-seed-0"
    assert f"journal of Reprieve, seed 0: reprieve page {directory}" in done.output
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]
    asked = [
        one.decision for one in read_results(directory) if isinstance(one, Asked) and one.decision is not None
    ]
    outcomes = [msgspec.json.decode(decision)["outcome"] for decision in asked]
    assert outcomes.count(Outcome.PREEMPTS.value) == 2
    assert recording_in(directory).notes == ()


def test_a_gang_that_never_fits_is_named_with_its_line(tmp_path: Path) -> None:
    trace = f'{TOY}\n{{"arrival": 5, "duration": 1, "cpu": 9, "pods": 4, "gang": 2, "name": "wide"}}'
    done = simulate(tmp_path, "--strict", trace=trace)
    assert done.exit_code == 1
    assert (
        "the first: line 10: wide: does not fit into the empty cluster: 2 pods together, each with 9 cpu"
        in (done.output)
    )


def test_the_report_says_which_part_of_the_trace_was_played(tmp_path: Path) -> None:
    done = simulate(
        tmp_path, "--seeds", "1", "--jobs", "1", "--window", "100..900", "--compress", "2", "--warmup", "0"
    )
    assert done.exit_code == 0, done.output
    text = (tmp_path / "study" / "report.md").read_text()
    assert "played: only jobs that arrive from 100 s to 900 s of the trace" in text
    assert "played: jobs arrive 2 times as fast" in text
    assert "played: the first 0% of the time until the last arrival does not count" in text


def test_what_a_generated_trace_has_too_large_is_named(tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "study"), "--jobs", "1", "--seeds", "1")
    generated = ["simulate", "generated:days=0.1,nodes=1,gangs=0.7", "--policy", "Upstream", *out]
    done = CliRunner().invoke(reprieve, generated)
    assert done.exit_code == 0, done.output
    assert "left out: seed 0: training-" in done.output
    assert "does not fit into the empty cluster: " in done.output
    done = CliRunner().invoke(reprieve, [*generated, "--nodes", "cpu16x1"])
    assert done.exit_code == 1
    assert "no job is left to play" in done.output


def test_the_report_says_that_no_time_counts(tmp_path: Path) -> None:
    at_once = '{"arrival": 5, "duration": 50, "cpu": 2}\n' * 3
    done = simulate(tmp_path, "--seeds", "1", "--jobs", "1", "--policy", "Upstream", trace=at_once)
    assert done.exit_code == 0, done.output
    assert "played: all jobs arrive at once" in (tmp_path / "study" / "report.md").read_text()
