"""Patches: strategic merge patch, JSON patch and merge patch, each a pure function of JSON values.

The apply patch depends on field ownership and is in `write_handlers`.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, bad_request
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.kinds.kind import COMMON, PRIMITIVE
from reprieve_minicluster.rest.http_messages import check_depth, too_deep
from reprieve_minicluster.rest.request_bodies import as_object, from_json, unsupported_media

_PATCH, _RETAIN = "$patch", "$retainKeys"
_ORDER, _DELETE = "$setElementOrder/", "$deleteFromPrimitiveList/"


def merge_strategically(kind: ResourceKind, old: Json, patch: Json) -> Json:
    return _Merging({**COMMON, **kind.merge_keys}, kind.replaced_whole).mapping(old, patch, "")


@dataclass(frozen=True, slots=True)
class _Merging:
    """``path``: the path in the schema, without list items."""

    keys: Mapping[str, str]
    whole: tuple[str, ...]

    def mapping(self, old: Json, patch: Json, path: str) -> Json:
        match patch.get(_PATCH):
            case None | "merge":
                merged = _retained(old, patch.get(_RETAIN))
            case "replace" | "delete" as directive:
                merged = {}
                if directive == "delete":
                    return merged
            case other:
                raise bad_request(f"{_PATCH} must be replace, delete or merge, not {other!r}")
        self._delete_values(merged, patch)
        for name, value in patch.items():
            if not name.startswith("$"):
                self._merge_field(merged, name, value, f"{path}.{name}".lstrip("."), patch)
        self._order_untouched(merged, patch, path)
        return merged

    def _merge_field(self, merged: Json, name: str, value: object, path: str, patch: Json) -> None:
        before = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict) and before is None and value.get(_PATCH) == "delete":
            return
        elif isinstance(value, dict):
            whole = path in self.whole or not isinstance(before, dict)
            merged[name] = self.mapping({} if whole else before or {}, value, path)
        elif isinstance(value, list) and path in self.keys:
            there = before if isinstance(before, list) else []
            # Without $setElementOrder the patch gives the order: new items come first.
            merged[name] = self._list(there, value, path, _order_of(patch, name) or value)
        else:
            merged[name] = self._plain(value)

    def _plain(self, value: object) -> object:
        """A value that replaces the old one, without directives."""
        if isinstance(value, list):
            return [self.mapping({}, item, "?") if isinstance(item, dict) else item for item in value]
        return value

    def _delete_values(self, merged: Json, patch: Json) -> None:
        for directive, values in patch.items():
            if not directive.startswith(_DELETE):
                continue
            if not isinstance(values, list):
                raise bad_request(f"{directive} must be a list")
            name, gone = directive.removeprefix(_DELETE), {_tag(value) for value in values}
            if isinstance(merged.get(name), list):
                merged[name] = [item for item in merged[name] if _tag(item) not in gone]

    def _order_untouched(self, merged: Json, patch: Json, path: str) -> None:
        """Apply $setElementOrder to lists that the patch does not change otherwise."""
        for directive in patch:
            if not directive.startswith(_ORDER):
                continue
            name = directive.removeprefix(_ORDER)
            there, key = merged.get(name), self.keys.get(f"{path}.{name}".lstrip("."))
            if name not in patch and isinstance(there, list) and key is not None:
                merged[name] = _ordered(_tagged(there, key), _tagged(there, key), _order_of(patch, name), key)

    # --- lists -----------------------------------------------------------------------------------

    def _list(self, old: list[Any], patch: list[Any], path: str, order: list[Any]) -> list[Any]:
        key = self.keys[path]
        there = _tagged(old, key)
        if key == PRIMITIVE:
            return _ordered({**there, **_tagged(patch, key)}, there, order, key)
        items = [_item(item, key, path) for item in patch]
        if any(item.get(_PATCH) == "replace" for item in items):
            return [self.mapping({}, item, path) for item in items if item.get(_PATCH) != "replace"]
        merged = dict(there)
        for item in items:
            self._merge_item(merged, item, _tag(item[key]), path)
        return _ordered(merged, there, order, key)

    def _merge_item(self, merged: dict[bytes, Any], item: Json, tag: bytes, path: str) -> None:
        if item.get(_PATCH) == "delete":
            merged.pop(tag, None)
        else:
            before = merged.get(tag)
            merged[tag] = self.mapping(before if isinstance(before, dict) else {}, item, path)


def _tag(value: object) -> bytes:
    """A key that is equal only for equal JSON values: 1 is neither "1" nor true."""
    return msgspec.json.encode(value, order="deterministic")


def _tagged(items: list[Any], key: str) -> dict[bytes, Any]:
    """Items by merge key; of duplicates, a patch changes the first."""
    if key == PRIMITIVE:
        return {_tag(item): item for item in items}
    found: dict[bytes, Any] = {}
    for number, item in enumerate(items):
        tag = _tag(item.get(key) if isinstance(item, dict) else item)
        found[tag if tag not in found else b"%b #%d" % (tag, number)] = item
    return found


def _item(item: object, key: str, path: str) -> Json:
    if not isinstance(item, dict):
        raise _unmergeable(f"the items of {path} must be objects")
    if key not in item and item.get(_PATCH) != "replace":
        raise _unmergeable(f"an item of {path} has no {key}, its merge key")
    return item


def _retained(old: Json, names: object) -> Json:
    if names is None:
        return dict(old)
    if not isinstance(names, list):
        raise bad_request(f"{_RETAIN} must be a list")
    wanted = {name for name in names if isinstance(name, str)}
    return {name: value for name, value in old.items() if name in wanted}


def _order_of(patch: Json, name: str) -> list[Any]:
    order = patch.get(_ORDER + name, [])
    if not isinstance(order, list):
        raise bad_request(f"{_ORDER}{name} must be a list")
    return order


def _ordered(merged: dict[bytes, Any], old: dict[bytes, Any], order: list[Any], key: str) -> list[Any]:
    """Items in the client's order; those that it does not list stay before the items that they preceded."""
    if not order:
        return list(merged.values())
    wanted = _tagged(order, key)
    places = {tag: i for i, tag in enumerate(old)}
    others = deque(tag for tag in merged if tag not in wanted)
    result: list[bytes] = []
    for tag in wanted:
        if tag in merged:
            while others and places.get(others[0], 0) < places.get(tag, -1):
                result.append(others.popleft())
            result.append(tag)
    return [merged[tag] for tag in (*result, *others)]


