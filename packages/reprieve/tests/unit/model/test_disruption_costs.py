"""What annotations say of the loss of a pod; malformed ones say nothing."""

import pytest

from reprieve.model.annotations import DELETION_COST, DISRUPTION_COST, cost_fault, member_cost
from reprieve.model.objects import ObjectMeta

BAD = [
    "",
    " 1",
    "1 ",
    "1.0",
    "1e3",
    "0x1",
    "1_000",
    "٣",
    "one",
    "2147483648",
    "-2147483649",
    "9" * 5000,
    "--1",
]


@pytest.mark.parametrize(
    ("text", "cost"), [("0", 0), ("100", 100), ("-7", -7), ("+7", 7), ("007", 7), ("2147483647", 2147483647)]
)
def test_a_whole_number(text: str, cost: int) -> None:
    meta = ObjectMeta(annotations={DISRUPTION_COST: text})
    assert member_cost(meta) == (cost, 0)
    assert cost_fault(meta) == ""


@pytest.mark.parametrize("text", BAD)
def test_anything_else_is_ignored_and_told(text: str) -> None:
    meta = ObjectMeta(annotations={DISRUPTION_COST: text, DELETION_COST: text})
    assert member_cost(meta) == (0, 0)
    fault = cost_fault(meta)
    assert fault.startswith(f"annotation {DISRUPTION_COST} is ignored: expected a whole number")
    assert len(fault) < 200


@pytest.mark.parametrize(("text", "cost"), [("5", 5), ("-5", -5), ("0", 0), ("+5", 0), ("05", 0)])
def test_a_deletion_cost_as_controllers_read_it(text: str, cost: int) -> None:
    assert member_cost(ObjectMeta(annotations={DELETION_COST: text})) == (0, cost)


def test_without_annotations() -> None:
    assert (member_cost(ObjectMeta()), cost_fault(ObjectMeta())) == ((0, 0), "")
