"""JSON patch, after RFC 6902."""

from typing import Any

import pytest

from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.json_patch import apply_operations

DOCUMENT = {"a": {"b": [1, 2, 3]}, "m~n": 8, "x/y": 9, "flag": True}


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


@pytest.mark.parametrize(
    ("operations", "place", "expected"),
    [
        ([op("add", "/c", value=1)], "c", 1),
        ([op("add", "/a", value=1)], "a", 1),
        ([op("add", "/a/b/1", value=9)], "a", {"b": [1, 9, 2, 3]}),
        ([op("add", "/a/b/-", value=9)], "a", {"b": [1, 2, 3, 9]}),
        ([op("add", "/a/b/3", value=9)], "a", {"b": [1, 2, 3, 9]}),
        ([op("remove", "/a/b/0")], "a", {"b": [2, 3]}),
        ([op("replace", "/a/b/0", value=None)], "a", {"b": [None, 2, 3]}),
        ([op("replace", "/m~0n", value=1)], "m~n", 1),
        ([op("replace", "/x~1y", value=1)], "x/y", 1),
        ([op("move", "/a/c", **{"from": "/a/b"})], "a", {"c": [1, 2, 3]}),
        ([op("copy", "/c", **{"from": "/a/b/2"})], "c", 3),
        ([op("test", "/a/b", value=[1, 2, 3]), op("remove", "/a/b")], "a", {}),
        ([op("test", "/flag", value=True), op("remove", "/a/b")], "a", {}),
    ],
)
def test_operations(operations: list[Any], place: str, expected: object) -> None:
    assert apply_operations(DOCUMENT, operations)[place] == expected


def test_nothing_that_was_given_is_altered() -> None:
    before = {"a": {"b": [1, 2]}}
    patch = [op("add", "/a/b/0", value=0), op("copy", "/c", **{"from": "/a"}), op("add", "/c/d", value=1)]
    assert apply_operations(before, patch) == {"a": {"b": [0, 1, 2]}, "c": {"b": [0, 1, 2], "d": 1}}
    assert before == {"a": {"b": [1, 2]}}


@pytest.mark.parametrize(
    "operation",
    [
        op("remove", "/none"),
        op("remove", ""),
        op("add", "/none/x", value=1),
        op("add", "/a/b/4", value=1),
        op("add", "/a/b/01", value=1),
        op("add", "/a/b/-1", value=1),
        op("add", "/flag/x", value=1),
        op("replace", "/a/b/-", value=1),
        op("replace", "/none", value=1),
        op("test", "/flag", value=1),
        op("test", "/a/b/0", value=True),
        op("test", "/none", value=None),
        op("move", "/a/b/c", **{"from": "/a"}),
        op("copy", "/c", **{"from": "/none"}),
    ],
)
def test_what_does_not_fit(operation: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as error:
        apply_operations(DOCUMENT, [operation])
    assert error.value.status == 422


@pytest.mark.parametrize(
    "patch",
    [
        {},
        ["x"],
        [{}],
        [{"op": "add", "value": 1}],
        [{"op": "add", "path": "a", "value": 1}],
        [{"op": "add", "path": "/a"}],
        [{"op": "copy", "path": "/a"}],
        [{"op": ["add"], "path": "/a"}],
        [op("test", "/flag", value=True)] * 10_001,
    ],
)
def test_what_is_no_patch(patch: object) -> None:
    with pytest.raises(ApiError) as error:
        apply_operations(DOCUMENT, patch)
    assert error.value.status == 400


def test_copies_of_copies_come_to_an_end() -> None:
    double = [op("copy", f"/c{i}", **{"from": ""}) for i in range(64)]
    with pytest.raises(ApiError, match="copies"):
        apply_operations(DOCUMENT, double)
