"""Which functions does CEL have in Kubernetes? One table: an entry is a signature and what it computes.

``<string>.contains(string)`` is called as ``text.contains(other)``, ``ip.isCanonical(string)`` as it stands.
A name may have several entries, for values of different types. Who needs more functions adds a table.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, partial
from itertools import pairwise
from typing import Any

from reprieve.cluster.admission.cel_formats import KUBERNETES
from reprieve.cluster.admission.cel_texts import CONVERSIONS, PAYING_TEXTS, TEXTS
from reprieve.cluster.admission.cel_times import TIMES
from reprieve.cluster.admission.cel_values import (
    NONE,
    TYPES,
    CelDuration,
    Optional,
    SenselessError,
    Spending,
    added,
    equal,
    less,
    steps_of,
    type_name,
)


@dataclass(frozen=True, slots=True)
class Overload:
    """``kinds``: of the arguments, the receiver first; None for any.

    ``pays``: it is given the spending before its arguments, and pays for its work. For all others, going once
    through arguments and result is paid.
    """

    kinds: tuple[tuple[type, ...] | None, ...]
    compute: Callable[..., Any]
    pays: bool

    def takes(self, arguments: Sequence[Any]) -> bool:
        return all(
            kinds is None or type(value) in kinds for kinds, value in zip(self.kinds, arguments, strict=True)
        )


# By name, whether there is a receiver, and the number of arguments with it.
Functions = Mapping[tuple[str, bool, int], tuple[Overload, ...]]

_SHORT = {
    "cidr": "net.CIDR",
    "duration": "google.protobuf.Duration",
    "format": "kubernetes.NamedFormat",
    "ip": "net.IP",
    "null": "null_type",
    "optional": "optional_type",
    "quantity": "kubernetes.Quantity",
    "semver": "kubernetes.Semver",
    "timestamp": "google.protobuf.Timestamp",
    "url": "kubernetes.URL",
}
_SIGNATURE = re.compile(r"(?:<(?P<receiver>\w+)>\.)?(?P<name>[\w.]+)\((?P<arguments>[\w, ]*)\)")


def functions(
    entries: Mapping[str, Callable[..., Any]], paying: Mapping[str, Callable[..., Any]] | None = None
) -> Functions:
    """The table of these signatures. ``paying``: those that are given the spending."""
    found: dict[tuple[str, bool, int], tuple[Overload, ...]] = {}
    for pays, table in ((False, entries), (True, paying or {})):
        for signature, compute in table.items():
            parts = _SIGNATURE.fullmatch(signature)
            assert parts is not None, signature
            names = [name.strip() for name in (parts["receiver"] or "", *parts["arguments"].split(","))]
            kinds = tuple(None if name == "dyn" else TYPES[_SHORT.get(name, name)] for name in names if name)
            key = (parts["name"], parts["receiver"] is not None, len(kinds))
            found[key] = (*found.get(key, ()), Overload(kinds, compute, pays))
    return found


def merged(*tables: Functions) -> Functions:
    found: dict[tuple[str, bool, int], tuple[Overload, ...]] = {}
    for table in tables:
        for key, overloads in table.items():
            found[key] = (*found.get(key, ()), *overloads)
    return found


def call(name: str, overloads: Sequence[Overload], arguments: Sequence[Any], spending: Spending) -> Any:
    found = next((overload for overload in overloads if overload.takes(arguments)), None)
    if found is None:
        kinds = ", ".join(map(type_name, arguments)) or "nothing"
        raise SenselessError(f"there is no function {name} for {kinds}")
    try:
        return _computed(found, arguments, spending)
    except (ArithmeticError, ValueError) as error:  # a JSON number may exceed every type of CEL
        raise SenselessError(str(error)) from error


def _computed(overload: Overload, arguments: Sequence[Any], spending: Spending) -> Any:
    spending.budget.spend()
    if overload.pays:
        return overload.compute(spending, *arguments)
    spending.budget.spend(sum(map(steps_of, arguments)))
    value = overload.compute(*arguments)
    spending.budget.spend(steps_of(value))
    return value


# --- lists -----------------------------------------------------------------------------------------


def _size(_: Spending, value: Any) -> int:
    return len(value)


def _position(spending: Spending, many: list[Any], one: Any) -> int:
    return next((at for at, other in enumerate(many) if equal(other, one, spending.budget)), -1)


def _last_position(spending: Spending, many: list[Any], one: Any) -> int:
    found = _position(spending, many[::-1], one)
    return len(many) - 1 - found if found >= 0 else -1


def _includes(spending: Spending, many: Any, one: Any) -> bool:
    return _position(spending, many if isinstance(many, list) else [many], one) >= 0


def _is_sorted(spending: Spending, many: list[Any]) -> bool:
    return not any(less(two, one, spending.budget) for one, two in pairwise(many))


def _most(spending: Spending, many: list[Any], *, least: bool = False) -> Any:
    if not many:
        raise SenselessError("the list is empty")
    found = many[0]
    for one in many[1:]:
        if less(one, found, spending.budget) if least else less(found, one, spending.budget):
            found = one
    return found


def _total(spending: Spending, many: list[Any]) -> Any:
    if not many:
        return 0
    found = many[0]
    for one in many[1:]:
        found = added(found, one, spending.budget)
    if type_name(found) not in ("int", "uint", "double", "google.protobuf.Duration"):
        raise SenselessError("only numbers and durations have a sum")
    return found


def sorted_by(spending: Spending, many: list[Any], keys: list[Any]) -> list[Any]:
    if len({type(key) for key in keys}) > 1:
        raise SenselessError("only values of one type can be sorted")

    def compare(one: int, other: int) -> int:
        if less(keys[one], keys[other], spending.budget):
            return -1
        return int(less(keys[other], keys[one], spending.budget))

    return [many[at] for at in sorted(range(len(many)), key=cmp_to_key(compare))]


def _slice(many: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(many):
        raise SenselessError(f"there is no part from {start} to {end} in a list of {len(many)}")
    return many[start:end]


def _flattened(spending: Spending, many: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise SenselessError("the depth must not be negative")
    found = many
    for _ in range(depth):
        if not any(isinstance(one, list) for one in found):
            break
        spending.budget.spend(sum(map(steps_of, found)))
        found = [part for one in found for part in (one if isinstance(one, list) else [one])]
    return found


def _distinct(spending: Spending, many: list[Any]) -> list[Any]:
    found: list[Any] = []
    for one in many:
        if _position(spending, found, one) < 0:
            found.append(one)
    return found


def _range(spending: Spending, count: int) -> list[int]:
    spending.budget.spend(max(count, 0))
    return list(range(count))


def _has_all(spending: Spending, many: list[Any], wanted: list[Any]) -> bool:
    return all(_position(spending, many, one) >= 0 for one in wanted)


def _are_equivalent(spending: Spending, one: list[Any], other: list[Any]) -> bool:
    return _has_all(spending, one, other) and _has_all(spending, other, one)


def _intersect(spending: Spending, one: list[Any], other: list[Any]) -> bool:
    return any(_position(spending, other, item) >= 0 for item in one)


_LISTS: Mapping[str, Callable[..., Any]] = {
    "<list>.first()": lambda many: Optional(tuple(many[:1])),
    "<list>.last()": lambda many: Optional(tuple(many[-1:])),
    "<list>.reverse()": lambda many: many[::-1],
    "<list>.slice(int, int)": _slice,
}
_PAYING_LISTS: Mapping[str, Callable[..., Any]] = {
    **{
        signature: _size
        for kind in ("string", "bytes", "list", "map")
        for signature in (f"size({kind})", f"<{kind}>.size()")
    },
    "<dyn>.includes(dyn)": _includes,
    "<list>.distinct()": _distinct,
    "<list>.flatten()": _flattened,
    "<list>.flatten(int)": _flattened,
    "<list>.indexOf(dyn)": _position,
    "<list>.isSorted()": _is_sorted,
    "<list>.lastIndexOf(dyn)": _last_position,
    "<list>.max()": _most,
    "<list>.min()": partial(_most, least=True),
    "<list>.sort()": lambda spending, many: sorted_by(spending, many, many),
    "<list>.sum()": _total,
    "lists.range(int)": _range,
    "sets.contains(list, list)": _has_all,
    "sets.equivalent(list, list)": _are_equivalent,
    "sets.intersects(list, list)": _intersect,
}


# --- optional values -------------------------------------------------------------------------------


def _value(of: Optional) -> Any:
    if not of.held:
        raise SenselessError("the optional value is none")
    return of.held[0]


def _is_zero(value: Any) -> bool:
    return value in (None, False, 0, 0.0, "", b"", [], {}, CelDuration(0), NONE)


def _unwrapped(many: list[Any]) -> list[Any]:
    if not all(isinstance(one, Optional) for one in many):
        raise SenselessError("only optional values can be unwrapped")
    return [one.held[0] for one in many if one.held]


_OPTIONALS: Mapping[str, Callable[..., Any]] = {
    "<list>.unwrapOpt()": _unwrapped,
    "<optional>.hasValue()": lambda of: bool(of.held),
    "<optional>.value()": _value,
    "optional.none()": lambda: NONE,
    "optional.of(dyn)": lambda value: Optional((value,)),
    "optional.ofNonZeroValue(dyn)": lambda value: NONE if _is_zero(value) else Optional((value,)),
    "optional.unwrap(list)": _unwrapped,
}


STANDARD = functions(
    {**CONVERSIONS, **TIMES, **TEXTS, **_LISTS, **_OPTIONALS, **KUBERNETES}, {**PAYING_TEXTS, **_PAYING_LISTS}
)
