"""Decodes a document into a record, and finds every error with its path in one pass.

The record's type defines the keys, their types and their defaults. This module knows no key by name.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import inspect

from reprieve.model.objects import Record

INT32_MAX = 2**31 - 1
Positive = Annotated[int, msgspec.Meta(ge=1, le=INT32_MAX)]
NonNegative = Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]
Percentage = Annotated[int, msgspec.Meta(ge=0, le=100)]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
_NAMES = "names"

R = TypeVar("R", bound=Record)


def one_of(names: Iterable[str]) -> msgspec.Meta:
    """Mark a string that must be a name in a registry."""
    return msgspec.Meta(extra={_NAMES: tuple(names)})


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


def read_record(kind: type[R], document: object, path: str, errors: list[ConfigError]) -> R | None:
    """The record, with every error in the document added to ``errors``.

    A field with an error has its default in the record, so that one error does not hide those that rules
    between other fields find; see ``newly_wrong``. None if a required field has an error.
    """
    kept = _checked(inspect.type_info(kind), document, path, errors)
    return None if kept is _UNSOUND else msgspec.convert(_present(kept), kind, dec_hook=_custom)


def new_errors(found: Iterable[ConfigError], known: Sequence[ConfigError]) -> list[ConfigError]:
    """The errors of rules between fields, except where a known error lies at, in or around the same field.

    There the rule has seen a default in place of what the file says.
    """
    return [error for error in found if not any(_overlap(error.path, one.path) for one in known)]


_MISSPELT = 0.88


def spelling_hint(name: str, known: Iterable[str]) -> str:
    """A hint at the closest known name, for the end of a sentence; empty if none is close."""
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def is_misspelt(name: str, known: Iterable[str]) -> bool:
    """Whether it is so close to a known name that hardly another one is meant."""
    return bool(difflib.get_close_matches(name, sorted(known), n=1, cutoff=_MISSPELT))


def value_text(value: object) -> str:
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


_UNSOUND = object()  # in place of a value that cannot be used


def _checked(kind: inspect.Type, value: object, path: str, errors: list[ConfigError]) -> object:
    """The part of a value that can be used; a list is used whole or not at all, because indices count."""
    match kind, value:
        case inspect.UnionType(), _:
            return _checked(_without_none(kind), value, path, errors)
        case inspect.StructType(), Mapping():
            return _checked_fields(kind, value, path, errors)
        case inspect.DictType(), Mapping():
            part = {k: _checked(kind.value_type, v, _member(path, k), errors) for k, v in value.items()}
            return _UNSOUND if _UNSOUND in part.values() else part
        case inspect.VarTupleType(), Sequence() if not isinstance(value, str):
            items = [_checked(kind.item_type, v, f"{path}[{i}]", errors) for i, v in enumerate(value)]
            return _UNSOUND if _UNSOUND in items else items
        case _ if isinstance(kind, inspect.AnyType) or _is(kind, value):
            return value
    errors.append(ConfigError(path=path, message=f"expected {_wanted(kind, value)}, got {value_text(value)}"))
    return _UNSOUND


def _checked_fields(
    kind: inspect.StructType, value: Mapping[Any, object], path: str, errors: list[ConfigError]
) -> object:
    fields = {field.encode_name: field for field in kind.fields}
    kept: dict[str, object] = {}
    for key, item in value.items():
        if key not in fields:
            message = f"unknown field{spelling_hint(str(key), fields)}"
            errors.append(ConfigError(path=_member(path, key), message=message))
        elif item is not None:
            part = _checked(fields[key].type, item, _member(path, key), errors)
            kept |= {key: part} if part is not _UNSOUND else {}
    required = [field for key, field in fields.items() if field.required]
    for field in required:
        if value.get(field.encode_name) is None:
            message = f"required: expected {_wanted(field.type)}"
            errors.append(ConfigError(path=_member(path, field.encode_name), message=message))
    return kept if all(field.encode_name in kept for field in required) else _UNSOUND


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
        case inspect.Metadata(), str():
            return value in _names_in(kind)
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
            return " or ".join(map(value_text, kind.values))
        case inspect.Metadata():
            return f"one of {', '.join(_names_in(kind))}"
        case inspect.EnumType():
            return f"one of {', '.join(str(member.value) for member in kind.cls)}"
        case inspect.CustomType():
            is_too_long = isinstance(value, str) and Seconds.read(value) is not None
            return f'a duration such as "15s"{f" of at most {INT32_MAX}s" if is_too_long else ""}'
        case inspect.VarTupleType():
            return "a list"
    return "a mapping"


def _names_in(kind: inspect.Metadata) -> tuple[str, ...]:
    """The only metadata that the types of keys have."""
    names: tuple[str, ...] = (kind.extra or {})[_NAMES]
    return names


def _bounds(kind: inspect.IntType, value: object) -> str:
    match kind.ge, kind.le:
        case None, None:
            return ""
        case low, int(high) if high == INT32_MAX:
            is_beyond = isinstance(value, int) and value > high
            return f" of at least {low}{f' and at most {high}' if is_beyond else ''}"
        case low, high:
            return f" from {low} to {high}"
