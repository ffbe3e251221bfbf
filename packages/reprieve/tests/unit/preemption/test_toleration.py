"""What the annotations of a priority class mean, for one pod."""

from datetime import UTC, datetime
from typing import Any

import pytest

from reprieve.model.annotations import parse_int
from reprieve.model.groups import Groups
from reprieve.model.objects import Condition, Node, ObjectMeta, Pod, PodSpec, PodStatus, PriorityClass
from reprieve.model.snapshot import build
from reprieve.preemption.toleration import (
    FOREVER,
    MINIMUM_PRIORITY,
    NOT_AT_ALL,
    SECONDS,
    faults_of,
    tolerated_ends,
)

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def a_class(minimum: str | None = None, seconds: str | None = None, value: int = 8000) -> PriorityClass:
    written = {MINIMUM_PRIORITY: minimum, SECONDS: seconds}
    annotations = {key: text for key, text in written.items() if text is not None}
    return PriorityClass(metadata=ObjectMeta(name="low", annotations=annotations), value=value)


def a_pod(*conditions: Condition, name: str = "low") -> Pod:
    spec = PodSpec(priority=8000, priority_class_name=name, node_name="n")
    return Pod(metadata=ObjectMeta(name="p"), spec=spec, status=PodStatus(conditions=conditions))


def scheduled(status: str = "True", at: datetime | None = BEGIN) -> Condition:
    return Condition(type="PodScheduled", status=status, last_transition_time=at)


def until(priority: int, pod: Pod, **written: Any) -> float:
    """From when on a demand of this priority may preempt the pod, where only the class `low` exists."""
    view = build([Node(metadata=ObjectMeta(name="n")), a_class(**written), pod]).snapshot
    ends = tolerated_ends(view, Groups(), priority)
    return NOT_AT_ALL if ends is None else float(ends[0])


# --- the rule ------------------------------------------------------------------------------------


def test_ten_minutes_count_from_the_moment_it_was_scheduled() -> None:
    assert until(9000, a_pod(scheduled()), minimum="10000", seconds="600") == BEGIN.timestamp() + 600


@pytest.mark.parametrize(
    ("priority", "end"), [(9999, FOREVER), (10000, NOT_AT_ALL), (2**31 - 1, NOT_AT_ALL), (-5, FOREVER)]
)
def test_a_pod_that_has_the_minimum_need_not_wait(priority: int, end: float) -> None:
    assert until(priority, a_pod(scheduled()), minimum="10000", seconds="-1") == end


@pytest.mark.parametrize(
    "conditions", [(), (scheduled(),), (scheduled(at=datetime(2999, 1, 1, tzinfo=UTC)),)]
)
def test_zero_seconds_never_protect(conditions: tuple[Condition, ...]) -> None:
    assert until(9000, a_pod(*conditions), minimum="10000", seconds="0") == NOT_AT_ALL


def test_a_condition_that_forgot_when_it_turned_did_so_long_ago() -> None:
    assert until(9000, a_pod(scheduled(at=None)), minimum="10000", seconds="600") == NOT_AT_ALL
    assert until(9000, a_pod(scheduled(at=None)), minimum="10000", seconds="-1") == FOREVER


@pytest.mark.parametrize("seconds", ["9223372036854775807", "300000000000"])
def test_an_end_that_no_timestamp_can_tell_is_none(seconds: str) -> None:
    assert until(9000, a_pod(scheduled()), minimum="10000", seconds=seconds) == FOREVER


# --- annotations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["0", "-0", "+0", "7", "+7", "-7", "007", "0" * 5000 + "7"])
def test_numbers_as_go_reads_them(text: str) -> None:
    assert parse_int(text, 32) == (0 if text.endswith("0") else -7 if "-" in text else 7)


BAD = [
    "",
    " ",
    " 7",
    "7 ",
    "7\n",
    "+",
    "-",
    "+-7",
    "--7",
    "7.0",
    "7e3",
    "0x7",
    "0b1",
    "1_000",
    "1,000",
    "7s",
    "٧",
]


@pytest.mark.parametrize("text", [*BAD, "seven", "9" * 5000, "∞"])
def test_what_go_does_not_read(text: str) -> None:
    assert parse_int(text, 64) is None


@pytest.mark.parametrize("bits", [32, 64])
def test_the_range_ends_where_the_bits_do(bits: int) -> None:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    assert [parse_int(str(n), bits) for n in (low - 1, low, high, high + 1)] == [None, low, high, None]


@pytest.mark.parametrize(("minimum", "seconds"), [("10000", "10m"), ("ten", "600"), ("2147483648", "-1")])
def test_one_bad_annotation_makes_both_void(minimum: str, seconds: str) -> None:
    assert until(9000, a_pod(scheduled()), minimum=minimum, seconds=seconds) == NOT_AT_ALL


# --- what is wrong with them ---------------------------------------------------------------------


def test_a_fault_names_the_annotation_and_the_value() -> None:
    (fault,) = faults_of(a_class("10000", "10m"))
    assert str(fault) == (
        "annotation preemption-toleration.scheduling.x-k8s.io/toleration-seconds: "
        'expected a whole number of 64 bits, got "10m"; the class protects no pod'
    )


def test_every_fault_is_told() -> None:
    assert [fault.annotation for fault in faults_of(a_class("ten", "10m"))] == [MINIMUM_PRIORITY, SECONDS]


@pytest.mark.parametrize("minimum", ["8000", "-1"])
def test_a_minimum_that_all_has(minimum: str) -> None:
    (fault,) = faults_of(a_class(minimum, "600"))
    assert fault.annotation == MINIMUM_PRIORITY
    assert f"{minimum} is not above the value of the class, 8000" in fault.text


def test_a_long_value_is_cut() -> None:
    (fault,) = faults_of(a_class(seconds="x" * 100_000))
    assert len(str(fault)) < 250
