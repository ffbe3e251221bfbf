"""JSON Patch: its operations as a pure function of a JSON value, with limits on what they cost."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, bad_request

_MOST_OPERATIONS = 10_000
_MOST_COPIED = 3 * 1024 * 1024  # bytes: copies of copies double each time
_MOST_TOUCHED = 20_000_000  # entries of the containers on the paths to all changes
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")

JsonValue = Any
Pointer = tuple[str, ...]


def apply_operations(value: JsonValue, patch: object) -> JsonValue:
    if not isinstance(patch, list):
        raise bad_request("a JSON patch must be a list of operations")
    if len(patch) > _MOST_OPERATIONS:
        raise bad_request(
            f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(patch)}"
        )
    copied = touched = 0
    for number, operation in enumerate(patch):
        if not isinstance(operation, dict):
            raise bad_request(f"operation {number} of the JSON patch must be an object")
        copied += _size_of_copy(value, operation, number)
        if copied > _MOST_COPIED:
            raise _unfit(number, f"all copies together exceed {_MOST_COPIED} bytes")
        touched += _entries_on_the_way(value, operation, number)
        if touched > _MOST_TOUCHED:
            raise _unfit(number, f"all changes together touch more than {_MOST_TOUCHED} entries")
        value = _apply(value, operation, number)
    return value


def _size_of_copy(value: JsonValue, operation: Json, number: int) -> int:
    if operation.get("op") != "copy":
        return 0
    return len(msgspec.json.encode(_at(value, _pointer(operation, "from", number), number)))


def _entries_on_the_way(value: JsonValue, operation: Json, number: int) -> int:
    """What a change copies: it leaves the original as it is."""
    entries = 0
    for step in _path(operation, number):
        if not isinstance(value, dict | list):
            break
        entries += len(value)
        if isinstance(value, dict):
            value = value.get(step)
        else:
            value = value[int(step)] if _INDEX.fullmatch(step) and int(step) < len(value) else None
    return entries


def _apply(value: JsonValue, operation: Json, number: int) -> JsonValue:
    name = operation.get("op")
    if not isinstance(name, str) or name not in _OPERATIONS:
        known = ", ".join(_OPERATIONS)
        raise bad_request(f"operation {number} of the JSON patch: op must be one of {known}, not {name!r}")
    return _OPERATIONS[name](value, operation, number)


def _add(value: JsonValue, operation: Json, number: int) -> JsonValue:
    return _put(value, _path(operation, number), _given(operation, number), number, inserts=True)


def _remove(value: JsonValue, operation: Json, number: int) -> JsonValue:
    return _without(value, _path(operation, number), number)


def _replace(value: JsonValue, operation: Json, number: int) -> JsonValue:
    path = _path(operation, number)
    _at(value, path, number)
    return _put(value, path, _given(operation, number), number, inserts=False)


def _move(value: JsonValue, operation: Json, number: int) -> JsonValue:
    source, path = _pointer(operation, "from", number), _path(operation, number)
    if source == path[: len(source)] and source != path:
        raise _unfit(number, "a value cannot be moved into itself")
    moved = _at(value, source, number)
    if source == path:
        return value
    return _put(_without(value, source, number), path, moved, number, inserts=True)


def _copy(value: JsonValue, operation: Json, number: int) -> JsonValue:
    found = _at(value, _pointer(operation, "from", number), number)
    return _put(value, _path(operation, number), found, number, inserts=True)


def _test(value: JsonValue, operation: Json, number: int) -> JsonValue:
    path = _path(operation, number)
    if not _equal(_at(value, path, number), _given(operation, number)):
        raise _unfit(number, f"the test of {_shown(path)} failed")
    return value


_OPERATIONS: Mapping[str, Callable[[JsonValue, Json, int], JsonValue]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


# --- pointers ------------------------------------------------------------------------------------


def _path(operation: Json, number: int) -> Pointer:
    return _pointer(operation, "path", number)


def _pointer(operation: Json, field: str, number: int) -> Pointer:
    text = operation.get(field)
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise bad_request(
            f"operation {number} of the JSON patch: {field} must be a pointer such as /spec, not {text!r}"
        )
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])


def _given(operation: Json, number: int) -> JsonValue:
    if "value" not in operation:
        raise bad_request(f"operation {number} of the JSON patch: value is missing")
    return operation["value"]


def _at(value: JsonValue, path: Pointer, number: int) -> JsonValue:
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list):
            value = value[_index(step, path, number, len(value) - 1)]
        else:
            raise _missing(path, number)
    return value


def _put(value: JsonValue, path: Pointer, new: JsonValue, number: int, *, inserts: bool) -> JsonValue:
    if not path:
        return new
    step, *rest = path
    if isinstance(value, dict):
        if not rest:
            return {**value, step: new}
        if step not in value:
            raise _missing(path, number)
        return {**value, step: _put(value[step], tuple(rest), new, number, inserts=inserts)}
    if not isinstance(value, list):
        raise _missing(path, number)
    if rest:
        i = _index(step, path, number, len(value) - 1)
        return [*value[:i], _put(value[i], tuple(rest), new, number, inserts=inserts), *value[i + 1 :]]
    if inserts:
        i = len(value) if step == "-" else _index(step, path, number, len(value))
        return [*value[:i], new, *value[i:]]
    i = _index(step, path, number, len(value) - 1)
    return [*value[:i], new, *value[i + 1 :]]


def _without(value: JsonValue, path: Pointer, number: int) -> JsonValue:
    if not path:
        raise _unfit(number, "the whole object cannot be removed")
    step, *rest = path
    if isinstance(value, dict) and step in value:
        if rest:
            return {**value, step: _without(value[step], tuple(rest), number)}
        return {name: below for name, below in value.items() if name != step}
    if isinstance(value, list):
        i = _index(step, path, number, len(value) - 1)
        below = [_without(value[i], tuple(rest), number)] if rest else []
        return [*value[:i], *below, *value[i + 1 :]]
    raise _missing(path, number)


def _index(step: str, path: Pointer, number: int, last: int) -> int:
    if _INDEX.fullmatch(step) is None or int(step) > last:
        raise _missing(path, number)
    return int(step)


def _equal(one: JsonValue, other: JsonValue) -> bool:
    """Unlike in Python, true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def _shown(path: Pointer) -> str:
    return "/" + "/".join(path)


def _missing(path: Pointer, number: int) -> ApiError:
    return _unfit(number, f"the path {_shown(path)} does not exist")


def _unfit(number: int, why: str) -> ApiError:
    return ApiError(422, "Invalid", f"operation {number} of the JSON patch cannot be applied: {why}")
