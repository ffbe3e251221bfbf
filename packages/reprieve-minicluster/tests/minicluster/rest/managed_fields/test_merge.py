"""Merging, removing and comparing are consistent for any values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from reprieve.cluster.api.merge_shapes import ATOMIC, VALUE_SET, GranularMap, KeyedList, MergeShape
from reprieve_minicluster.rest.managed_fields.fields import (
    compare,
    merged,
    owned,
    paths_in,
    shown,
    tree_of,
    without,
)

ITEM = GranularMap(lambda name: ATOMIC)
SHAPES: dict[str, MergeShape] = {
    "set": VALUE_SET,
    "items": KeyedList((("name", None),), ITEM),
    "whole": ATOMIC,
}
SHAPE: MergeShape = GranularMap(lambda name: SHAPES.get(name, SHAPE))

_LEAF = some.integers(0, 3)
_ITEMS = some.dictionaries(some.sampled_from("abc"), some.dictionaries(some.sampled_from("xy"), _LEAF)).map(
    lambda found: [{"name": name, **item} for name, item in found.items()]
)
_SETS = some.lists(some.integers(0, 4), unique=True)


def _values(below: Any) -> Any:
    fields = {"set": _SETS, "items": _ITEMS, "whole": some.lists(_LEAF), "leaf": _LEAF, "more": below}
    return some.fixed_dictionaries({}, optional=fields)


VALUES_OF_SHAPE = _values(_values(some.dictionaries(some.sampled_from("pq"), _LEAF)))


@given(VALUES_OF_SHAPE)
def test_a_tree_says_the_same_as_its_paths(value: Any) -> None:
    paths = owned(value, SHAPE) - {()}
    assert paths_in(tree_of(paths)) == paths
    assert all(shown(path) for path in paths)


@given(VALUES_OF_SHAPE, VALUES_OF_SHAPE)
def test_what_is_applied_is_there_afterwards(there: Any, applied: Any) -> None:
    result = merged(there, applied, SHAPE)
    assert not compare(result, merged(result, applied, SHAPE), SHAPE)
    assert owned(applied, SHAPE) - {()} <= owned(result, SHAPE) | _emptied(applied)
    assert merged(there, there, SHAPE) == there


def _emptied(value: Any) -> set[tuple[str, ...]]:
    """An empty mapping or list that is merged into a full one."""
    return {path for path in owned(value, SHAPE) if _at(value, path) in ({}, [])}


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(value, dict) or not step.startswith("f:"):
            return None
        value = value[step[2:]]
    return value


@given(VALUES_OF_SHAPE)
def test_everything_can_be_taken_away(value: Any) -> None:
    assert without(value, owned(value, SHAPE) - {()}, SHAPE) == {}


@given(VALUES_OF_SHAPE, VALUES_OF_SHAPE)
def test_only_what_differs_is_different(old: Any, new: Any) -> None:
    found = compare(old, new, SHAPE)
    assert found.written <= owned(new, SHAPE) | {()}
    assert found.removed <= owned(old, SHAPE)
    assert not compare(old, old, SHAPE)


@pytest.mark.parametrize(
    "tree", [7, {"spec": {}}, {"f:a": 1}, {"k:{": {}}, {"k:7": {}}, {"v:": {}}, {"i:x": {}}]
)
def test_what_is_no_tree_of_fields(tree: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        paths_in(tree)


def test_order() -> None:
    there = [{"name": name} for name in "abcd"]
    wanted = [{"name": name} for name in "dxb"]
    assert "".join(item["name"] for item in merged(there, wanted, SHAPES["items"])) == "acdxb"
