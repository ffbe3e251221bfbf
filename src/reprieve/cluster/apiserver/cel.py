"""What does a rule in CEL say of a value? The part of CEL that most CustomResourceDefinitions use.

A rule is parsed once and evaluated for many values. There are fields, ``has``, comparisons, ``in``, ``&&``,
``||``, ``!``, ``? :``, arithmetic, literals, a few functions of texts and lists, and the macros ``all``,
``exists``, ``exists_one``, ``filter`` and ``map``. Everything else is an ``UnreadError`` when the rule is
parsed. Values are plain JSON. This module must not know what a rule is for.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Eval = Callable[["Scope"], Any]

_LONGEST, _DEEPEST, _MOST_STEPS = 5000, 40, 100_000
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]]))"""
)
_WORDS = {"true": True, "false": False, "null": None}


class UnreadError(Exception):
    """A rule that this parser does not understand."""


class SenselessError(Exception):
    """A rule that cannot be evaluated for the values it was given."""


@dataclass(slots=True)
class Scope:
    """The values of the names in a rule, and how many steps the evaluation has taken."""

    names: Mapping[str, Any]
    steps: list[int] = field(default_factory=lambda: [0])

    def find(self, name: str) -> Any:
        self.steps[0] += 1
        if self.steps[0] > _MOST_STEPS:
            raise SenselessError("it takes too long")
        return self.names[name]

    def within(self, name: str, value: Any) -> "Scope":
        return Scope({**self.names, name: value}, self.steps)


def read(rule: str, names: tuple[str, ...]) -> Eval:
    """``names``: the variables that the rule may use. Raises UnreadError if the rule cannot be parsed."""
    if len(rule) > _LONGEST:
        raise UnreadError(f"it is longer than {_LONGEST} characters")
    reader = _Reader(_tokens(rule), set(names))
    found = reader.expression()
    if reader.next is not None:
        raise UnreadError(f"{reader.next[1]} was not expected")
    return found


