"""Times in CEL: durations as Go writes them, moments with nanoseconds, and their parts in any time zone."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from reprieve.cluster.admission.cel_values import (
    NANOS,
    CelDuration,
    CelTimestamp,
    SenselessError,
    duration,
    timestamp,
)

_UNITS = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 1_000_000,
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3600 * NANOS,
}
_PIECE = re.compile(r"(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,30}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)


def duration_of(text: str) -> CelDuration:
    """As Go writes them: ``1h30m``, ``-1.5s``."""
    digits = text.lstrip("+-") if text[:1] in ("+", "-") and text[1:2] not in ("+", "-") else text
    nanos, position = Fraction(0), 0
    while position < len(digits):
        piece = _PIECE.match(digits, position)
        if piece is None:
            break
        nanos += Fraction(piece[1]) * _UNITS[piece[2]]
        position = piece.end()
    if digits != "0" and (not digits or position < len(digits)):
        raise SenselessError("the text is no duration such as 1h30m")
    return duration(int(nanos) * (-1 if text.startswith("-") else 1))


def timestamp_of(text: str) -> CelTimestamp:
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise SenselessError("the text is no time such as 2026-01-02T03:04:05Z")
    local, fraction, sign, hours, minutes = found.groups()
    try:
        seconds = int((datetime.fromisoformat(local + "+00:00") - _EPOCH) / timedelta(seconds=1))
    except ValueError as error:
        raise SenselessError(str(error)) from error
    if sign and (int(hours) > 24 or int(minutes) > 59):
        raise SenselessError("the offset from UTC is out of range")
    east = (int(hours) * 3600 + int(minutes) * 60) * (-1 if sign == "-" else 1) if sign else 0
    return timestamp((seconds - east) * NANOS + int((fraction or "0")[:9].ljust(9, "0")))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _fraction_text(nanos: int) -> str:
    digits = f"{nanos:09}".rstrip("0")
    return f".{digits}" if digits else ""


def duration_text(value: CelDuration) -> str:
    seconds, nanos = divmod(abs(value.nanos), NANOS)
    return f"{'-' if value.nanos < 0 else ''}{seconds}{_fraction_text(nanos)}s"


def timestamp_text(value: CelTimestamp) -> str:
    moment = _at(value, UTC)
    return f"{moment.replace(microsecond=0, tzinfo=None).isoformat()}{_fraction_text(value.nanos % NANOS)}Z"


def _at(value: CelTimestamp, zone: tzinfo) -> datetime:
    try:
        return (_EPOCH + timedelta(seconds=value.nanos // NANOS)).astimezone(zone)
    except OverflowError as error:
        raise SenselessError("timestamp overflow") from error


def _zone(text: str) -> tzinfo:
    hours, colon, minutes = text.partition(":")
    try:
        if not colon:
            return ZoneInfo(text or "UTC")
        if not re.fullmatch(r"[+-]?\d{1,2}", hours, re.ASCII) or not re.fullmatch(
            r"[0-5]\d", minutes, re.ASCII
        ):
            raise ValueError("it is no offset from UTC")
        east = abs(int(hours)) * 60 + int(minutes)
        return timezone(timedelta(minutes=-east if hours.startswith("-") else east))
    except (ValueError, KeyError, OSError) as error:
        raise SenselessError("the text is no time zone such as Europe/Paris or +01:00") from error


_MOMENT_PARTS: Mapping[str, Callable[[datetime], int]] = {
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getFullYear": lambda moment: moment.year,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getMonth": lambda moment: moment.month - 1,
    "getSeconds": lambda moment: moment.second,
}
_DURATION_PARTS = {"getHours": 3600, "getMinutes": 60, "getSeconds": 1}


def _part_of_moment(part: Callable[[datetime], int], value: CelTimestamp, zone: str = "") -> int:
    return part(_at(value, _zone(zone)))


def _milliseconds(value: CelTimestamp, zone: str = "") -> int:
    _zone(zone)
    return value.nanos % NANOS // 1_000_000


def _towards_zero(value: int, unit: int) -> int:
    return abs(value) // unit * (-1 if value < 0 else 1)


def _timestamp_of_seconds(seconds: int) -> CelTimestamp:
    return timestamp(seconds * NANOS)


TIMES: Mapping[str, Callable[..., Any]] = {
    "duration(duration)": lambda value: value,
    "duration(int)": duration,
    "duration(string)": duration_of,
    "timestamp(int)": _timestamp_of_seconds,
    "timestamp(string)": timestamp_of,
    "timestamp(timestamp)": lambda value: value,
    **{
        f"<timestamp>.{name}({zone})": partial(_part_of_moment, part)
        for name, part in _MOMENT_PARTS.items()
        for zone in ("", "string")
    },
    "<timestamp>.getMilliseconds()": _milliseconds,
    "<timestamp>.getMilliseconds(string)": _milliseconds,
    **{
        f"<duration>.{name}()": lambda value, unit=unit: _towards_zero(value.nanos, unit * NANOS)
        for name, unit in _DURATION_PARTS.items()
    },
    "<duration>.getMilliseconds()": lambda value: _towards_zero(value.nanos, 1_000_000),
}
