"""Decoding of protobuf bodies, as kubectl create sends them, into JSON values.

Types come from the schema and field numbers from ``protobuf_numbers.txt``: every kind that has both can be
decoded. Nothing is validated here, and responses are never in protobuf.
"""

import math
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from importlib.resources import files

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.schema import ListOf, MapOf, Object, Plain, Type, fields_of, is_listed, root
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, bad_request
from reprieve_minicluster.rest.http_messages import DEEPEST, check_depth

Value = int | bytes


def values(raw: bytes) -> Iterator[tuple[int, Value]]:
    """Field numbers and their values, as far as the wire format determines them."""
    position = 0
    while position < len(raw):
        tag, position = _varint(raw, position)
        match tag & 7:
            case 0:
                value, position = _varint(raw, position)
                yield tag >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, position = _varint(raw, position)
            case 5:
                size = 4
            case _:
                raise malformed()
        if position + size > len(raw):
            raise malformed()
        yield tag >> 3, raw[position : position + size]
        position += size


def first(raw: bytes, number: int) -> Value:
    """The value of one field of a message; empty if it is missing."""
    return dict(values(raw)).get(number, b"")


def packed(raw: bytes) -> Iterator[int]:
    """The numbers of a packed repeated field."""
    position = 0
    while position < len(raw):
        value, position = _varint(raw, position)
        yield value


def text_in(value: Value) -> str:
    try:
        return bytes_in(value).decode()
    except UnicodeDecodeError as error:
        raise malformed() from error


def bytes_in(value: Value) -> bytes:
    if isinstance(value, int):
        raise malformed()
    return value


def whole_in(value: Value) -> int:
    """A signed integer; a missing one is zero."""
    if value == b"":
        return 0
    if isinstance(value, bytes):
        raise malformed()
    return value - (1 << 64) if value >= 1 << 63 else value


def finite_in(value: Value) -> float:
    raw = bytes_in(value)
    if len(raw) != 8:
        raise malformed()
    (number,) = struct.unpack("<d", raw)
    if not math.isfinite(number):
        raise bad_request(f"a number in the body is {number}: it must be finite")
    return float(number)


def json_in(value: Value) -> object:
    """Types without a protobuf message of their own are JSON inside one."""
    raw = bytes_in(first(bytes_in(value), 1))
    if not raw:
        return None
    try:
        found = msgspec.json.decode(raw)
    except UNDECODABLE as error:
        raise malformed() from error
    check_depth(found)
    return found


