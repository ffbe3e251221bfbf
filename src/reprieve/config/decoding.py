"""Decodes a document into a record, and finds every error with its path in one pass.

The record's type defines the keys, their types and their defaults. This module knows no key by name.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import inspect

from reprieve.model.objects import Record

INT32_MAX = 2**31 - 1
Positive = Annotated[int, msgspec.Meta(ge=1, le=INT32_MAX)]
NonNegative = Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]
Percentage = Annotated[int, msgspec.Meta(ge=0, le=100)]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]

R = TypeVar("R", bound=Record)


class ConfigError(Record, frozen=True):
    """One error in a configuration: its path, and what was expected there."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidConfigurationError(ValueError):
    """An invalid configuration, with all its errors."""

    def __init__(self, errors: Iterable[ConfigError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))


class Seconds(float):
    """A duration, written as in Go: 500ms, 15s, 1m30s, 0."""

    _UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "\u00b5s": 1e-6, "ns": 1e-9}

    @classmethod
    def parse(cls, text: str) -> "Seconds | None":
        seconds = cls.read(text)
        return seconds if seconds is not None and seconds <= INT32_MAX else None

    @classmethod
    def read(cls, text: str) -> "Seconds | None":
        """A duration of any length."""
        part = rf"(\d+\.?\d*|\.\d+)({'|'.join(sorted(cls._UNITS, key=len, reverse=True))})"
        if text != "0" and not re.fullmatch(f"({part})+", text):
            return None
        parts = re.findall(part, text)
        return cls(sum(float(amount) * cls._UNITS[unit] for amount, unit in parts))


def read(kind: type[R], document: object, path: str, errors: list[ConfigError]) -> R | None:
    """The record, with every error in the document added to ``errors``.

    A field with an error has its default in the record, so that one error does not hide those that rules
    between other fields find; see ``newly_wrong``. None if a required field has an error.
    """
    errors.extend(_misfits(inspect.type_info(kind), document, path))
    return sound(kind, document)


def sound(kind: type[R], document: object) -> R | None:
    """The record of those fields of a document that have no error. None if a required field has one."""
    kept = _sound(inspect.type_info(kind), document)
    return None if kept is _UNSOUND else msgspec.convert(_present(kept), kind, dec_hook=_custom)


def newly_wrong(found: Iterable[ConfigError], known: Sequence[ConfigError]) -> list[ConfigError]:
    """The errors of rules between fields, except where a known error lies at, in or around the same field.

    There the rule has seen a default in place of what the file says.
    """
    return [error for error in found if not any(_overlap(error.path, one.path) for one in known)]


