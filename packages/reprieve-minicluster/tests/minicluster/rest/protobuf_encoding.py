"""Encodes objects in protobuf as clients send them."""

import struct
from base64 import b64decode
from datetime import datetime
from typing import Any

import msgspec

from reprieve.cluster.api.schema import ListOf, MapOf, Object, Plain, Type, fields_of, root
from reprieve.model.json import Json
from reprieve_minicluster.rest.protobuf import numbers_of


def envelope(body: Json) -> bytes:
    api_version, kind = body["apiVersion"], body["kind"]
    head = field(1, api_version.encode()) + field(2, kind.encode())
    thing = root(api_version, kind)
    plain = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
    raw = message(thing.name, fields_of(thing), plain)
    return b"k8s\0" + field(1, head) + field(2, raw) + field(3, b"") + field(4, b"")


def field(number: int, value: int | bytes | float) -> bytes:
    match value:
        case int():
            return varint(number << 3) + varint(value)
        case float():
            return varint(number << 3 | 1) + struct.pack("<d", value)
        case bytes():
            return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    value &= 0xFFFF_FFFF_FFFF_FFFF
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def message(name: str, types: Any, body: Json) -> bytes:
    written = b""
    left = dict(body)
    for number, numbered in numbers_of(name).items():
        if numbered.within:
            inner = {n: left.pop(n) for n in _all_names(numbered.within) if n in left}
            written += field(number, message(numbered.within, types, inner))
        elif numbered.name in left:
            written += _field(number, types[numbered.name], left.pop(numbered.name))
    assert not left, f"{name} has no {', '.join(left)} in protobuf"
    return written


def _all_names(name: str) -> list[str]:
    return [
        inner
        for numbered in numbers_of(name).values()
        for inner in (_all_names(numbered.within) if numbered.within else [numbered.name])
    ]


def _field(number: int, kind: Type, value: Any) -> bytes:
    match kind:
        case ListOf(item):
            return b"".join(field(number, _value(item, one)) for one in value)
        case MapOf(below):
            entries = [field(1, key.encode()) + field(2, _value(below, one)) for key, one in value.items()]
            return b"".join(field(number, entry) for entry in entries)
    return field(number, _value(kind, value))


def _value(kind: Type, value: Any) -> int | bytes | float:
    match kind:
        case Object(name):
            return message(name, fields_of(kind), value)
        case ListOf(item):
            return b"".join(field(1, _value(item, one)) for one in value)
        case Plain(name):
            return _plain(name, value)
    raise AssertionError(kind)


def _plain(name: str, value: Any) -> int | bytes | float:
    match name:
        case "int32" | "int64" | "boolean":
            return int(value)
        case "string":
            return str(value).encode()
        case "bytes":
            return b64decode(value)
        case "quantity":
            return field(1, str(value).encode())
        case "time" | "microTime":
            at = datetime.fromisoformat(value)
            return field(1, int(at.timestamp())) + field(2, at.microsecond * 1000)
        case "intOrString":
            said = (1, 0, value) if isinstance(value, str) else (0, value, "")
            return field(1, said[0]) + field(2, said[1]) + field(3, said[2].encode())
        case "number":
            return float(value)
        case "jsonSchema":
            return json_schema(value)
    return field(1, msgspec.json.encode(value))


# By the generated.proto of apiextensions.k8s.io/v1: the number and the form of each field of a JSON schema.
_OF_SCHEMA: dict[str, tuple[int, str]] = {
    "id": (1, "text"),
    "description": (4, "text"),
    "type": (5, "text"),
    "format": (6, "text"),
    "default": (8, "json"),
    "maximum": (9, "double"),
    "exclusiveMaximum": (10, "whole"),
    "minimum": (11, "double"),
    "maxLength": (13, "whole"),
    "pattern": (15, "text"),
    "minItems": (17, "whole"),
    "multipleOf": (19, "double"),
    "enum": (20, "jsons"),
    "required": (23, "texts"),
    "items": (24, "schema or list"),
    "allOf": (25, "schemas"),
    "not": (28, "schema"),
    "properties": (29, "by name"),
    "additionalProperties": (30, "schema or boolean"),
    "dependencies": (32, "schema or texts, by name"),
    "externalDocs": (35, "documentation"),
    "nullable": (37, "whole"),
    "x-kubernetes-preserve-unknown-fields": (38, "whole"),
    "x-kubernetes-int-or-string": (40, "whole"),
    "x-kubernetes-list-map-keys": (41, "texts"),
    "x-kubernetes-list-type": (42, "text"),
    "x-kubernetes-validations": (44, "rules"),
}


def json_schema(body: Json) -> bytes:
    written = b""
    for name, value in body.items():
        number, form = _OF_SCHEMA[name]
        written += b"".join(field(number, one) for one in _of_schema(form, value))
    return written


def _of_schema(form: str, value: Any) -> list[int | bytes | float]:  # noqa: PLR0912  one for each form
    match form:
        case "text":
            return [value.encode()]
        case "texts":
            return [one.encode() for one in value]
        case "whole":
            return [int(value)]
        case "double":
            return [float(value)]
        case "json":
            return [field(1, msgspec.json.encode(value))]
        case "jsons":
            return [field(1, msgspec.json.encode(one)) for one in value]
        case "schema":
            return [json_schema(value)]
        case "schemas":
            return [json_schema(one) for one in value]
        case "by name":
            return [field(1, key.encode()) + field(2, json_schema(one)) for key, one in value.items()]
        case "schema or boolean":
            is_flag = isinstance(value, bool)
            return [field(1, int(value)) if is_flag else field(1, 1) + field(2, json_schema(value))]
        case "schema or list":
            several = isinstance(value, list)
            return [
                b"".join(field(2, json_schema(v)) for v in value) if several else field(1, json_schema(value))
            ]
        case "schema or texts, by name":
            said = {
                key: b"".join(field(2, v.encode()) for v in one)
                if isinstance(one, list)
                else field(1, json_schema(one))
                for key, one in value.items()
            }
            return [field(1, key.encode()) + field(2, one) for key, one in said.items()]
        case "documentation":
            return [field(1, value["description"].encode()) + field(2, value["url"].encode())]
        case "rules":
            return [
                field(1, one["rule"].encode())
                + field(2, one.get("message", "").encode())
                + (field(6, int(one["optionalOldSelf"])) if "optionalOldSelf" in one else b"")
                for one in value
            ]
    raise AssertionError(form)
