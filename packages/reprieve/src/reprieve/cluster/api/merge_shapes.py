"""Which parts of an object can different field managers own: fields, items of lists, or only the whole?

A shape answers for a value and for what is below it. The shapes of the served kinds come from the list in
``merge_shapes.txt`` and the types of the schema.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from reprieve.cluster.api.schema import ListOf, MapOf, Object, Plain, Type, fields_of, is_listed, root

_WHOLE, _SET = "whole", "set"


@dataclass(frozen=True, slots=True)
class Atomic:
    """A value with one owner for all of it."""


@dataclass(frozen=True, slots=True, eq=False)
class GranularMap:
    """Each field has an owner of its own; ``below`` is the shape of one."""

    below: Callable[[str], "MergeShape"]


@dataclass(frozen=True, slots=True)
class KeyedList:
    """A list whose items are identified by the values of ``keys``, or by the defaults of those."""

    keys: tuple[tuple[str, str | None], ...]
    item: "MergeShape"


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A list of distinct plain values, each with an owner of its own."""


MergeShape = Atomic | GranularMap | KeyedList | ValueSet

ATOMIC, VALUE_SET = Atomic(), ValueSet()
# In unknown fields, mappings are granular and lists are atomic.
UNKNOWN: MergeShape = GranularMap(lambda name: UNKNOWN)


@cache
def shape_of(api_version: str, kind: str) -> MergeShape:
    thing = root(api_version, kind)
    return _of(thing, "") if is_listed(thing) else UNKNOWN


def _of(kind: Type, mark: str) -> MergeShape:
    match kind:
        case Plain():
            return ATOMIC
        case MapOf(value):
            below = _of(value, "")
            return ATOMIC if mark == _WHOLE else GranularMap(lambda name: below)
        case ListOf(item):
            return _of_list(item, mark)
        case Object(name):
            return ATOMIC if _marks().get(name) == _WHOLE else _of_object(name)


def _of_list(item: Type, mark: str) -> MergeShape:
    if not mark:
        return ATOMIC
    if mark == _SET:
        return VALUE_SET
    keys = (word.partition("=") for word in mark.split())
    return KeyedList(tuple((key, default or None) for key, _, default in keys), _of(item, ""))


@cache
def _of_object(name: str) -> MergeShape:
    @cache
    def below(field: str) -> MergeShape:
        kind = fields_of(Object(name)).get(field)
        return UNKNOWN if kind is None else _of(kind, _marks().get(f"{name}.{field}", ""))

    return GranularMap(below)


OBJECT_META = _of_object("ObjectMeta")


@cache
def _marks() -> Mapping[str, str]:
    """Types and fields whose shape differs from the usual one."""
    text = files("reprieve.cluster.api").joinpath("merge_shapes.txt").read_text()
    lines = "\n".join(line for line in text.splitlines() if line and not line.startswith("#"))
    entries = (entry.partition(": ") for entry in lines.replace("\n    ", " ").splitlines())
    return {name: mark for mark, _, names in entries for name in names.split()}