_MISSPELT = 0.88


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint at the closest known name, for the end of a sentence; empty if none is close."""
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def misspelt(name: str, known: Iterable[str]) -> bool:
    """Whether it is so close to a known name that hardly another one is meant."""
    return bool(difflib.get_close_matches(name, sorted(known), n=1, cutoff=_MISSPELT))


def shown(value: object) -> str:
    """A value as it appears in the file, shortened if it is long."""
    match value:
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _custom(kind: type, value: object) -> object:
    assert kind is Seconds and isinstance(value, str)
    return Seconds.parse(value)


def _present(value: object) -> object:
    """The document without nulls: a null key is an absent key."""
    match value:
        case Mapping():
            return {str(k): _present(v) for k, v in value.items() if v is not None}
        case str():
            return value
        case Sequence():
            return [_present(item) for item in value]
    return value


def _misfits(kind: inspect.Type, value: object, path: str) -> Iterator[ConfigError]:
    match kind, value:
        case inspect.AnyType(), _:
            pass
        case inspect.UnionType(), _:
            yield from _misfits(_without_none(kind), value, path)
        case inspect.StructType(), Mapping():
            yield from _misfits_of_fields(kind, value, path)
        case inspect.DictType(), Mapping():
            for key, item in value.items():
                yield from _misfits(kind.value_type, item, _member(path, key))
        case inspect.VarTupleType(), Sequence() if not isinstance(value, str):
            for index, item in enumerate(value):
                yield from _misfits(kind.item_type, item, f"{path}[{index}]")
        case _ if not _is(kind, value):
            yield ConfigError(path=path, message=f"expected {_wanted(kind, value)}, got {shown(value)}")


def _misfits_of_fields(
    kind: inspect.StructType, value: Mapping[Any, object], path: str
) -> Iterator[ConfigError]:
    fields = {field.encode_name: field for field in kind.fields}
    for key, item in value.items():
        if key not in fields:
            message = f"unknown field{did_you_mean(str(key), fields)}"
            yield ConfigError(path=_member(path, key), message=message)
        elif item is not None:
            yield from _misfits(fields[key].type, item, _member(path, key))
    for key, field in fields.items():
        if field.required and value.get(key) is None:
            message = f"required: expected {_wanted(field.type)}"
            yield ConfigError(path=_member(path, key), message=message)


_UNSOUND = object()  # in place of a value that cannot be used


def _sound(kind: inspect.Type, value: object) -> object:
    """The part of a value that can be used; a list is used whole or not at all, because indices count."""
    match kind, value:
        case inspect.UnionType(), _:
            return _sound(_without_none(kind), value)
        case inspect.StructType(), Mapping():
            return _sound_fields(kind, value)
        case inspect.VarTupleType(), Sequence() if not isinstance(value, str):
            items = [_sound(kind.item_type, item) for item in value]
            return _UNSOUND if _UNSOUND in items else items
    return value if next(_misfits(kind, value, ""), None) is None else _UNSOUND


def _sound_fields(kind: inspect.StructType, value: Mapping[Any, object]) -> object:
    kept = {
        field.encode_name: item
        for field in kind.fields
        if (given := value.get(field.encode_name)) is not None
        and (item := _sound(field.type, given)) is not _UNSOUND
    }
    missing = any(field.required and field.encode_name not in kept for field in kind.fields)
    return _UNSOUND if missing else kept


def _overlap(path: str, other: str) -> bool:
    """Whether two paths name the same value, or one names a part of the other."""
    short, long = sorted((path, other), key=len)
    return not short or long == short or long.startswith((f"{short}.", f"{short}["))


def _member(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _without_none(kind: inspect.UnionType) -> inspect.Type:
    """The type in a union with None; configuration has no other unions."""
    (held,) = (t for t in kind.types if not isinstance(t, inspect.NoneType))
    return held


def _is(kind: inspect.Type, value: object) -> bool:
    """Whether a scalar is of a type."""
    match kind, value:
        case inspect.BoolType(), bool():
            return True
        case _, bool():
            return False  # in Python a bool is an int
        case inspect.IntType(), int():
            return _within(kind, value)
        case inspect.FloatType(), int() | float():
            return abs(value) <= INT32_MAX  # excludes inf and nan, too
        case inspect.StrType(), str():
            return len(value) >= (kind.min_length or 0)
        case inspect.LiteralType(), _:
            return value in kind.values
        case inspect.EnumType(), str():
            return value in [member.value for member in kind.cls]
        case inspect.CustomType(), str():
            return Seconds.parse(value) is not None
    return False


def _within(kind: inspect.IntType, value: int) -> bool:
    low, high = kind.ge, kind.le
    return (low is None or low <= value) and (high is None or value <= high)


def _wanted(kind: inspect.Type, value: object = None) -> str:
    """``value``: what is there instead. The largest number that is possible is named only if it is beyond."""
    match kind:
        case inspect.UnionType():
            return _wanted(_without_none(kind))
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return f"a whole number{_bounds(kind, value)}"
        case inspect.FloatType():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return f"a number from {-INT32_MAX} to {INT32_MAX}" if is_number else "a number"
        case inspect.StrType():
            return "a non-empty string" if kind.min_length else "a string"
        case inspect.LiteralType():
            return " or ".join(map(shown, kind.values))
        case inspect.EnumType():
            return f"one of {', '.join(str(member.value) for member in kind.cls)}"
        case inspect.CustomType():
            is_too_long = isinstance(value, str) and Seconds.read(value) is not None
            return f'a duration such as "15s"{f" of at most {INT32_MAX}s" if is_too_long else ""}'
        case inspect.VarTupleType():
            return "a list"
    return "a mapping"


def _bounds(kind: inspect.IntType, value: object) -> str:
    match kind.ge, kind.le:
        case None, None:
            return ""
        case low, int(high) if high == INT32_MAX:
            is_beyond = isinstance(value, int) and value > high
            return f" of at least {low}{f' and at most {high}' if is_beyond else ''}"
        case low, high:
            return f" from {low} to {high}"
