"""Which fields can an object have, at any depth, and of which type is each?

``findings`` checks an object against the list in ``schema.txt``, and ``pruned`` keeps the listed fields. The
list has marks beside the fields, for admission. This module must not know what follows from a finding, nor
what a value of the right type or a mark means.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from reprieve.cluster.api.decode_errors import described

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,}(Z|[+-]\d\d:\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Plain:
    """``expected`` is its name in a sentence."""

    name: str
    expected: str
    fits: Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class ListOf:
    item: "Type"


@dataclass(frozen=True, slots=True)
class MapOf:
    value: "Type"


@dataclass(frozen=True, slots=True)
class Object:
    """An object whose fields the list has under its name."""

    name: str


Type = Plain | ListOf | MapOf | Object


@dataclass(frozen=True, slots=True)
class Mark:
    """What must hold for the field at a path of an object; for the object itself if the path is empty.

    ``occasion``: "check", or when alone it must hold: "create", "change", "status".
    """

    occasion: str
    path: tuple[str, ...]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SchemaFinding:
    """An unknown field, or, if something was ``expected``, one of the wrong type."""

    path: str
    expected: str = ""
    got: str = ""


def _whole(bits: int) -> Callable[[object], bool]:
    limit = 1 << (bits - 1)
    return lambda value: type(value) is int and -limit <= value < limit


def _written(form: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and form.fullmatch(value) is not None


_PLAIN = {
    plain.name: plain
    for plain in (
        Plain("any", "anything", lambda value: True),
        Plain("boolean", "true or false", lambda value: isinstance(value, bool)),
        Plain("bytes", "a string", lambda value: isinstance(value, str)),
        Plain("int32", "an integer of 32 bits", _whole(32)),
        Plain("int64", "an integer of 64 bits", _whole(64)),
        Plain("intOrString", "an integer or a string", lambda v: isinstance(v, str) or _whole(32)(v)),
        Plain("jsonSchema", "anything", lambda value: True),
        Plain("microTime", "a time such as 2026-01-02T03:04:05.000000Z", _written(_MICRO_TIME)),
        Plain("number", "a number", lambda value: type(value) in (int, float)),
        Plain("quantity", "a quantity", lambda value: type(value) in (str, int, float)),
        Plain("string", "a string", lambda value: isinstance(value, str)),
        Plain("time", "a time such as 2026-01-02T03:04:05Z", _written(_TIME)),
    )
}


# --- the list --------------------------------------------------------------------------------------


@cache
def _listed() -> Mapping[str, tuple[str, ...]]:
    """The lines of every object, by its name."""
    text = files("reprieve.cluster.api").joinpath("schema.txt").read_text()
    whole = "\n".join(line for line in text.splitlines() if line and not line.startswith("#"))
    blocks = re.split(r"\n(?=\S)", whole.replace("\n    ", " "))
    return {name: tuple(lines) for name, *lines in (block.split("\n  ") for block in blocks)}


@cache
def _fields_of(name: str) -> Mapping[str, Type]:
    return dict(_fields(name))


def _fields(name: str) -> Iterator[tuple[str, Type]]:
    for line in _listed().get(name, ()):
        kind, _, names = line.partition(": ")
        if " " not in kind:
            yield from dict.fromkeys(names.split(), _type(kind)).items()


@cache
def marks_of(name: str) -> tuple[Mark, ...]:
    """The marks of an object's fields, in the order in which errors are reported."""
    return tuple(mark for line in _listed().get(name, ()) for mark in _marks(line))


def _marks(line: str) -> Iterator[Mark]:
    """``OCCASION FIELD…: STEP, STEP, …``. The comma may be in a sentence in parentheses."""
    head, _, steps = line.partition(": ")
    occasion, *paths = head.split()
    for path in paths:
        steps_of_it = tuple(re.split(r", (?![^(]*\))", steps))
        yield Mark(occasion, () if path == "self" else tuple(path.split(".")), steps_of_it)


def _type(text: str) -> Type:
    match text[0]:
        case "[":
            return ListOf(_type(text[1:-1]))
        case "{":
            return MapOf(_type(text[1:-1]))
    return _PLAIN.get(text) or Object(text)


def root(api_version: str, kind: str) -> Object:
    """The type of a kind as an API version spells it; one without fields if the kind is not listed."""
    spelled = f"{kind}@{api_version}"
    return Object(spelled if spelled in _listed() else kind)


def is_listed(thing: Object) -> bool:
    return thing.name in _listed()


def fields_of(thing: Object) -> Mapping[str, Type]:
    return _fields_of(thing.name)


# --- looking ---------------------------------------------------------------------------------------


def findings(api_version: str, kind: str, body: object) -> list[SchemaFinding]:
    """In the order of the body. A kind that is not listed has none."""
    thing = root(api_version, kind)
    found: list[SchemaFinding] = []
    if is_listed(thing):
        _look(thing, body, "", found)
    return found


def _look(expected: Type, value: object, path: str, found: list[SchemaFinding]) -> None:
    """Null counts as absent."""
    match expected:
        case _ if value is None:
            return
        case Plain():
            if not expected.fits(value):
                found.append(SchemaFinding(path, expected.expected, described(value)))
        case ListOf(item):
            if isinstance(value, list):
                for number, one in enumerate(value):
                    _look(item, one, f"{path}[{number}]", found)
            else:
                found.append(SchemaFinding(path, "a list", described(value)))
        case Object() | MapOf() if not isinstance(value, dict):
            found.append(SchemaFinding(path, "an object", described(value)))
        case MapOf(below):
            for name, one in value.items():
                _look(below, one, f"{path}.{name}", found)
        case Object():
            _look_into(fields_of(expected), value, f"{path}." if path else "", found)


def _look_into(
    fields: Mapping[str, Type], value: Mapping[str, object], prefix: str, found: list[SchemaFinding]
) -> None:
    for name, one in value.items():
        field = fields.get(name)
        if one is None or (isinstance(field, Plain) and field.fits(one)):
            continue
        if field is not None:
            _look(field, one, prefix + name, found)
        else:
            found.append(SchemaFinding(prefix + name))


# --- keeping what is known -------------------------------------------------------------------------


def known_fields_of(api_version: str, kind: str, body: Mapping[str, object]) -> dict[str, object]:
    """The object without unknown fields; all of it if its kind is not listed."""
    thing = root(api_version, kind)
    return _pruned_object(fields_of(thing), body) if is_listed(thing) else dict(body)


def _pruned_object(fields: Mapping[str, Type], body: Mapping[str, object]) -> dict[str, object]:
    return {name: _pruned(fields[name], one) for name, one in body.items() if name in fields}


def _pruned(expected: Type, value: object) -> object:
    match expected, value:
        case ListOf(item), list():
            return [_pruned(item, one) for one in value]
        case MapOf(below), dict():
            return {name: _pruned(below, one) for name, one in value.items()}
        case Object(), dict():
            return _pruned_object(fields_of(expected), value)
    return value
