"""What the schema and the rules of a definition may cost: steps are counted, and limited."""

from typing import Any

import pytest

from reprieve.cluster.admission.cel_rules import REQUEST_STEPS, check_rules
from reprieve.cluster.admission.cel_values import CostBudget, CostError
from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.structural_schemas import SchemaCheck
from reprieve.cluster.admission.validation.definitions import check_definition
from reprieve.model.json import Json

MANY = 100_000


def budget_of(limit: int = 1_000_000) -> CostBudget:
    return CostBudget(limit, "the schema")


def errors_of(value: object, schema: Json, budget: CostBudget | None = None) -> list[str]:
    at = At(value)
    SchemaCheck(budget or budget_of()).check(at, schema)
    return [str(error) for error in at.errors]


# --- duplicates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "more"),
    [
        ([f"item-{i}" for i in range(MANY)], {"x-kubernetes-list-type": "set", "items": {"type": "string"}}),
        (
            [{"n": {"m": i}} for i in range(MANY)],
            {"x-kubernetes-list-type": "set", "items": {"type": "object"}},
        ),
        (
            [{"name": i, "kind": "a"} for i in range(MANY)],
            {
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["kind", "name"],
                "items": {"type": "object"},
            },
        ),
    ],
    ids=["texts", "objects", "keys"],
)
def test_duplicates_among_many_items_take_a_step_each(items: list[Any], more: Json) -> None:
    budget = budget_of()
    assert errors_of(items, {"type": "array", **more}, budget) == []
    assert budget.spent < 2 * MANY
    (error,) = errors_of([*items, items[3]], {"type": "array", **more})
    assert error.startswith(f"[{MANY}]: Duplicate value")


def test_items_are_equal_only_if_their_types_are() -> None:
    a_set = {"type": "array", "x-kubernetes-list-type": "set"}
    assert errors_of([1, True, "1", None, 1.0, [1], {"a": 1, "b": 2}], a_set) == []
    assert len(errors_of([{"a": 1, "b": 2}, {"b": 2, "a": 1}], a_set)) == 1


# --- products of schema and value --------------------------------------------------------------------

_TEXTS = [f"text-{i}" for i in range(3000)]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (_TEXTS, {"items": {"anyOf": [*[{"maxLength": 1}] * 3000, {}]}}),
        (_TEXTS, {"items": {"allOf": [{"minLength": 1}] * 3000}}),
        ([1] * 3000, {"items": {"enum": list(range(100_000, 0, -1))}}),
        ([list(range(300))] * 3000, {"items": {"enum": [[*range(299), i] for i in range(300, 600)]}}),
        ([{"a": 1}] * 30_000, {"items": {"required": ["a"] * 10_000}}),
        (["a" * 900] * 100, {"items": {"pattern": ".{0,800}b"}}),
        (
            [{"a": 1}] * 30_000,
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] * 10_000},
        ),
    ],
    ids=["anyOf", "allOf", "enum", "enum of lists", "required", "pattern", "keys"],
)
def test_a_product_of_both_sizes_exceeds_the_budget(value: object, schema: Json) -> None:
    with pytest.raises(CostError):
        errors_of(value, {"type": "array", **schema}, budget_of(200_000))


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"default": "x" * 100_000}},
        {"a": {"default": ["x"] * 50_000}},
        {f"a{i}": {"type": "string"} for i in range(20_000)},
    ],
    ids=["a text", "a list", "many fields"],
)
def test_defaults_for_every_item_exceed_the_budget(properties: Json) -> None:
    with pytest.raises(CostError):
        SchemaCheck(budget_of(200_000)).defaulted([{}] * 10_000, {"items": {"properties": properties}})


def test_an_object_with_many_errors_is_not_checked_to_the_end() -> None:
    budget = budget_of()
    found = errors_of([1] * MANY, {"type": "array", "items": {"type": "string"}}, budget)
    assert len(found) == 100
    assert budget.spent <= MANY + 1


def test_an_integer_beyond_every_float_is_no_multiple() -> None:
    assert "multiple" in errors_of(10**400, {"type": "integer", "multipleOf": 0.5})[0]


