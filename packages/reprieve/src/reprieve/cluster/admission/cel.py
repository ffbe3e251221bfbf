"""What does a rule in CEL say of a value? The part of CEL that most CustomResourceDefinitions use.

A rule is parsed once and evaluated for many values. There are fields, ``has``, comparisons, ``in``, ``&&``,
``||``, ``!``, ``? :``, arithmetic, literals, a few functions of texts and lists, and the macros ``all``,
``exists``, ``exists_one``, ``filter`` and ``map``. Everything else is an ``UnreadError`` when the rule is
parsed. Parsing takes time linear in the rule, whose length and nesting are limited; evaluation pays every
step from a budget.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprieve.cluster.admission import cel_values as values
from reprieve.cluster.admission.cel_values import (
    CostBudget,
    Operation,
    PatternError,
    Patterns,
    SenselessError,
)

Eval = Callable[["Scope"], Any]

_LONGEST = 5000  # characters
_DEEPEST = 40  # levels: parser and evaluation recurse for each
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]]))""",
    re.ASCII,
)
_WORDS = {"true": True, "false": False, "null": None}


class UnreadError(Exception):
    """A rule that this parser does not understand."""


class RuleLimitError(UnreadError):
    """A rule beyond a limit of this parser: too long, too deeply nested, or with too large a number."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The values of the names in a rule, and the budget that its evaluation may spend."""

    names: Mapping[str, Any]
    budget: CostBudget
    patterns: Patterns

    def find(self, name: str) -> Any:
        self.budget.spend()
        return self.names[name]

    def within(self, name: str, value: Any) -> "Scope":
        return Scope({**self.names, name: value}, self.budget, self.patterns)


def read(rule: str, names: tuple[str, ...]) -> Eval:
    """``names``: the variables that the rule may use. Raises UnreadError if the rule cannot be parsed."""
    if len(rule) > _LONGEST:
        raise RuleLimitError(f"it is longer than {_LONGEST} characters")
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


# --- evaluation ------------------------------------------------------------------------------------

_SUBTRACTED = values.calculated(operator.sub)
# From the weakest binding to the strongest.
_RANKS: Sequence[Mapping[str, Operation]] = (
    {
        "==": values.equal,
        "!=": values.unequal,
        "<": values.ordered(operator.lt),
        "<=": values.ordered(operator.le),
        ">": values.ordered(operator.gt),
        ">=": values.ordered(operator.ge),
        "in": values.is_in,
    },
    {"+": values.added, "-": _SUBTRACTED},
    {
        "*": values.calculated(operator.mul),
        "/": values.calculated(values.divided),
        "%": values.calculated(values.remainder),
    },
)
_MACROS = ("all", "exists", "exists_one", "filter", "map")

# What a chain such as ``.a[0].size()`` does next with the value so far.
Link = Callable[[Any, Scope], Any]


def _constant(value: Any) -> Eval:
    def known(scope: Scope) -> Any:
        scope.budget.spend()
        return value

    return known


def _listed(many: Sequence[Eval]) -> Eval:
    def listed(scope: Scope) -> list[Any]:
        scope.budget.spend()
        return [one(scope) for one in many]

    return listed


def _folded(first: Eval, rest: Sequence[tuple[Operation, Eval]]) -> Eval:
    """Operators of equal rank, from left to right: a loop, since thousands may follow one another."""
    if not rest:
        return first

    def folded(scope: Scope) -> Any:
        value = first(scope)
        for operation, operand in rest:
            value = operation(value, operand(scope), scope.budget)
        return value

    return folded


def _decided(operands: Sequence[Eval], by: bool) -> Eval:
    """``||`` and ``&&``: an operand that decides counts, even if others cannot be evaluated."""
    if len(operands) == 1:
        return operands[0]

    def decided(scope: Scope) -> bool:
        failure: SenselessError | None = None
        for operand in operands:
            try:
                if values.truth(operand(scope)) is by:
                    return by
            except SenselessError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return not by

    return decided


def _turned(signs: Sequence[str], of: Eval) -> Eval:
    """``!`` and ``-`` before a value; the last one applies first."""
    if not signs:
        return of

    def turned(scope: Scope) -> Any:
        value = of(scope)
        for sign in reversed(signs):
            scope.budget.spend()
            value = not values.truth(value) if sign == "!" else _SUBTRACTED(0, value, scope.budget)
        return value

    return turned


def _linked(first: Eval, links: Sequence[Link]) -> Eval:
    if not links:
        return first

    def linked(scope: Scope) -> Any:
        value = first(scope)
        for link in links:
            value = link(value, scope)
        return value

    return linked


@dataclass(frozen=True, slots=True)
class _Field:
    """The link ``.name``."""

    name: str

    def __call__(self, value: Any, scope: Scope) -> Any:
        return values.member(value, self.name, scope.budget)


def _with_argument(operation: Operation, argument: Eval) -> Link:
    return lambda value, scope: operation(value, argument(scope), scope.budget)


def _size(value: Any, scope: Scope) -> int:
    scope.budget.spend()
    return values.size(value)