def _tokens(rule: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    end = len(rule.rstrip())
    position = 0
    while position < end:
        found = _TOKEN.match(rule, position)
        if found is None or found.lastgroup is None:
            raise UnreadError(f"{rule[position : position + 10].strip()} is not understood")
        tokens.append((found.lastgroup, found[found.lastgroup]))
        position = found.end()
    return tokens


# --- what is done ----------------------------------------------------------------------------------


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(one: Any, other: Any) -> bool:
        if _sort(one) != _sort(other) or _sort(one) not in ("number", "text"):
            raise SenselessError("values of different types cannot be compared")
        return compare(one, other)

    return compared


def _sort(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {int: "number", float: "number", str: "text"}.get(type(value), type(value).__name__)


def _equal(one: Any, other: Any) -> bool:
    return _sort(one) == _sort(other) and bool(one == other)


def _added(one: Any, other: Any) -> Any:
    if _sort(one) != _sort(other) or _sort(one) not in ("number", "text", "list"):
        raise SenselessError("values of different types cannot be added")
    return one + other


def _calculated(calculate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def calculated(one: Any, other: Any) -> Any:
        if _sort(one) != "number" or _sort(other) != "number":
            raise SenselessError("a number was expected")
        try:
            return calculate(one, other)
        except (ZeroDivisionError, OverflowError) as error:
            raise SenselessError(str(error)) from error

    return calculated


def _divided(one: float, other: float) -> float:
    if isinstance(one, float) or isinstance(other, float):
        return one / other
    whole = abs(one) // abs(other)
    return whole if (one < 0) == (other < 0) else -whole


def _remainder(one: float, other: float) -> float:
    return one - other * _divided(one, other)


_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda one, other: not _equal(one, other),
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}
_ADDED = {"+": _added, "-": _calculated(operator.sub)}
_MULTIPLIED = {"*": _calculated(operator.mul), "/": _calculated(_divided), "%": _calculated(_remainder)}


def _size(value: Any) -> int:
    if not isinstance(value, str | list | dict):
        raise SenselessError("only texts, lists and maps have a size")
    return len(value)


def _matches(text: str, pattern: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error as error:
        raise SenselessError(f"{pattern} is no regular expression") from error


_OF_TEXTS: Mapping[str, Callable[[str, str], Any]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
    "matches": _matches,
    "split": str.split,
}
_OF_ONE: Mapping[str, Callable[[str], Any]] = {
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
}


def _member(value: Any, name: Any) -> Any:
    match value:
        case dict() if name in value:
            return value[name]
        case list() if type(name) is int and 0 <= name < len(value):
            return value[name]
    raise SenselessError(f"no such key: {name}")


def _is_in(one: Any, many: Any) -> bool:
    if isinstance(many, dict):
        return one in many
    if isinstance(many, list):
        return any(_equal(one, other) for other in many)
    raise SenselessError("in needs a list or a map")


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SenselessError("true or false was expected")
    return value


def _either(one: Eval, other: Eval, decided: bool) -> Eval:
    """The operand that decides counts, even if the other one cannot be evaluated."""

    def asked(scope: Scope) -> bool:
        try:
            if _truth(one(scope)) is decided:
                return decided
        except SenselessError:
            if _truth(other(scope)) is decided:
                return decided
            raise
        return _truth(other(scope))

    return asked


# --- macros ----------------------------------------------------------------------------------------


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list | dict):
        raise SenselessError("a list or a map was expected")
    return list(value)


def _macro(name: str, many: Eval, variable: str, body: Eval) -> Eval:
    def each(scope: Scope) -> list[Any]:
        return [(item, body(scope.within(variable, item))) for item in _items(many(scope))]

    match name:
        case "all":
            return lambda scope: all(_truth(held) for _, held in each(scope))
        case "exists":
            return lambda scope: any(_truth(held) for _, held in each(scope))
        case "exists_one":
            return lambda scope: sum(_truth(held) for _, held in each(scope)) == 1
        case "filter":
            return lambda scope: [item for item, held in each(scope) if _truth(held)]
    return lambda scope: [made for _, made in each(scope)]


_MACROS = ("all", "exists", "exists_one", "filter", "map")


# --- reading ---------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]], names: set[str]) -> None:
        self._tokens = tokens
        self._names = names
        self._position = 0
        self._depth = 0

    @property
    def next(self) -> tuple[str, str] | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _take(self, *signs: str) -> str:
        """Takes one of these signs, if it comes next."""
        if self.next is None or self.next[0] == "text" or self.next[1] not in signs:
            return ""
        self._position += 1
        return signs[signs.index(self._tokens[self._position - 1][1])]

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise UnreadError(f"{sign} is missing")

    def expression(self) -> Eval:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnreadError("it is nested too deeply")
        found = self._or()
        if self._take("?"):
            yes = self.expression()
            self._expect(":")
            no, asked = self.expression(), found
            self._depth -= 1
            return lambda scope: yes(scope) if _truth(asked(scope)) else no(scope)
        self._depth -= 1
        return found

    def _or(self) -> Eval:
        found = self._and()
        while self._take("||"):
            found = _either(found, self._and(), decided=True)
        return found

    def _and(self) -> Eval:
        found = self._compared()
        while self._take("&&"):
            found = _either(found, self._compared(), decided=False)
        return found

    def _compared(self) -> Eval:
        found = self._added()
        while sign := self._take(*_COMPARED, "in"):
            found = _pair(_COMPARED.get(sign, _is_in), found, self._added())
        return found

    def _added(self) -> Eval:
        found = self._multiplied()
        while sign := self._take(*_ADDED):
            found = _pair(_ADDED[sign], found, self._multiplied())
        return found

    def _multiplied(self) -> Eval:
        found = self._unary()
        while sign := self._take(*_MULTIPLIED):
            found = _pair(_MULTIPLIED[sign], found, self._unary())
        return found

    def _unary(self) -> Eval:
        signs = ""
        while sign := self._take("!", "-"):
            signs += sign
        found = self._chain()
        for sign in signs:
            found = _turned(sign, found)
        return found

    def _chain(self) -> Eval:
        found = self._primary()
        while sign := self._take(".", "["):
            if sign == "[":
                found = _pair(_member, found, self.expression())
                self._expect("]")
            else:
                found = self._after_dot(found)
        return found

    def _name(self) -> str:
        if self.next is None or self.next[0] != "name":
            raise UnreadError("a name is missing")
        self._position += 1
        return self._tokens[self._position - 1][1]

    def _after_dot(self, of: Eval) -> Eval:
        name = self._name()
        if not self._take("("):
            return lambda scope: _member(of(scope), name)
        if name in _MACROS:
            return self._macro(name, of)
        arguments = self._arguments()
        match name, arguments:
            case "size", []:
                return lambda scope: _size(of(scope))
            case _, [argument] if name in _OF_TEXTS:
                return _text_function(_OF_TEXTS[name], of, argument)
            case _, [] if name in _OF_ONE:
                return _text_function(lambda text, _: _OF_ONE[name](text), of, lambda scope: "")
        raise UnreadError(f"the function {name} is not known")

    def _macro(self, name: str, of: Eval) -> Eval:
        variable = self._name()
        self._expect(",")
        is_new = variable not in self._names
        self._names.add(variable)
        body = self.expression()
        if is_new:
            self._names.discard(variable)
        self._expect(")")
        return _macro(name, of, variable, body)

    def _arguments(self, end: str = ")") -> list[Eval]:
        found: list[Eval] = []
        while not self._take(end):
            if found:
                self._expect(",")
            found.append(self.expression())
        return found

    def _primary(self) -> Eval:
        if self._take("("):
            found = self.expression()
            self._expect(")")
            return found
        if self._take("["):
            many = self._arguments("]")
            return lambda scope: [one(scope) for one in many]
        if self.next is None:
            raise UnreadError("it ends too early")
        kind, text = self.next
        self._position += 1
        match kind:
            case "number":
                number = float(text) if "." in text else int(text)
                return lambda scope: number
            case "text":
                said = re.sub(r"\\(.)", r"\1", text[1:-1])
                return lambda scope: said
            case "name":
                return self._named(text)
        raise UnreadError(f"{text} was not expected")

    def _named(self, name: str) -> Eval:
        if name in _WORDS:
            value = _WORDS[name]
            return lambda scope: value
        if name == "has" and self._take("("):
            return self._has()
        if name == "size" and self._take("("):
            (one,) = self._arguments() or [_nothing]
            return lambda scope: _size(one(scope))
        if name not in self._names:
            raise UnreadError(f"{name} is not known")
        return lambda scope: scope.find(name)

    def _has(self) -> Eval:
        """Tests whether the last step of a path exists, without evaluating it."""
        start = self._position
        self._chain()
        self._expect(")")
        steps = self._tokens[start : self._position - 1]
        if len(steps) < 3 or steps[-2] != ("sign", ".") or steps[-1][0] != "name":
            raise UnreadError("has() needs a field")
        around = _Reader(steps[:-2], self._names)._chain()
        return lambda scope: isinstance(found := around(scope), dict) and steps[-1][1] in found


def _nothing(scope: Scope) -> Any:
    raise SenselessError("a value is missing")


def _pair(function: Callable[[Any, Any], Any], one: Eval, other: Eval) -> Eval:
    return lambda scope: function(one(scope), other(scope))


def _turned(sign: str, of: Eval) -> Eval:
    if sign == "!":
        return lambda scope: not _truth(of(scope))
    return lambda scope: _calculated(operator.sub)(0, of(scope))


def _text_function(function: Callable[[str, str], Any], of: Eval, argument: Eval) -> Eval:
    def called(scope: Scope) -> Any:
        text, other = of(scope), argument(scope)
        if not isinstance(text, str) or not isinstance(other, str):
            raise SenselessError("a text was expected")
        return function(text, other)

    return called
