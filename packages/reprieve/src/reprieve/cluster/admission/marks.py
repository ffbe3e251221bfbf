"""Which marks of its fields does an object break: a field that is required, one of some words, at least 1?

The marks are in the schema, beside the fields, in the order in which errors are reported. What takes more
than a mark is a rule: a function that the schema names at its place among the marks. This module must not
know any kind of object.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.api import names
from reprieve.cluster.api.schema import ListOf, Mark, Object, Type, fields_of, marks_of
from reprieve.cluster.api.values import means_the_same, part
from reprieve.model.json import Json

# Takes the stored value, too, and returns whether the next step of the line is to be taken.
_Step = Callable[[At, object], bool]
_Rule = Callable[[At], None] | Callable[[At, Json], None]

R = TypeVar("R", bound=_Rule)

_SENTENCE = re.compile(r"(.*?)(?: \((.*)\))?")
_RULES: dict[str, _Rule] = {}
_FORMS: Mapping[str, names.TextForm] = {
    "a label": names.dns_label,
    "a subdomain": names.dns_subdomain,
    "a label key": names.label_key,
    "a label value": names.label_value,
    "a data key": names.data_key,
    "a path segment": names.path_segment,
    "a port name": names.port_name,
    "a variable name": names.variable_name,
    "a feature": names.declared_feature,
}


def rule(function: R) -> R:
    """A function that the schema names. On a change and for a status it takes the stored object, too."""
    _RULES[function.__name__] = function
    return function


def check_marks(at: At, name: str, occasion: str = "check", old: object = None) -> None:
    """Report what an object of the type breaks on this occasion."""
    for line in _lines(name, occasion):
        if line.skips_missing and part(at.value).get(line.path[0]) is None:
            continue
        there = at
        for field in line.path:
            there = there[field]
        before = part(old, *line.path[:-1]).get(line.path[-1]) if line.path and old is not None else old
        _take(line.steps, there, before)


def _take(steps: Sequence[_Step], at: At, old: object) -> None:
    for step in steps:
        if not step(at, old):
            return


# --- compiling -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """``skips_missing``: nothing can be wrong if the field is missing, as most fields of most objects are."""

    path: tuple[str, ...]
    steps: tuple[_Step, ...]
    skips_missing: bool


@cache
def _lines(name: str, occasion: str) -> tuple[_Line, ...]:
    return tuple(_line(mark, name) for mark in marks_of(name) if mark.occasion == occasion)


def _line(mark: Mark, name: str) -> _Line:
    steps = _steps(mark.steps, _type_at(Object(name), mark.path), mark.occasion)
    first, _, _ = mark.steps[0].partition(" ")
    matters = first in ("required", "into", "as", "exactly", "once", "fixed") or first in _RULES
    return _Line(mark.path, tuple(steps), bool(mark.path) and not matters)


def _type_at(kind: Type, path: Sequence[str]) -> Type:
    for field in path:
        assert isinstance(kind, Object)
        kind = fields_of(kind)[field]
    return kind


def _steps(texts: Sequence[str], kind: Type, occasion: str) -> list[_Step]:
    if not texts:
        return []
    first, *rest = texts
    if first == "each":
        assert isinstance(kind, ListOf)
        return [partial(_each, _steps(rest, kind.item, occasion))]
    return [_step(first, kind, occasion), *_steps(rest, kind, occasion)]


def _step(text: str, kind: Type, occasion: str) -> _Step:
    if text in _RULES:
        return _ruled(_RULES[text], occasion)
    if text in _PLAIN:
        return _PLAIN[text]
    found = _SENTENCE.fullmatch(text)
    assert found is not None
    match found[1].split():
        case ["required"]:
            return _required(found[2] or "must be given")
        case ["absent"]:
            return _absent(found[2])
        case ["fixed", *but]:
            return _fixed(found[2] or "the field is immutable", but_for_emptiness=bool(but))
        case ["below" | "into" as how]:
            assert isinstance(kind, Object)
            return _below(kind.name, occasion, absent=how == "into")
        case ["as", name]:
            return _below(name, occasion, absent=True)
        case ["one", "of", *words]:
            return _of_each(lambda at: at.one_of(words))
        case ["exactly", "one", "of", *fields]:
            return _of_each(lambda at: check_one_of(at, fields))
        case ["at" | "from", *words]:
            return _of_each(_limit(words))
    form = _FORMS[text]
    return _of_each(lambda at: at.must_be(form))


def _limit(words: Sequence[str]) -> Callable[[At], object]:
    match words:
        case ["least", number]:
            return lambda at: at.at_least(int(number))
        case [least, "to", most]:
            return lambda at: at.within(int(least), int(most))
        case ["most", number, "items"]:
            return lambda at: at.at_most_items(int(number))
        case ["most", number, "characters"]:
            return lambda at: _check_length(at, int(number))
    raise ValueError(f"no limit of a field: {' '.join(words)}")


# --- steps -----------------------------------------------------------------------------------------


def _of_each(look: Callable[[At], object]) -> _Step:
    """A step after which the line goes on, whatever it reports."""

    def step(at: At, old: object) -> bool:
        look(at)
        return True

    return step


def _ruled(function: Callable[..., None], occasion: str) -> _Step:
    with_old = occasion in ("change", "status")

    def step(at: At, old: object) -> bool:
        function(at, old) if with_old else function(at)
        return True

    return step


def _required(sentence: str) -> _Step:
    return lambda at, old: at.require(sentence)


def _absent(sentence: str) -> _Step:
    def step(at: At, old: object) -> bool:
        if not at.empty:
            at.forbid(sentence)
        return at.empty

    return step


def _fixed(sentence: str, *, but_for_emptiness: bool) -> _Step:
    def step(at: At, old: object) -> bool:
        is_same = (
            means_the_same(at.value or None, old or None)
            if but_for_emptiness
            else means_the_same(at.value, old)
        )
        if not is_same:
            at.invalid(sentence)
        return True

    return step


def _below(name: str, occasion: str, *, absent: bool) -> _Step:
    """The marks of the field's own type. ``absent``: even if it is not given, as if it were empty."""
    inner = "check" if occasion in ("create", "status") else occasion

    def step(at: At, old: object) -> bool:
        if not absent and not at.is_object():
            return False
        check_marks(at, name, inner, old)
        return True

    return step


def _each(steps: Sequence[_Step], at: At, old: object) -> bool:
    for item in at.items():
        _take(steps, item, None)
    return True


def _check_once(at: At) -> None:
    """No other item of the list may have this value, or be this value."""
    items, _, field = at.path.rpartition("[")
    at.once((items, field.partition("]")[2]), at.text())


def check_one_of(union: At, members: Sequence[str]) -> None:
    given = [name for name in members if union[name].given]
    for name in given:
        union[name].is_object()
    if len(given) != 1:
        union.invalid(
            f"must have exactly one of {' and '.join(members)}, got {' and '.join(given) or 'none'}"
        )


def _check_length(at: At, most: int) -> None:
    if len(at.text()) > most:
        at.refuse(ErrorType.TOO_LONG, f"must be no longer than {most} characters")


_PLAIN: Mapping[str, _Step] = {
    "if given": lambda at, old: not at.empty,
    "text": _of_each(At.is_text),
    "number": _of_each(At.is_integer),
    "flag": _of_each(At.flag),
    "quantity": _of_each(At.amount),
    "once": _of_each(_check_once),
}