def malformed() -> ApiError:
    return bad_request("the body of the request is not well-formed protobuf")


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    """At most 64 bits; higher ones are dropped."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(raw):
            break
        byte = raw[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
    raise malformed()


# --- objects --------------------------------------------------------------------------------------


PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EMPTY = ("", 0, False, None)


def from_protobuf(body: bytes) -> Json:
    if not body.startswith(_MAGIC):
        raise bad_request("the body of the request is not Kubernetes protobuf: it lacks the prefix k8s")
    envelope = dict(values(body[len(_MAGIC) :]))
    head = bytes_in(envelope.get(1, b""))
    api_version, kind = text_in(first(head, 1)), text_in(first(head, 2))
    thing = root(api_version, kind)
    if not (is_listed(thing) and numbers_of(thing.name)) or envelope.get(3):
        raise _refused(kind)
    found = _message(bytes_in(envelope.get(2, b"")), thing.name, fields_of(thing), DEEPEST)
    return {"apiVersion": api_version, "kind": kind, **found}


def _refused(kind: str) -> ApiError:
    message = (
        f"{PROTOBUF} is not supported for kind {kind or 'unknown'}; send JSON or YAML: "
        "kubectl create … --dry-run=client -o yaml | kubectl create -f -"
    )
    return ApiError(415, "UnsupportedMediaType", message)


def _message(raw: bytes, name: str, types: Mapping[str, Type], depth: int) -> Json:
    """``depth``: how many more levels may follow."""
    if not depth:
        raise bad_request(f"the body is nested deeper than {DEEPEST} levels")
    fields = numbers_of(name)
    found: Json = {}
    around: Json = {}
    for number, value in values(raw):
        field = fields.get(number)
        if field is None:
            continue
        if field.within:
            around |= _message(bytes_in(value), field.within, types, depth - 1)
        elif field.name in types:
            _put(found, field.name, types[field.name], value, depth)
    optional = {field.name for field in fields.values() if field.means_empty}
    return {n: value for n, value in found.items() if n in optional or not _is_empty(value)} | around


def _is_empty(value: object) -> bool:
    return value == {} if isinstance(value, dict) else not isinstance(value, list) and value in _EMPTY


def _put(found: Json, name: str, kind: Type, value: Value, depth: int) -> None:
    match kind:
        case ListOf(Plain("int32" | "int64")) if isinstance(value, bytes):
            found.setdefault(name, []).extend(whole_in(number) for number in packed(value))
        case ListOf(item):
            found.setdefault(name, []).append(_read(item, value, depth))
        case MapOf(below):
            entry = dict(values(bytes_in(value)))
            key = text_in(entry.get(1, b""))
            found.setdefault(name, {})[key] = _read(below, entry.get(2, b""), depth)
        case _:
            found[name] = _read(kind, value, depth)


def _read(kind: Type, value: Value, depth: int) -> object:
    match kind:
        case Object(name):
            return _message(bytes_in(value), name, fields_of(kind), depth - 1)
        case ListOf(item):
            # Within a mapping, a list is a message with a single repeated field.
            return [_read(item, one, depth) for number, one in values(bytes_in(value)) if number == 1]
        case MapOf():
            raise malformed()
        case Plain("jsonSchema"):
            return json_schema(bytes_in(value), depth - 1)
        case Plain(name):
            return _plain(name, value)


def _plain(name: str, value: Value) -> object:
    match name:
        case "int32" | "int64":
            return whole_in(value)
        case "boolean":
            return bool(whole_in(value))
        case "string":
            return text_in(value)
        case "bytes":
            return b64encode(bytes_in(value)).decode()
        case "quantity":
            return text_in(first(bytes_in(value), 1)) or "0"
        case "time" | "microTime":
            return _moment(bytes_in(value), micro=name == "microTime")
        case "intOrString":
            return _number_or_text(bytes_in(value))
        case "number":
            return finite_in(value)
        case _:
            return json_in(value)


def _moment(raw: bytes, *, micro: bool) -> str | None:
    """None for an empty message, which encodes no time."""
    if not raw:
        return None
    seconds, nanoseconds = whole_in(first(raw, 1)), whole_in(first(raw, 2))
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    except OverflowError as error:
        raise bad_request(
            f"a time in the body is {seconds} seconds from 1970: the year must be at most 9999"
        ) from error
    fraction = f".{moment.microsecond:06}" if micro else ""
    return f"{moment.replace(microsecond=0, tzinfo=None).isoformat()}{fraction}Z"


def _number_or_text(raw: bytes) -> int | str:
    is_text = whole_in(first(raw, 1)) == 1
    return text_in(first(raw, 3)) if is_text else whole_in(first(raw, 2))


# --- the JSON schemas of CustomResourceDefinitions ------------------------------------------------


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
    """A number as Go writes it in JSON: without a fraction if it is whole."""
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


# --- which field has which number -----------------------------------------------------------------


_NOTHING: Mapping[int, "Numbered"] = {}


@dataclass(frozen=True, slots=True)
class Numbered:
    """``means_empty``: whether an empty value has a meaning of its own; otherwise it counts as absent.

    ``within``: the message that holds further fields of the object around it; ``name`` is empty then.
    """

    name: str
    means_empty: bool = False
    within: str = ""


def numbers_of(name: str) -> Mapping[int, Numbered]:
    """The fields of a type by their numbers; none for a type that is not sent as protobuf."""
    return _messages().get(name, _NOTHING)


@cache
def _messages() -> Mapping[str, Mapping[int, Numbered]]:
    return {name.strip(): dict(_numbered(fields.split())) for name, _, fields in _entries()}


def _entries() -> Iterator[tuple[str, str, str]]:
    """One entry for each type, which may span several lines."""
    text = files("reprieve_minicluster.rest").joinpath("protobuf_numbers.txt").read_text()
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return (entry.partition(":") for entry in "\n".join(lines).replace("\n    ", " ").splitlines())


def _numbered(words: list[str]) -> Iterator[tuple[int, Numbered]]:
    number = 1
    for word in words:
        if word.isdigit():
            number = int(word)
            continue
        yield number, _field(word)
        number += 1


def _field(word: str) -> Numbered:
    if word.startswith("="):
        return Numbered("", within=word[1:])
    return Numbered(word.removesuffix("*"), means_empty=word.endswith("*"))
