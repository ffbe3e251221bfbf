"""Which JSON schema does a protobuf message of a CustomResourceDefinition hold?

Schemas are recursive, and some of their fields have one of two types: so they are decoded by hand. Whether a
schema is valid is not known here.
"""

from collections.abc import Callable, Mapping
from functools import partial

from reprieve.cluster.mini.errors import bad_request
from reprieve.cluster.mini.rest.nesting_limit import DEEPEST
from reprieve.cluster.mini.rest.protobuf_wire import (
    Value,
    bytes_in,
    finite_in,
    json_in,
    text_in,
    values,
    whole_in,
)
from reprieve.model.json import Json

_TEXT = {1: "id", 2: "$schema", 4: "description", 5: "type", 6: "format", 7: "title", 15: "pattern"}
_FLAG = {
    10: "exclusiveMaximum",
    12: "exclusiveMinimum",
    18: "uniqueItems",
    37: "nullable",
    39: "x-kubernetes-embedded-resource",
    40: "x-kubernetes-int-or-string",
}
# These mean something even when they are empty, zero or false.
_SET_TEXT = {3: "$ref", 42: "x-kubernetes-list-type", 43: "x-kubernetes-map-type"}
_SET_FLAG = {38: "x-kubernetes-preserve-unknown-fields"}
_WHOLE = {
    13: "maxLength",
    14: "minLength",
    16: "maxItems",
    17: "minItems",
    21: "maxProperties",
    22: "minProperties",
}
_NUMBER = {9: "maximum", 11: "minimum", 19: "multipleOf"}
_VALUE = {8: "default", 36: "example"}
_TEXTS = {23: "required", 41: "x-kubernetes-list-map-keys"}
_SCHEMAS = {25: "allOf", 26: "oneOf", 27: "anyOf"}
_BY_NAME = {29: "properties", 31: "patternProperties", 34: "definitions"}
_OR_BOOLEAN = {30: "additionalProperties", 33: "additionalItems"}
_ENUM, _ITEMS, _NOT, _DEPENDENCIES, _DOCUMENTATION, _RULES = 20, 24, 28, 32, 35, 44
_DOCUMENTATION_TEXT = {1: "description", 2: "url"}
_RULE_TEXT = {1: "rule", 2: "message", 3: "messageExpression", 4: "reason", 5: "fieldPath"}
_OPTIONAL_OLD_SELF = 6

_Reader = Callable[[Value], object]
_Named = Mapping[int, tuple[str, _Reader]]


def json_schema(raw: bytes, depth: int) -> Json:
    """``depth``: how many more levels may follow."""
    if depth <= 0:
        raise bad_request(f"the body is nested deeper than {DEEPEST} levels")
    single, listed, by_name = _readers(depth - 1)
    found: Json = {}
    for number, value in values(raw):
        if number in single:
            name, read = single[number]
            one = read(value)
            if one is not None:
                found[name] = one
        elif number in listed:
            name, read = listed[number]
            found.setdefault(name, []).append(read(value))
        elif number in by_name:
            name, read = by_name[number]
            entry = dict(values(bytes_in(value)))
            found.setdefault(name, {})[text_in(entry.get(1, b""))] = read(entry.get(2, b""))
    return found


def _readers(depth: int) -> tuple[_Named, _Named, _Named]:
    """How fields are read: those with one value, lists, and mappings."""
    schema: _Reader = partial(_schema, depth)
    single: _Named = {
        **_all(_TEXT, lambda value: text_in(value) or None),
        **_all(_FLAG, lambda value: bool(whole_in(value)) or None),
        **_all(_SET_TEXT, text_in),
        **_all(_SET_FLAG, lambda value: bool(whole_in(value))),
        **_all(_WHOLE, whole_in),
        **_all(_NUMBER, _number),
        **_all(_VALUE, json_in),
        **_all(_OR_BOOLEAN, partial(_schema_or_boolean, depth)),
        _NOT: ("not", schema),
        _ITEMS: ("items", partial(_schema_or_list, depth)),
        _DOCUMENTATION: ("externalDocs", partial(_texts_of, _DOCUMENTATION_TEXT)),
    }
    listed: _Named = {
        **_all(_TEXTS, text_in),
        **_all(_SCHEMAS, schema),
        _ENUM: ("enum", json_in),
        _RULES: ("x-kubernetes-validations", _rule),
    }
    by_name: _Named = {
        **_all(_BY_NAME, schema),
        _DEPENDENCIES: ("dependencies", partial(_schema_or_texts, depth)),
    }
    return single, listed, by_name


def _all(names: Mapping[int, str], read: _Reader) -> dict[int, tuple[str, _Reader]]:
    return {number: (name, read) for number, name in names.items()}


def _number(value: Value) -> int | float:
    """As Go writes it in JSON: without a fraction if it is whole."""
    number = finite_in(value)
    return int(number) if number.is_integer() and abs(number) < 1 << 53 else number


def _schema(depth: int, value: Value) -> Json:
    return json_schema(bytes_in(value), depth)


def _schema_or_boolean(depth: int, value: Value) -> Json | bool:
    fields = dict(values(bytes_in(value)))
    return _schema(depth, fields[2]) if 2 in fields else bool(whole_in(fields.get(1, 0)))


def _schema_or_list(depth: int, value: Value) -> Json | list[Json]:
    fields = list(values(bytes_in(value)))
    only = dict(fields).get(1)
    return _schema(depth, only) if only is not None else [_schema(depth, one) for _, one in fields]


def _schema_or_texts(depth: int, value: Value) -> Json | list[str]:
    fields = list(values(bytes_in(value)))
    only = dict(fields).get(1)
    return _schema(depth, only) if only is not None else [text_in(one) for _, one in fields]


def _rule(value: Value) -> Json:
    found = _texts_of(_RULE_TEXT, value)
    fields = dict(values(bytes_in(value)))
    if _OPTIONAL_OLD_SELF in fields:
        found["optionalOldSelf"] = bool(whole_in(fields[_OPTIONAL_OLD_SELF]))
    return found


def _texts_of(names: Mapping[int, str], value: Value) -> Json:
    fields = dict(values(bytes_in(value)))
    return {name: text_in(fields[n]) for n, name in names.items() if fields.get(n)}
