"""Tables of goals and of growth: their cases exist, and rows say what was measured."""

from importlib import import_module
from inspect import signature

import pytest

from benchmarks import __main__ as command
from benchmarks import goals, growth
from benchmarks.cases import CASES, Case
from benchmarks.timing import Run

RUN = Run(wall_ms=[2.0, 30.0], cpu_ms=[1.0, 3.0], per_second=500.0, rss_mb=50.0)


def test_every_goal_is_of_a_case() -> None:
    assert {goal.case for goal in goals.GOALS} <= CASES.keys()


@pytest.mark.parametrize("case", growth.CASES.values(), ids=lambda case: case.name)
def test_every_case_of_growth_has_a_workload_that_takes_its_arguments(case: Case) -> None:
    signature(import_module(f"benchmarks.workloads.{case.workload}").measure).bind(**case.arguments)


def test_the_exponent_is_that_of_the_sizes() -> None:
    assert growth.exponent((1, 2, 4, 8), (3, 12, 48, 192)) == pytest.approx(2)
    assert growth.exponent((1, 2, 4, 8), (5, 5, 5, 5)) == pytest.approx(0)


def test_goals_of_some_cases(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "measured", lambda case: RUN)
    arguments = [f"--case={name}" for name in ("P500", "jobs-waiting", "schedule-5000", "daemon-pauses")]
    assert command.main(["--table", *arguments, "--case=daemon-heartbeats-5min"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| one pod, 500 nodes | `P500` | 4.3 ms | 1 ms | 1.2 | 1 |",
        "| plain placement, 20 shapes, 5,000 nodes | `schedule-5000` | 2,800 /s | 500 /s | 3,500 | 4,000 |",
        "| 2,000 jobs on 40 full nodes, until all have run | `jobs-waiting` | 36 s | 4 s | 8 | 4 |",
        "| idle, while nodes report every 5 minutes | `daemon-heartbeats-5min` "
        "| 0.8 % of a core | 0.2 % of a core | 1 |  |",
        "| the longest step of the loop while it only watches | `daemon-pauses` |  | 30 ms | 50 |  |",
    ]


def test_both_tables_if_all_cases_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "measured", lambda case: RUN)
    assert command.main(["--table"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n| ") >= len(growth.FAMILIES) + 20
    assert "| pods of a gang, 2,500 nodes | 10, 20, 40, 80 | 1, 1, 1, 1 ms | 0.00 |" in out
