"""Protobuf bodies, of the two kinds that kubectl sends in no other way: evictions and how to delete.

Every other kind can be sent as JSON or YAML, and is refused here with a sentence that says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reprieve.cluster.mini.errors import ApiError, bad_request
from reprieve.cluster.mini.kinds import Json

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"


@dataclass(frozen=True, slots=True)
class Field:
    """``kind``: text, integer, flag, or the message that it holds."""

    name: str
    kind: "str | Mapping[int, Field]"
    repeated: bool = False


Message = Mapping[int, Field]

_PRECONDITIONS: Message = {1: Field("uid", "text"), 2: Field("resourceVersion", "text")}
_DELETE_OPTIONS: Message = {
    1: Field("gracePeriodSeconds", "integer"),
    2: Field("preconditions", _PRECONDITIONS),
    3: Field("orphanDependents", "flag"),
    4: Field("propagationPolicy", "text"),
    5: Field("dryRun", "text", repeated=True),
}
_METADATA: Message = {1: Field("name", "text"), 3: Field("namespace", "text")}
_EVICTION: Message = {1: Field("metadata", _METADATA), 2: Field("deleteOptions", _DELETE_OPTIONS)}
_TYPE: Message = {1: Field("apiVersion", "text"), 2: Field("kind", "text")}
_MESSAGES = {"Eviction": _EVICTION, "DeleteOptions": _DELETE_OPTIONS}


def from_protobuf(body: bytes) -> Json:
    if not body.startswith(_MAGIC):
        raise bad_request("the body of the request does not begin as protobuf of Kubernetes does")
    envelope = dict(_values(body[len(_MAGIC) :]))
    header = _message(_expect_bytes(envelope.get(1, b"")), _TYPE)
    kind = str(header.get("kind", ""))
    if kind not in _MESSAGES:
        raise _refused(kind)
    return {**header, **_message(_expect_bytes(envelope.get(2, b"")), _MESSAGES[kind])}


def _refused(kind: str) -> ApiError:
    message = (
        f"a body of kind {kind or 'unknown'} in {PROTOBUF} cannot be read here; send JSON or YAML: "
        "kubectl create … --dry-run=client -o yaml | kubectl create -f -"
    )
    return ApiError(415, "UnsupportedMediaType", message)


def _message(raw: bytes, fields: Message) -> Json:
    found: Json = {}
    for number, value in _values(raw):
        field = fields.get(number)
        if field is None:
            continue
        read = _read(field, value)
        if field.repeated:
            found.setdefault(field.name, []).append(read)
        else:
            found[field.name] = read
    return found


def _read(field: Field, value: int | bytes) -> object:
    match field.kind:
        case "integer":
            return _signed(_expect_number(value))
        case "flag":
            return bool(_expect_number(value))
        case str():
            try:
                return _expect_bytes(value).decode()
            except UnicodeDecodeError as error:
                raise _malformed() from error
        case fields:
            return _message(_expect_bytes(value), fields)


def _values(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numbers of the fields and what they hold, as far as the wire tells."""
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
                raise _malformed()
        if position + size > len(raw):
            raise _malformed()
        yield tag >> 3, raw[position : position + size]
        position += size


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(raw):
            break
        byte = raw[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise _malformed()


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _expect_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _malformed()
    return value


def _expect_number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise _malformed()
    return value


def _malformed() -> ApiError:
    return bad_request("the body of the request is not well-formed protobuf")
