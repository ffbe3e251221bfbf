"""Decoding of protobuf bodies, as kubectl create sends them, into JSON values.

Types come from the schema and field numbers from the list beside it, so every kind that has both can be
decoded. Nothing is validated here, and responses are never in protobuf.
"""

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from reprieve.cluster.api.protobuf_numbers import numbers_of
from reprieve.cluster.api.schema import ListOf, MapOf, Object, Plain, Type, fields_of, is_listed, root
from reprieve.cluster.mini.errors import ApiError, bad_request
from reprieve.cluster.mini.rest.nesting_limit import DEEPEST
from reprieve.cluster.mini.rest.protobuf_json_schemas import json_schema
from reprieve.cluster.mini.rest.protobuf_wire import (
    Value,
    bytes_in,
    finite_in,
    first,
    json_in,
    malformed,
    packed,
    text_in,
    values,
    whole_in,
)
from reprieve.model.json import Json

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
