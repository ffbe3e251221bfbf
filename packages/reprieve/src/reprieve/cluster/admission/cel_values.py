"""What are the values of CEL, what do its operators make of them, and what may that cost?

JSON stands for itself; the other types have a class here. Each function pays its steps from a budget before
it does the work, so that large values cost more than small ones. Steps and not seconds: the same request gets
the same answer on every machine, however busy it is.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from math import copysign, inf, isnan
from typing import Any

import re2  # type: ignore[import-untyped]

LARGEST_INTEGER = 2**63 - 1
LARGEST_UNSIGNED = 2**64 - 1
NANOS = 1_000_000_000  # in a second
_CHARS_PER_STEP = 10  # of a text that is read or copied, as in kube-apiserver
_SHOWN = 40  # of a key, in a sentence


class SenselessError(Exception):
    """A rule that cannot be evaluated for the values it was given."""


class CostError(Exception):
    """A budget is spent; the text says which one."""


@dataclass(slots=True)
class CostBudget:
    """``what``: what costs too much when the budget is spent, as the subject of a sentence."""

    limit: int
    what: str
    spent: int = 0

    def spend(self, steps: int = 1) -> None:
        self.spent += steps
        if self.spent > self.limit:
            raise CostError(f"{self.what} exceeds the cost budget of {self.limit} steps")


# --- types -----------------------------------------------------------------------------------------


class Uint(int):
    """An unsigned integer of 64 bits."""


@dataclass(frozen=True, slots=True, order=True)
class CelDuration:
    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class CelTimestamp:
    """``nanos``: since 1970."""

    nanos: int


@dataclass(frozen=True, slots=True)
class CelType:
    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """``held``: nothing, or one value."""

    held: tuple[Any, ...] = ()


NONE = Optional()


@dataclass(frozen=True, slots=True)
class Url:
    """``path`` is unescaped; ``raw_path`` is what the text said."""

    scheme: str
    host: str
    path: str
    raw_path: str
    query: str


@dataclass(frozen=True, slots=True, order=True)
class CelQuantity:
    """``is_capped``: it was too large for 64 bits."""

    amount: Fraction
    is_capped: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Semver:
    """``before``: the identifiers of a pre-release; empty for a release."""

    major: int
    minor: int
    patch: int
    before: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedFormat:
    name: str


TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "bytes": (bytes,),
    "double": (float,),
    "google.protobuf.Duration": (CelDuration,),
    "google.protobuf.Timestamp": (CelTimestamp,),
    "int": (int,),
    "kubernetes.NamedFormat": (NamedFormat,),
    "kubernetes.Quantity": (CelQuantity,),
    "kubernetes.Semver": (Semver,),
    "kubernetes.URL": (Url,),
    "list": (list,),
    "map": (dict,),
    "net.CIDR": (IPv4Interface, IPv6Interface),
    "net.IP": (IPv4Address, IPv6Address),
    "null_type": (type(None),),
    "optional_type": (Optional,),
    "string": (str,),
    "type": (CelType,),
    "uint": (Uint,),
}
_NAMES = {kind: name for name, kinds in TYPES.items() for kind in kinds}
_NUMBERS = (int, Uint, float)
_ORDERED = (str, bytes, bool, CelDuration, CelTimestamp)


def type_name(value: Any) -> str:
    return _NAMES.get(type(value), type(value).__name__)


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SenselessError(f"true or false was expected, not a value of type {type_name(value)}")
    return value


def text_steps(*values: str | bytes) -> int:
    return 1 + sum(map(len, values)) // _CHARS_PER_STEP


def steps_of(value: Any) -> int:
    """What it costs to go through a value once; what is inside its items is not counted."""
    match value:
        case str() | bytes():
            return text_steps(value)
        case list() | dict():
            return 1 + len(value)
    return 1


Operation = Callable[[Any, Any, CostBudget], Any]


# --- comparing -------------------------------------------------------------------------------------


def equal(one: Any, other: Any, budget: CostBudget) -> bool:
    budget.spend()
    match one, other:
        case dict(), dict():
            budget.spend(len(one))
            return one.keys() == other.keys() and all(equal(one[k], other[k], budget) for k in one)
        case list(), list():
            return len(one) == len(other) and all(
                equal(x, y, budget) for x, y in zip(one, other, strict=True)
            )
        case Optional(held), Optional(other_held):
            return equal(list(held), list(other_held), budget)
        case str() | bytes(), str() | bytes():
            budget.spend(text_steps(one))
    alike = type(one) is type(other) or (type(one) in _NUMBERS and type(other) in _NUMBERS)
    return alike and bool(one == other)


def unequal(one: Any, other: Any, budget: CostBudget) -> bool:
    return not equal(one, other, budget)


def ordered(compare: Callable[[Any, Any], bool]) -> Operation:
    def compared(one: Any, other: Any, budget: CostBudget) -> bool:
        budget.spend(steps_of(one))
        numbers = type(one) in _NUMBERS and type(other) in _NUMBERS
        if not numbers and (type(one) is not type(other) or type(one) not in _ORDERED):
            raise SenselessError(f"{type_name(one)} and {type_name(other)} cannot be compared")
        return compare(one, other)

    return compared


less = ordered(operator.lt)


# --- calculating -----------------------------------------------------------------------------------


def int64(value: int) -> int:
    """An integer of 64 bits."""
    if not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
        raise SenselessError("integer overflow")
    return value


def uint64(value: int) -> Uint:
    if not 0 <= value <= LARGEST_UNSIGNED:
        raise SenselessError("unsigned integer overflow")
    return Uint(value)


# The years that a timestamp can have; durations are signed integers of 64 bits.
_FIRST, _LAST = -62_135_596_800 * NANOS, 253_402_300_800 * NANOS


def timestamp(nanos: int) -> CelTimestamp:
    if not _FIRST <= nanos < _LAST:
        raise SenselessError("timestamp overflow")
    return CelTimestamp(nanos)


def duration(nanos: int) -> CelDuration:
    if not -LARGEST_INTEGER - 1 <= nanos <= LARGEST_INTEGER:
        raise SenselessError("duration overflow")
    return CelDuration(nanos)


def added(one: Any, other: Any, budget: CostBudget) -> Any:
    match one, other:
        case (str(), str()) | (bytes(), bytes()) | (list(), list()):
            budget.spend(steps_of(one) + steps_of(other))
            return one + other
        case (CelTimestamp(moment), CelDuration(nanos)) | (CelDuration(nanos), CelTimestamp(moment)):
            return timestamp(moment + nanos)
        case CelDuration(first), CelDuration(second):
            return duration(first + second)
    return _sum(one, other, budget)


def subtracted(one: Any, other: Any, budget: CostBudget) -> Any:
    match one, other:
        case CelTimestamp(moment), CelDuration(nanos):
            return timestamp(moment - nanos)
        case (CelTimestamp(first), CelTimestamp(second)) | (CelDuration(first), CelDuration(second)):
            return duration(first - second)
    return _difference(one, other, budget)


def calculated(calculate: Callable[[Any, Any], Any]) -> Operation:
    def result(one: Any, other: Any, budget: CostBudget) -> Any:
        budget.spend()
        if type(one) is not type(other) or type(one) not in _NUMBERS:
            raise SenselessError(f"there is no such operation on {type_name(one)} and {type_name(other)}")
        try:
            found = calculate(one, other)
        except (ZeroDivisionError, OverflowError) as error:
            raise SenselessError(str(error)) from error
        if type(one) is float:
            return found
        return uint64(found) if type(one) is Uint else int64(found)

    return result


_sum, _difference = calculated(operator.add), calculated(operator.sub)


def divided(one: float, other: float) -> float:
    if isinstance(one, float):
        if other or not one or isnan(one):
            return one / other if other else float("nan")
        return copysign(inf, one) * copysign(1.0, other)
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def remainder(one: float, other: float) -> float:
    if isinstance(one, float):
        raise SenselessError("there is no remainder of doubles")
    return one - other * divided(one, other)


def negated(value: Any, budget: CostBudget) -> Any:
    budget.spend()
    if type(value) is float:
        return -value
    if type(value) is CelDuration:
        return duration(-value.nanos)
    if type(value) is not int:
        raise SenselessError(f"a value of type {type_name(value)} has no negative")
    return int64(-value)


# --- containers ------------------------------------------------------------------------------------


def map_key(value: Any) -> Any:
    """How a map is keyed by a value: booleans would otherwise equal numbers."""
    match value:
        case bool():
            return (value,)
        case str() | int():
            return value
        case float() if value.is_integer():
            return int(value)
    raise SenselessError(f"a value of type {type_name(value)} is no key of a map")


def value_of_key(key: Any) -> Any:
    return key[0] if isinstance(key, tuple) else key


def member(value: Any, name: Any, budget: CostBudget) -> Any:
    """The value of a key, or at a position of a list. Of an optional value it is optional, too."""
    budget.spend()
    if isinstance(value, Optional):
        return optional_member(value, name, budget)
    found = _found(value, name)
    if found is NONE:
        shown = str(name)[:_SHOWN] if isinstance(name, str | int) else type_name(name)
        raise SenselessError(f"no such key: {shown}")
    return found.held[0]


def optional_member(value: Any, name: Any, budget: CostBudget) -> Optional:
    budget.spend()
    if isinstance(value, Optional):
        return _found(value.held[0], name) if value.held else NONE
    return _found(value, name)


def _found(value: Any, name: Any) -> Optional:
    match value:
        case dict():
            key = map_key(name)
            return Optional((value[key],)) if key in value else NONE
        case list():
            if type(name) is float and name.is_integer():
                name = int(name)
            if type(name) not in (int, Uint):
                raise SenselessError(f"a value of type {type_name(name)} is no position in a list")
            return Optional((value[name],)) if 0 <= name < len(value) else NONE
    raise SenselessError(f"a value of type {type_name(value)} has no members")


def is_in(one: Any, many: Any, budget: CostBudget) -> bool:
    budget.spend()
    match many:
        case dict():
            return (one.is_integer() if isinstance(one, float) else isinstance(one, str | int)) and (
                map_key(one) in many
            )
        case list():
            return any(equal(one, other, budget) for other in many)
    raise SenselessError("in needs a list or a map")


def pairs(value: Any) -> list[tuple[Any, Any]]:
    """Positions or keys, with what is there."""
    match value:
        case list():
            return list(enumerate(value))
        case dict():
            return [(value_of_key(key), one) for key, one in value.items()]
    raise SenselessError(f"a list or a map was expected, not a value of type {type_name(value)}")


def elements(value: Any) -> list[Any]:
    """What a macro with one variable goes through: items of a list, keys of a map."""
    return value if isinstance(value, list) else [key for key, _ in pairs(value)]


# --- patterns --------------------------------------------------------------------------------------

_QUIET = re2.Options()
_QUIET.log_errors = False
# RE2 takes a character in one step, unless its memory for that is used up. Then it follows every instruction
# of the pattern at each character, about this many in the time of one step of a rule.
_INSTRUCTIONS_PER_STEP = 64


class PatternError(ValueError):
    """A text that is no regular expression in Go's syntax, or one too large; the sentence says why."""