def _matching(pattern: Eval) -> Link:
    def matches(value: Any, scope: Scope) -> bool:
        text, said = values.checked_text(value), values.checked_text(pattern(scope))
        try:
            return scope.patterns.search(said, text, scope.budget)
        except PatternError as error:
            raise SenselessError(f"{said} is no regular expression: {error}") from error

    return matches


def _macro(name: str, variable: str, body: Eval) -> Link:
    def each(value: Any, scope: Scope) -> list[tuple[Any, Any]]:
        found = []
        for item in values.elements(value):
            scope.budget.spend()
            found.append((item, body(scope.within(variable, item))))
        return found

    match name:
        case "all":
            return lambda value, scope: all(values.truth(held) for _, held in each(value, scope))
        case "exists":
            return lambda value, scope: any(values.truth(held) for _, held in each(value, scope))
        case "exists_one":
            return lambda value, scope: sum(values.truth(held) for _, held in each(value, scope)) == 1
        case "filter":
            return lambda value, scope: [item for item, held in each(value, scope) if values.truth(held)]
    return lambda value, scope: [made for _, made in each(value, scope)]


# --- parsing ---------------------------------------------------------------------------------------


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
        return self._tokens[self._position - 1][1]

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise UnreadError(f"{sign} is missing")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RuleLimitError(f"it is nested deeper than {_DEEPEST} levels")

    def expression(self) -> Eval:
        self._deeper()
        asked = self._or()
        if self._take("?"):
            yes = self.expression()
            self._expect(":")
            no = self.expression()
            self._depth -= 1
            return lambda scope: yes(scope) if values.truth(asked(scope)) else no(scope)
        self._depth -= 1
        return asked

    def _or(self) -> Eval:
        operands = [self._and()]
        while self._take("||"):
            operands.append(self._and())
        return _decided(operands, by=True)

    def _and(self) -> Eval:
        operands = [self._operators(0)]
        while self._take("&&"):
            operands.append(self._operators(0))
        return _decided(operands, by=False)

    def _operators(self, rank: int) -> Eval:
        if rank == len(_RANKS):
            return self._unary()
        first, known = self._operators(rank + 1), _RANKS[rank]
        rest: list[tuple[Operation, Eval]] = []
        while sign := self._take(*known):
            rest.append((known[sign], self._operators(rank + 1)))
        return _folded(first, rest)

    def _unary(self) -> Eval:
        signs: list[str] = []
        while sign := self._take("!", "-"):
            signs.append(sign)
        return _turned(signs, _linked(self._primary(), self._links()))

    def _links(self) -> list[Link]:
        links: list[Link] = []
        while sign := self._take(".", "["):
            if sign == "[":
                links.append(_with_argument(values.member, self.expression()))
                self._expect("]")
            else:
                links.append(self._after_dot())
        return links

    def _name(self) -> str:
        if self.next is None or self.next[0] != "name":
            raise UnreadError("a name is missing")
        self._position += 1
        return self._tokens[self._position - 1][1]

    def _after_dot(self) -> Link:
        name = self._name()
        if not self._take("("):
            return _Field(name)
        if name in _MACROS:
            return self._macro(name)
        match name, self._arguments():
            case "size", []:
                return _size
            case "matches", [argument]:
                return _matching(argument)
            case _, [argument] if name in values.OF_TWO_TEXTS:
                return _with_argument(values.of_two_texts(name), argument)
            case _, [] if name in values.OF_ONE_TEXT:
                return lambda value, scope: values.of_one_text(name, value, scope.budget)
        raise UnreadError(f"the function {name} is not known")

    def _macro(self, name: str) -> Link:
        variable = self._name()
        self._expect(",")
        is_new = variable not in self._names
        self._names.add(variable)
        body = self.expression()
        if is_new:
            self._names.discard(variable)
        self._expect(")")
        return _macro(name, variable, body)

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
            return _listed(self._arguments("]"))
        if self.next is None:
            raise UnreadError("it ends too early")
        kind, text = self.next
        self._position += 1
        match kind:
            case "number":
                return _constant(_number(text))
            case "text":
                return _constant(re.sub(r"\\(.)", r"\1", text[1:-1]))
            case "name":
                return self._named(text)
        raise UnreadError(f"{text} was not expected")

    def _named(self, name: str) -> Eval:
        if name in _WORDS:
            return _constant(_WORDS[name])
        if name == "has" and self._take("("):
            return self._has()
        if name == "size" and self._take("("):
            match self._arguments():
                case [one]:
                    return _linked(one, [_size])
            raise UnreadError("size() needs one value")
        if name not in self._names:
            raise UnreadError(f"{name} is not known")
        return lambda scope: scope.find(name)

    def _has(self) -> Eval:
        """Tests whether the last step of a path exists, without evaluating it."""
        self._deeper()
        first, links = self._primary(), self._links()
        self._expect(")")
        self._depth -= 1
        last = links.pop() if links else None
        if not isinstance(last, _Field):
            raise UnreadError("has() needs a field")
        around, name = _linked(first, links), last.name
        return lambda scope: isinstance(found := around(scope), dict) and name in found


def _number(text: str) -> int | float:
    if "." in text:
        return float(text)
    if len(text) > 19 or int(text) > values.LARGEST_INTEGER:
        raise RuleLimitError(f"{text[:20]}… is no integer of 64 bits")
    return int(text)
