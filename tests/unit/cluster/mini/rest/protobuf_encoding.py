"""Encodes objects in protobuf as clients send them."""

import struct
from base64 import b64decode
from datetime import datetime
from typing import Any

import msgspec

from reprieve.cluster.api.protobuf_numbers import numbers_of
from reprieve.cluster.api.schema import ListOf, MapOf, Object, Plain, Type, fields_of, root
from reprieve.model.json import Json


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
    return [numbered.name for numbered in numbers_of(name).values()]


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
    return field(1, msgspec.json.encode(value))
