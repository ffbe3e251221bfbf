"""Marks of fields in the schema: each can be read, and errors come in their order."""

import pytest

from reprieve.cluster.admission.field_errors import At
from reprieve.cluster.admission.marks import _RULES, _lines, check_marks
from reprieve.cluster.admission.validation import MODULES
from reprieve.cluster.api.schema import _listed, marks_of
from reprieve.model.json import Json


def broken(name: str, value: Json, occasion: str = "check", old: object = None) -> list[str]:
    at = At(value)
    check_marks(at, name, occasion, old)
    return [str(error) for error in at.errors]


@pytest.mark.parametrize("occasion", ["check", "create", "change", "status"])
def test_every_mark_can_be_read(occasion: str) -> None:
    """Its fields are those of the type, its steps are known, and its rules exist."""
    assert sum(len(_lines(name, occasion)) for name in _listed()) > 3


def test_every_rule_is_named_in_the_schema() -> None:
    named = {step for name in _listed() for mark in marks_of(name) for step in mark.steps}
    assert MODULES
    assert _RULES.keys() - named == set()


def test_errors_come_in_the_order_of_the_marks() -> None:
    wrong = {"type": "", "status": "Maybe"}
    conditions = [{"type": "a", "status": "True"}, wrong, {"type": "a", "status": "True"}]
    assert broken("PodGroup", {"status": {"conditions": conditions}}, "status") == [
        "status.conditions[1].type: Required value: must be given",
        'status.conditions[1].status: Unsupported value: "Maybe": '
        'supported values: "False", "True", "Unknown"',
        'status.conditions[2].type: Duplicate value: "a": must be there only once',
    ]


def test_what_is_missing_is_not_looked_into_but_where_it_is_said() -> None:
    assert broken("Deployment", {}) == ["spec: Required value: must be given"]
    assert broken("RoleBinding", {})[0] == "roleRef.apiGroup: Required value: must be given"
    assert broken("PodSpec", {"containers": [{"name": "a", "image": "b"}], "affinity": {}}) == []


def test_what_is_fixed_may_be_empty_where_it_is_said() -> None:
    assert broken("StorageClass", {"parameters": {}}, "change", {}) == []
    assert broken("VolumeAttributesClass", {"parameters": {}}, "change", {}) == [
        "parameters: Invalid value: an object: the field is immutable"
    ]
