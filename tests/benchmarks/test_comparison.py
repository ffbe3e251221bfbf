"""Two revisions, run alternately, and how that reads."""

import json
from collections.abc import Callable

import pytest

from benchmarks.cases import CASES, Case, Compared
from benchmarks.comparison import Comparison, alternated, comparison, result
from benchmarks.output import heading, json_line, listed, row
from benchmarks.timing import Run, Spent, summed_up

CASE = CASES["P500"]
KEYS = ["case", "median_ms", "p99_ms", "per_second", "rss_mb", "cpu_ms", "asking"]


def a_run(ms: float, rss_mb: float = 50.0) -> Run:
    return Run(wall_ms=[ms * 2, ms * 2, ms * 9], cpu_ms=[ms, ms, ms * 4], per_second=1e3 / ms, rss_mb=rss_mb)


def compared(case: Case = CASE, factor: float = 0.5) -> Comparison:
    return comparison(
        case, "abc1234", [(a_run(factor * i), a_run(i, 100.0)) for i in (10, 11, 9, 10, 12, 10, 9)]
    )


def test_the_runs_alternate_and_so_does_which_begins() -> None:
    order: list[str] = []

    def noted(name: str) -> Callable[[], Run]:
        def measure() -> Run:
            order.append(name)
            return a_run(1 if name == "ours" else 2)

        return measure

    pairs = list(alternated(noted("ours"), noted("theirs"), 3))
    assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert all(one.per_second > other.per_second for one, other in pairs)


def test_a_result_has_the_times_of_all_runs() -> None:
    found = result(CASE, [a_run(1), a_run(3), a_run(2)])
    assert (found.median_ms, found.p99_ms, found.cpu_ms) == (6, 27, 3)
    assert (found.per_second, found.rss_mb) == (500, 50)


def test_a_result_is_one_line_of_json() -> None:
    line = json_line(result(CASE, [a_run(1.23456)]))
    assert "\n" not in line
    found = json.loads(line)
    assert list(found) == KEYS
    assert found["case"] == "P500"
    assert found["median_ms"] == 2.469


def test_a_comparison_is_one_line_of_json_with_the_same_keys_and_more() -> None:
    found = json.loads(json_line(compared()))
    assert list(found)[: len(KEYS)] == KEYS
    assert (found["against"], found["runs"], found["compared"]) == (
        "abc1234",
        7,
        "lower quartile of processor time",
    )
    assert (found["ratio"], found["ratio_low"], found["ratio_high"]) == (0.5, 0.5, 0.5)
    assert (found["rss_ratio"], found["rss_ratio_low"], found["rss_ratio_high"]) == (0.5, 0.5, 0.5)
    assert (found["cpu_ms"], found["against_cpu_ms"]) == (5.5, 11)


@pytest.mark.parametrize("how", Compared)
def test_what_is_compared_is_what_the_case_says(how: Compared) -> None:
    case = Case("any", "", "decoding", compared=how)
    slow_once = Run(wall_ms=[4, 4, 4], cpu_ms=[1, 1, 10], per_second=1, rss_mb=1)
    steady = Run(wall_ms=[2, 2, 2], cpu_ms=[1, 1, 1], per_second=1, rss_mb=1)
    found = comparison(case, "abc1234", [(slow_once, steady)] * 7)
    expected = {Compared.QUARTILE_CPU: 1, Compared.MEAN_CPU: 4, Compared.MEDIAN_WALL: 2}
    assert found.time.estimate == pytest.approx(expected[how])


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "faster"), (1.0, "no difference"), (2.0, "slower")])
def test_the_text_says_what_follows(factor: float, verdict: str) -> None:
    text = row([CASE], compared(factor=factor))
    assert text.startswith("P500 ")
    assert f"{factor:.2f} to {factor:.2f}" in text
    assert verdict in text
    assert "abc1234" in heading([CASE], "abc1234")


def test_times_have_a_unit_that_suits_them() -> None:
    found = result(CASE, [Run(wall_ms=[0.004], cpu_ms=[12_000], per_second=123456, rss_mb=50)])
    assert row([CASE], found).split() == ["P500", "4", "us", "4", "us", "12", "s", "123,456", "50", "MB"]


def test_the_list_names_each_case_and_says_what_it_is() -> None:
    assert list(listed([CASE])) == [f"P500  {CASE.about}"]


def test_times_are_for_each_unit() -> None:
    run = summed_up([Spent(wall=0.2, cpu=0.1, units=100), Spent(wall=0.4, cpu=0.3, units=100)])
    assert run.wall_ms == pytest.approx([2, 4])
    assert run.cpu_ms == pytest.approx([1, 3])
    assert run.per_second == pytest.approx(200 / 0.6)
    assert run.rss_mb > 1
