"""Which fields of an object does a structural schema keep, what does it add, and what does it reject?

The schemas of CustomResourceDefinitions, as plain JSON. ``cel_rules`` evaluates ``x-kubernetes-validations``.
"""

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any

from reprieve.cluster.api.merge_shapes import (
    ATOMIC,
    OBJECT_META,
    UNKNOWN,
    VALUE_SET,
    GranularMap,
    KeyedList,
    MergeShape,
)
from reprieve.cluster.api.timestamps import moment
from reprieve.cluster.api.values import part
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.model.json import Json

PRESERVE, EITHER = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
_EMBEDDED, _LIST, _KEYS = (
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
)
_MAP = "x-kubernetes-map-type"
_HEAD = ("apiVersion", "kind", "metadata")

_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
}


def below(schema: Json, name: str) -> Json | None:
    """The schema of a field; None for an unknown field."""
    known = part(schema, "properties").get(name)
    if isinstance(known, dict):
        return known
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        return others
    return {PRESERVE: True} if others is True or schema.get(PRESERVE) is True else None


# --- keeping and adding ----------------------------------------------------------------------------


def pruned(body: Json, schema: Json) -> tuple[Json, list[str]]:
    """An object without its unknown fields, and the paths of those."""
    dropped: list[str] = []
    head = {name: body[name] for name in _HEAD if name in body}
    rest = {name: value for name, value in body.items() if name not in _HEAD}
    return {**head, **_pruned(rest, schema, "", dropped)}, dropped


def _pruned(value: Any, schema: Json, path: str, dropped: list[str]) -> Any:
    match value:
        case dict():
            return _pruned_object(value, schema, path, dropped)
        case list():
            items = part(schema, "items") or {PRESERVE: schema.get(PRESERVE)}
            return [_pruned(one, items, f"{path}[{number}]", dropped) for number, one in enumerate(value)]
    return value


def _pruned_object(value: Json, schema: Json, path: str, dropped: list[str]) -> Json:
    kept: Json = {}
    for name, one in value.items():
        known, here = below(schema, name), f"{path}.{name}" if path else name
        if known is None:
            if schema.get(_EMBEDDED) is True and name in _HEAD:
                kept[name] = one
            else:
                dropped.append(here)
        elif one is not None or known.get("nullable") is True or known == {PRESERVE: True}:
            kept[name] = _pruned(one, known, here, dropped)
    return kept


def defaulted(value: Any, schema: Json) -> Any:
    """The value with the defaults of the schema."""
    match value:
        case dict():
            filled = {
                name: deepcopy(known["default"])
                for name, known in part(schema, "properties").items()
                if isinstance(known, dict) and "default" in known and name not in value
            }
            whole = {**value, **filled}
            return {name: defaulted(one, below(schema, name) or {}) for name, one in whole.items()}
        case list():
            return [defaulted(one, part(schema, "items")) for one in value]
    return value


# --- checking --------------------------------------------------------------------------------------


def check_value(at: At, schema: Json) -> None:
    if at.value is None:
        return
    if not _fits(at.value, schema):
        at.refuse(ErrorType.TYPE, f"must be of type {schema.get('type', 'integer or string')}")
        return
    allowed = schema.get("enum")
    if isinstance(allowed, list) and at.value not in allowed:
        choices = ", ".join(f'"{choice}"' for choice in allowed)
        at.refuse(ErrorType.UNSUPPORTED, f"supported values: {choices}")
    match at.value:
        case dict():
            _check_object(at, schema)
        case list():
            _check_list(at, schema)
        case str():
            _check_text(at, schema)
        case int() | float() if not isinstance(at.value, bool):
            _check_number(at, schema)
    _check_combined(at, schema)


def _fits(value: object, schema: Json) -> bool:
    if schema.get(EITHER) is True:
        return isinstance(value, str) or type(value) is int
    kind = schema.get("type")
    return not isinstance(kind, str) or kind not in _TYPES or _TYPES[kind](value)


def _check_object(at: At, schema: Json) -> None:
    for name in schema.get("required") or ():
        if name not in at.value:
            at[name].refuse(ErrorType.REQUIRED, "must be given")
    _check_size(at, len(at.value), schema, "Properties", "fields")
    for name in at.value:
        known = part(schema, "properties").get(name)
        if isinstance(known, dict):
            check_value(at[name], known)
        elif isinstance(schema.get("additionalProperties"), dict):
            check_value(at.key(name), schema["additionalProperties"])


