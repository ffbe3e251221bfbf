"""The cases there are, and which a name means."""

import re
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from benchmarks.cases import CASES, Case, chosen
from benchmarks.names import UsageError
from benchmarks.product import find

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_every_case_has_a_workload_that_takes_its_arguments(case: Case) -> None:
    measure = import_module(f"benchmarks.workloads.{case.workload}").measure
    beside = {"source": Path()} if case.beside else {}
    signature(measure).bind(**case.arguments, **beside)


NAMES = re.findall(r'find\("(\w+)"\)', "".join(path.read_text() for path in BENCHMARKS.rglob("*.py")))


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_every_name_of_the_product_is_found(name: str) -> None:
    assert find(name) is not None


def test_a_name_that_is_nowhere_is_told() -> None:
    with pytest.raises(SystemExit, match="no Moved in this revision"):
        find("Moved")


def test_without_patterns_all_are_chosen() -> None:
    assert chosen([]) == tuple(CASES.values())


def test_patterns_choose_in_the_order_of_the_list() -> None:
    names = [case.name for case in chosen(["G500*", "P500"])]
    assert names[0] == "P500"
    assert {"G500", "G5000", "G5000-budgets"} <= set(names)
    assert "P5000" not in names


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no case is named 'p50'; nearest: P500, "):
        chosen(["P500", "p50"])