# --- rules -----------------------------------------------------------------------------------------


def ruled(value: object, *rules: str, **more: Any) -> list[str]:
    at = At(value)
    check_rules(at, {"x-kubernetes-validations": [{"rule": rule} for rule in rules], **more})
    return [str(error) for error in at.errors]


def test_one_rule_may_not_exceed_its_budget() -> None:
    nested = "self.all(a, self.all(b, self.all(c, true)))"
    (error,) = ruled(list(range(100)), nested, "false")
    assert f"the rule {nested} exceeds the cost budget of 100000 steps" in error
    assert "no further validation rules are run" in error


def test_all_rules_of_a_request_share_a_budget() -> None:
    item = {"x-kubernetes-validations": [{"rule": "self" + " + 0" * 900 + " >= 0"}]}
    found = ruled(list(range(2000)), items=item)
    assert f"validation by rules exceeds the cost budget of {REQUEST_STEPS} steps" in found[0]
    assert ruled(list(range(200)), items=item) == []


def test_the_item_before_is_found_by_its_keys_at_once() -> None:
    old = [{"n": i, "v": 1} for i in range(20_000)]
    new = [{"n": i, "v": 2 if i else 0} for i in reversed(range(20_000))]
    schema = {
        "x-kubernetes-list-map-keys": ["n"],
        "items": {"x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v"}]},
    }
    at = At(new)
    check_rules(at, schema, old)
    assert [error.path for error in at.errors] == ["[19999]"]


# --- definitions -----------------------------------------------------------------------------------


def complaints(schema: Json) -> list[str]:
    version: Json = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}
    spec: Json = {"group": "a.example", "scope": "Cluster", "versions": [version]}
    spec["names"] = {"plural": "things", "kind": "Thing"}
    at = At({"metadata": {"name": "things.a.example"}, "spec": spec})
    check_definition(at)
    return [str(error) for error in at.errors]


def test_a_valid_definition() -> None:
    rule = {"rule": "self.a.matches('^[a-z]+$')"}
    text = {"type": "string", "pattern": "^[a-z]+$", "default": "a"}
    assert complaints({"type": "object", "properties": {"a": text}, "x-kubernetes-validations": [rule]}) == []


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("has(" * 1200, "nested deeper than 40 levels"),
        ("9" * 4900 + " == 1", "no integer of 64 bits"),
        ("true" + " || true" * 1300, "longer than 10240 characters"),
    ],
)
def test_a_rule_beyond_the_limits_of_the_parser_is_refused(rule: str, why: str) -> None:
    (error,) = complaints({"type": "object", "x-kubernetes-validations": [{"rule": rule}]})
    assert "properties[spec].x-kubernetes-validations[0].rule: Invalid value" in error
    assert why in error


@pytest.mark.parametrize(
    "properties",
    [
        {f"a{i}": {"type": "string", "pattern": f"a{{1000}}b{{{i % 1000}}}"} for i in range(1000)},
        {
            f"a{i}": {
                "type": "string",
                "x-kubernetes-validations": [{"rule": f"true || {i} == 1" + " " * 900}],
            }
            for i in range(1000)
        },
        {
            "a": {
                "type": "array",
                "default": ["x"] * 2000,
                "items": {"type": "string", "allOf": [{"minLength": 1}] * 2000},
            }
        },
    ],
    ids=["patterns", "rules", "defaults"],
)
def test_a_definition_that_costs_too_much_is_refused(properties: Json) -> None:
    found = complaints({"type": "object", "properties": properties})
    assert any("exceeds the cost budget of 500000 steps" in error for error in found)


@pytest.mark.parametrize("pattern", ["(?=a)b", "(a)\\1", "((a{100}){100}){100}", "("])
def test_a_pattern_that_is_not_linear_is_refused(pattern: str) -> None:
    (error,) = complaints({"type": "string", "pattern": pattern})
    assert "must be a regular expression in Go's syntax" in error


def test_unique_items_are_refused_as_in_kubernetes() -> None:
    at = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    (error,) = complaints(at)
    assert ErrorType.FORBIDDEN.words in error
    assert "x-kubernetes-list-type: set" in error
