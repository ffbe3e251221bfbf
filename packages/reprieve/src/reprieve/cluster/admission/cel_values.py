"""What do the operators and functions of CEL make of values, and what may that cost?

Values are plain JSON. Each function pays its steps from a budget before it does the work, so that large
values cost more than small ones. Steps and not seconds: the same request gets the same answer on every
machine, however busy it is.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import re2  # type: ignore[import-untyped]

LARGEST_INTEGER = 2**63 - 1
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


def sort_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {int: "number", float: "number", str: "text"}.get(type(value), type(value).__name__)


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SenselessError("true or false was expected")
    return value


def text_steps(*values: str) -> int:
    return 1 + sum(map(len, values)) // _CHARS_PER_STEP


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
        case str(), str():
            budget.spend(text_steps(one))
    return sort_of(one) == sort_of(other) and bool(one == other)


def unequal(one: Any, other: Any, budget: CostBudget) -> bool:
    return not equal(one, other, budget)


def ordered(compare: Callable[[Any, Any], bool]) -> Operation:
    def compared(one: Any, other: Any, budget: CostBudget) -> bool:
        if sort_of(one) != sort_of(other) or sort_of(one) not in ("number", "text"):
            raise SenselessError("values of different types cannot be compared")
        budget.spend(text_steps(one) if isinstance(one, str) else 1)
        return compare(one, other)

    return compared


# --- calculating -----------------------------------------------------------------------------------


def added(one: Any, other: Any, budget: CostBudget) -> Any:
    match one, other:
        case str(), str():
            budget.spend(text_steps(one, other))
            return one + other
        case list(), list():
            budget.spend(1 + len(one) + len(other))
            return one + other
    if sort_of(one) != sort_of(other):
        raise SenselessError("values of different types cannot be added")
    return calculated(operator.add)(one, other, budget)


def calculated(calculate: Callable[[Any, Any], Any]) -> Operation:
    def result(one: Any, other: Any, budget: CostBudget) -> Any:
        budget.spend()
        if sort_of(one) != "number" or sort_of(other) != "number":
            raise SenselessError("a number was expected")
        try:
            found = calculate(one, other)
        except (ZeroDivisionError, OverflowError) as error:
            raise SenselessError(str(error)) from error
        if isinstance(found, int) and not -LARGEST_INTEGER - 1 <= found <= LARGEST_INTEGER:
            raise SenselessError("integer overflow")
        return found

    return result


def divided(one: float, other: float) -> float:
    if isinstance(one, float) or isinstance(other, float):
        return one / other
    whole = abs(one) // abs(other)
    return whole if (one < 0) == (other < 0) else -whole


def remainder(one: float, other: float) -> float:
    return one - other * divided(one, other)


# --- containers ------------------------------------------------------------------------------------


def size(value: Any) -> int:
    if not isinstance(value, str | list | dict):
        raise SenselessError("only texts, lists and maps have a size")
    return len(value)


def member(value: Any, name: Any, budget: CostBudget) -> Any:
    budget.spend()
    match value:
        case dict() if isinstance(name, str) and name in value:
            return value[name]
        case list() if type(name) is int and 0 <= name < len(value):
            return value[name]
    raise SenselessError(
        f"no such key: {str(name)[:_SHOWN] if isinstance(name, str | int) else sort_of(name)}"
    )


def is_in(one: Any, many: Any, budget: CostBudget) -> bool:
    budget.spend()
    match many:
        case dict():
            return isinstance(one, str) and one in many
        case list():
            return any(equal(one, other, budget) for other in many)
    raise SenselessError("in needs a list or a map")


def elements(value: Any) -> list[Any]:
    if not isinstance(value, list | dict):
        raise SenselessError("a list or a map was expected")
    return list(value)


# --- texts -----------------------------------------------------------------------------------------


def split(text: str, separator: str) -> list[str]:
    """An empty separator splits into characters."""
    return text.split(separator) if separator else list(text)


OF_TWO_TEXTS: Mapping[str, Callable[[str, str], Any]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
    "split": split,
}
OF_ONE_TEXT: Mapping[str, Callable[[str], str]] = {
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
}


def of_two_texts(name: str) -> Operation:
    function = OF_TWO_TEXTS[name]

    def called(text: Any, other: Any, budget: CostBudget) -> Any:
        text, other = checked_text(text), checked_text(other)
        budget.spend(text_steps(text, other))
        found = function(text, other)
        budget.spend(len(found) if isinstance(found, list) else 0)
        return found

    return called


def of_one_text(name: str, text: Any, budget: CostBudget) -> str:
    checked = checked_text(text)
    budget.spend(text_steps(checked))
    return OF_ONE_TEXT[name](checked)


def checked_text(value: Any) -> str:
    if not isinstance(value, str):
        raise SenselessError("a text was expected")
    return value


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
        found = self.get(pattern, budget)
        budget.spend(1 + len(text) * (1 + found.programsize // _INSTRUCTIONS_PER_STEP))
        return found.search(_encoded(text)) is not None


def _compiled_or_reason(pattern: str) -> Any:
    try:
        return re2.compile(_encoded(pattern), _QUIET)
    except re2.error as error:
        return error.args[0].decode(errors="replace")


def _encoded(text: str) -> bytes:
    """Half a surrogate pair, which JSON can have and UTF-8 cannot, counts as one character."""
    return text.encode(errors="surrogatepass")