def _check_list(at: At, schema: Json) -> None:
    _check_size(at, len(at.value), schema, "Items", "items")
    seen: list[object] = []
    for item in at.items():
        check_value(item, part(schema, "items"))
        mark = _told_apart(item.value, schema)
        if mark is not None and mark in seen:
            item.refuse(ErrorType.DUPLICATE, "must be there once")
        seen.append(mark)


def _told_apart(item: Any, schema: Json) -> object:
    match schema.get(_LIST):
        case "set":
            return item
        case "map" if isinstance(item, dict):
            return {key: item.get(key) for key in schema.get(_KEYS) or ()}
    return None


def _check_text(at: At, schema: Json) -> None:
    _check_size(at, len(at.value), schema, "Length", "characters")
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and (form := compiled(pattern)) and form.search(at.value) is None:
        at.invalid(f"must match '{pattern}'")
    if schema.get("format") == "date-time" and not _is_moment(at.value):
        at.invalid("must be a time such as 2026-01-02T03:04:05Z")


def _is_moment(text: str) -> bool:
    try:
        moment(text)
    except ValueError:
        return False
    return "T" in text


@lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """None if it is no regular expression."""
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _check_number(at: At, schema: Json) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if _is_number(least) and (at.value < least or (schema.get("exclusiveMinimum") and at.value == least)):
        at.invalid(f"must be {'greater than' if schema.get('exclusiveMinimum') else 'at least'} {least}")
    if _is_number(most) and (at.value > most or (schema.get("exclusiveMaximum") and at.value == most)):
        at.invalid(f"must be {'less than' if schema.get('exclusiveMaximum') else 'at most'} {most}")
    step = schema.get("multipleOf")
    if _is_number(step) and step and at.value % step:
        at.invalid(f"must be a multiple of {step}")
    bits = {"int32": 31, "int64": 63}.get(str(schema.get("format")))
    if bits and not -(1 << bits) <= at.value < 1 << bits:
        at.invalid(f"must be an integer of {bits + 1} bits")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _check_size(at: At, size: int, schema: Json, of: str, what: str) -> None:
    least, most = schema.get(f"min{of}"), schema.get(f"max{of}")
    if type(least) is int and size < least:
        at.invalid(f"must have at least {least} {what}")
    if type(most) is int and size > most:
        reason = ErrorType.TOO_LONG if what == "characters" else ErrorType.TOO_MANY
        at.refuse(reason, f"must have at most {most} {what}, has {size}")


def _check_combined(at: At, schema: Json) -> None:
    for one in schema.get("allOf") or ():
        check_value(at, one)
    any_of, one_of = schema.get("anyOf"), schema.get("oneOf")
    if any_of and not any(_holds(at.value, one) for one in any_of):
        at.invalid("must hold to at least one of the schemas in anyOf")
    if one_of and sum(_holds(at.value, one) for one in one_of) != 1:
        at.invalid("must hold to exactly one of the schemas in oneOf")
    if isinstance(schema.get("not"), dict) and _holds(at.value, schema["not"]):
        at.invalid("must not hold to the schema in not")


def _holds(value: Any, schema: Json) -> bool:
    trial = At(value)
    check_value(trial, schema)
    return not trial.errors


# --- sharing ---------------------------------------------------------------------------------------


def shape_in(schema: Json, *, is_root: bool = False) -> MergeShape:
    """How several field managers share what the schema describes."""
    match schema.get("type"):
        case "object":
            return _shape_of_object(schema, is_root=is_root)
        case "array":
            return _shape_of_list(schema)
    return UNKNOWN if schema.get(PRESERVE) is True else ATOMIC


def _shape_of_object(schema: Json, *, is_root: bool) -> MergeShape:
    if schema.get(_MAP) == "atomic":
        return ATOMIC

    def of_field(name: str) -> MergeShape:
        if is_root and name == "metadata":
            return OBJECT_META
        known = below(schema, name)
        return UNKNOWN if known is None or known == {PRESERVE: True} else shape_in(known)

    return GranularMap(of_field)


def _shape_of_list(schema: Json) -> MergeShape:
    items = part(schema, "items")
    match schema.get(_LIST):
        case "set":
            return VALUE_SET
        case "map":
            fields = part(items, "properties")
            keys = ((key, part(fields, key).get("default")) for key in schema.get(_KEYS) or ())
            return KeyedList(tuple(keys), shape_in(items))
    return ATOMIC
