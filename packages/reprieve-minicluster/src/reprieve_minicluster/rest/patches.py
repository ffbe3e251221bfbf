"""Patches: strategic merge patch, JSON patch and merge patch, each a pure function of JSON values.

The apply patch depends on field ownership and is in `write_handlers`.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, bad_request
from reprieve_minicluster.json_patch import apply_operations
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