class Patterns:
    """The patterns of one request, in Go's syntax. Each is compiled, and paid for, once.

    RE2 never backtracks: it searches in time linear in the text, whatever the pattern. Raises PatternError.
    """

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def get(self, pattern: str, budget: CostBudget) -> Any:
        """The compiled pattern."""
        if pattern not in self._known:
            budget.spend(1 + len(pattern))
            self._known[pattern] = found = _compiled_or_reason(pattern)
            budget.spend(0 if isinstance(found, str) else found.programsize)
        found = self._known[pattern]
        if isinstance(found, str):
            raise PatternError(found)
        return found

    def search(self, pattern: str, text: str, budget: CostBudget) -> bool:
        """Whether the pattern matches anywhere in the text."""
        return bool(self.find(pattern, text, 1, budget))

    def find(self, pattern: str, text: str, most: int, budget: CostBudget) -> list[str]:
        """The first parts of the text that match."""
        found = self.get(pattern, budget)
        budget.spend(1 + len(text) * (1 + found.programsize // _INSTRUCTIONS_PER_STEP))
        if most == 1:
            match = found.search(_encoded(text))
            return [] if match is None else [match.group().decode(errors="surrogatepass")]
        parts = []
        for match in found.finditer(_encoded(text)):
            budget.spend(1 + (len(text) - match.start()) * (1 + found.programsize // _INSTRUCTIONS_PER_STEP))
            parts.append(match.group().decode(errors="surrogatepass"))
            if len(parts) == most:
                break
        return parts


def _compiled_or_reason(pattern: str) -> Any:
    try:
        return re2.compile(_encoded(pattern), _QUIET)
    except re2.error as error:
        return error.args[0].decode(errors="replace")


def _encoded(text: str) -> bytes:
    """Half a surrogate pair, which JSON can have and UTF-8 cannot, counts as one character."""
    return text.encode(errors="surrogatepass")


@dataclass(slots=True)
class Spending:
    """What evaluation pays from, and the patterns of its request."""

    budget: CostBudget
    patterns: Patterns
