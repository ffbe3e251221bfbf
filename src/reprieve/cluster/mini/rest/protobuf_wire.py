"""The protobuf wire format: varints, strings and messages. Malformed input is a 400."""

import math
import struct
from collections.abc import Iterator

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.mini.errors import ApiError, bad_request
from reprieve.cluster.mini.rest.nesting_limit import check_depth

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