def _unmergeable(why: str) -> ApiError:
    return ApiError(422, "Invalid", f"the patch cannot be applied: {why}")


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


JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

Change = Callable[[Json], Json]
__all__ = ["APPLY", "JSON_PATCH", "MERGE_PATCH", "PATCHES", "STRATEGIC", "Change", "change_of"]


def change_of(kind: ResourceKind, media: str, body: bytes) -> Change:
    """A patch as a function of an object; an ApiError for a malformed patch.

    Strategic merge patches need merge keys, which custom kinds do not have.
    """
    served = [one for one in PATCHES if one != STRATEGIC or kind.custom is None]
    if media not in served:
        raise unsupported_media(media, *served, APPLY)
    change = PATCHES[media](kind, from_json(body))

    def checked(old: Json) -> Json:
        try:
            new = change(old)
        except RecursionError as error:  # operations can nest values deeper than any body may be
            raise too_deep() from error
        check_depth(new)
        return new

    return checked


def _by_operations(kind: ResourceKind, patch: object) -> Change:
    return lambda old: as_object(apply_operations(old, patch))


def _by_merging(kind: ResourceKind, patch: object) -> Change:
    given = as_object(patch)
    return lambda old: as_object(merge(old, given))


def _strategically(kind: ResourceKind, patch: object) -> Change:
    given = as_object(patch)
    return lambda old: merge_strategically(kind, old, given)


PATCHES: Mapping[str, Callable[[ResourceKind, object], Change]] = {
    JSON_PATCH: _by_operations,
    MERGE_PATCH: _by_merging,
    STRATEGIC: _strategically,
}


def merge(old: object, patch: object) -> object:
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged
