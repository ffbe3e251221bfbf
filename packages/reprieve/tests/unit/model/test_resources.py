"""Quantities, and the bounds that keep sums from wrapping."""

import numpy as np
import pytest
from tests.unit.model.things import a_node, a_pod, container, no_problems, paths

from reprieve.model.footprint import footprint
from reprieve.model.resources import (
    BOUND,
    ResourceAxis,
    is_counted,
    milli,
    node_capacity,
    read_amounts,
    rounded,
)
from reprieve.model.snapshot import build

# --- quantities ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("0", 0),
        ("1", 1000),
        ("1.5", 1500),
        (".5", 500),
        ("5.", 5000),
        ("+2", 2000),
        ("100m", 100),
        ("1500000u", 1500),
        ("2000000000n", 2000),
        ("3k", 3 * 10**6),
        ("3M", 3 * 10**9),
        ("3G", 3 * 10**12),
        ("3T", 3 * 10**15),
        ("3P", 3 * 10**18),
        ("3E", 3 * 10**21),
        ("3Ki", 3 * 1000 << 10),
        ("3Mi", 3 * 1000 << 20),
        ("3Gi", 3 * 1000 << 30),
        ("3Ti", 3 * 1000 << 40),
        ("3Pi", 3 * 1000 << 50),
        ("3Ei", 3 * 1000 << 60),
        ("1e3", 10**6),
        ("1E3", 10**6),
        ("12e-1", 1200),
        ("0.5Gi", 500 << 30),
        ("-1", -1000),
        (2, 2000),
        (0.25, 250),
    ],
)
def test_a_quantity_in_thousandths(text: str | int | float, thousandths: int) -> None:
    assert milli(text) == thousandths


@pytest.mark.parametrize(("text", "thousandths"), [("1n", 1), ("100u", 1), ("0.0001", 1), ("1.0001", 1001)])
def test_what_is_finer_than_a_thousandth_is_rounded_up(text: str, thousandths: int) -> None:
    assert milli(text) == thousandths


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        "m",
        ".",
        "-",
        "1x",
        "1ki",
        "1KI",
        "1e",
        "1.2.3",
        "0x10",
        "1_000",
        "٣",
        "NaN",
        "9" * 2000,
    ],
)
def test_what_is_not_a_quantity(text: str) -> None:
    assert milli(text) is None


def test_an_enormous_exponent_is_read_without_effort() -> None:
    enormous, tiny = milli("1e999999999"), milli("1e-999999999")
    assert enormous is not None
    assert enormous > BOUND * 1000
    assert tiny == 1


def test_what_cannot_be_read_is_reported_and_left_out() -> None:
    problems = no_problems()
    assert read_amounts({"cpu": "lots", "memory": "-1", "pods": "3"}, "here", problems) == {"pods": 3000}
    assert paths(problems) == ["here.cpu", "here.memory"]


def test_cpu_is_counted_in_thousandths_and_the_rest_in_whole_units() -> None:
    assert rounded("cpu", 1500) == 1500
    assert rounded("memory", 1500) == 2


@pytest.mark.parametrize(
    "name", ["cpu", "pods", "example.com/gpu", "hugepages-2Mi", "attachable-volumes-csi"]
)
def test_names_that_fill_up_nodes(name: str) -> None:
    assert is_counted(name)


@pytest.mark.parametrize("name", ["storage", "requests.example.com/gpu", "services"])
def test_names_that_do_not(name: str) -> None:
    assert not is_counted(name)


def test_the_axis_keeps_its_rows_when_it_grows() -> None:
    axis = ResourceAxis().extended(["b.example/x", "a.example/y", "cpu"])
    assert axis.names == ("cpu", "memory", "ephemeral-storage", "pods", "a.example/y", "b.example/x")
    assert axis.row("memory") == 1
    assert axis.row("unheard.of/z") is None


# --- bounds --------------------------------------------------------------------------------------


def test_a_request_beyond_the_bound_fits_on_no_node() -> None:
    boundless = node_capacity(a_node(memory="9999Ei"), no_problems())
    greedy = footprint(a_pod(containers=[container(memory="8000Ei")]), no_problems())
    assert greedy.charged["memory"] > boundless["memory"]


def test_sums_of_enormous_requests_do_not_wrap() -> None:
    greedy = [a_pod(f"p{i}", on="n", containers=[container(memory="1e60", cpu="1e60")]) for i in range(5000)]
    snapshot = build([a_node("n", memory="1e60", cpu="1e60"), *greedy]).snapshot
    assert snapshot.requested[1, 0] == 5000 * BOUND
    assert np.all(snapshot.requested >= 0)
    assert np.all(snapshot.nonzero >= 0)
    assert np.all(snapshot.allocatable * 100 >= 0), "scores multiply by a hundred"
