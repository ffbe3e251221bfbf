"""What does a rule in CEL say of its variables? The language as Kubernetes 1.37 has it, without static types.

A rule is parsed (``cel_syntax``) and given a meaning once, and evaluated for many values: what a type checker
would refuse fails when it is evaluated. Variables are named by whoever reads the rule, and functions are a
table (``cel_functions``); macros are one, too. Evaluation pays every step from a budget.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reprieve.cluster.admission import cel_values as values
from reprieve.cluster.admission.cel_functions import STANDARD, Functions, Overload, call, sorted_by
from reprieve.cluster.admission.cel_syntax import (
    AnyOrAll,
    CallStep,
    Chain,
    Choice,
    Expression,
    FieldStep,
    ItemStep,
    ListLiteral,
    Literal,
    MapLiteral,
    Name,
    Path,
    PathStep,
    RuleLimitError,
    Signed,
    UnreadError,
    dotted,
    parse,
)
from reprieve.cluster.admission.cel_values import (
    NONE,
    CelType,
    CostBudget,
    Operation,
    Optional,
    Patterns,
    SenselessError,
    Spending,
)

__all__ = ["MACROS", "Rule", "RuleLimitError", "Scope", "UnreadError", "read"]

Eval = Callable[["Scope"], Any]
# What a path such as ``.a[0].size()`` does next with the value so far.
Step = Callable[[Any, "Scope"], Any]


@dataclass(slots=True)
class Scope(Spending):
    """The values of the names in a rule, and what its evaluation may spend."""

    names: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """``variables``: those that it uses."""

    variables: frozenset[str]
    evaluate: Eval

    def __call__(self, names: Mapping[str, Any], budget: CostBudget, patterns: Patterns) -> Any:
        return self.evaluate(Scope(budget, patterns, dict(names)))


def read(rule: str, variables: Iterable[str], functions: Functions = STANDARD) -> Rule:
    """``variables``: those that the rule may use. Raises UnreadError if the rule is not understood."""
    meaning = _Meaning(functions, frozenset(variables))
    found = meaning.of(parse(rule))
    return Rule(frozenset(meaning.used), found)


# --- evaluation ------------------------------------------------------------------------------------

_OPERATORS: Mapping[str, Operation] = {
    "==": values.equal,
    "!=": values.unequal,
    "<": values.less,
    "<=": values.ordered(operator.le),
    ">": values.ordered(operator.gt),
    ">=": values.ordered(operator.ge),
    "in": values.is_in,
    "+": values.added,
    "-": values.subtracted,
    "*": values.calculated(operator.mul),
    "/": values.calculated(values.divided),
    "%": values.calculated(values.remainder),
}
_TYPES = {
    **{name: CelType(name) for name in values.TYPES},
    "dyn": CelType("dyn"),
}


def _constant(value: Any) -> Eval:
    def known(scope: Scope) -> Any:
        scope.budget.spend()
        return value

    return known


def _variable(name: str) -> Eval:
    def found(scope: Scope) -> Any:
        scope.budget.spend()
        return scope.names[name]

    return found


def _listed(items: Sequence[tuple[Eval, bool]]) -> Eval:
    def listed(scope: Scope) -> list[Any]:
        scope.budget.spend()
        found: list[Any] = []
        for item, optional in items:
            found += _held(item(scope)) if optional else (item(scope),)
        return found

    return listed


def _mapped(entries: Sequence[tuple[Eval, Eval, bool]]) -> Eval:
    def mapped(scope: Scope) -> dict[Any, Any]:
        scope.budget.spend()
        found: dict[Any, Any] = {}
        for key, value, optional in entries:
            one = value(scope)
            _put(found, key(scope), _held(one) if optional else (one,))
        return found

    return mapped


def _held(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, Optional):
        raise SenselessError("after ? an optional value was expected")
    return value.held


def _put(mapping: dict[Any, Any], key: Any, held: tuple[Any, ...]) -> None:
    if isinstance(key, float):
        raise SenselessError("a double is no key of a map")
    known = values.map_key(key)
    if known in mapping:
        raise SenselessError("a key of a map is there twice")
    for value in held:
        mapping[known] = value


def _chained(first: Eval, rest: Sequence[tuple[Operation, Eval]]) -> Eval:
    """A loop, since thousands of operators may follow one another."""

    def chained(scope: Scope) -> Any:
        value = first(scope)
        for operation, operand in rest:
            value = operation(value, operand(scope), scope.budget)
        return value

    return chained


def _decided(operands: Iterable[Callable[[], Any]], by: bool) -> bool:
    """An operand that decides counts, even if others before it cannot be evaluated."""
    failure: SenselessError | None = None
    for operand in operands:
        try:
            if values.truth(operand()) is by:
                return by
        except SenselessError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not by


def _any_or_all(operands: Sequence[Eval], by: bool) -> Eval:
    return lambda scope: _decided((partial(operand, scope) for operand in operands), by)


def _chosen(cases: Sequence[tuple[Eval, Eval]], otherwise: Eval) -> Eval:
    def chosen(scope: Scope) -> Any:
        for test, value in cases:
            if values.truth(test(scope)):
                return value(scope)
        return otherwise(scope)

    return chosen


def _signed(signs: Sequence[str], of: Eval) -> Eval:
    def signed(scope: Scope) -> Any:
        value = of(scope)
        for sign in reversed(signs):
            if sign == "-":
                value = values.negated(value, scope.budget)
            else:
                scope.budget.spend()
                value = not values.truth(value)
        return value

    return signed


def _followed(first: Eval, steps: Sequence[Step]) -> Eval:
    if not steps:
        return first

    def followed(scope: Scope) -> Any:
        value = first(scope)
        for step in steps:
            value = step(value, scope)
        return value

    return followed


# --- fields ----------------------------------------------------------------------------------------

_ESCAPED = {"__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/"}
_WORD = re.compile(r"__([a-z]+)__")


def unescaped(name: str) -> str:
    """A field whose name is no identifier has another one in rules: ``a-b`` is ``a__dash__b``, and
    ``namespace`` is ``__namespace__``."""
    for escape, character in _ESCAPED.items():
        name = name.replace(escape, character)
    return _WORD.sub(r"\1", name) if _WORD.fullmatch(name) else name


def _field_name(value: Any, name: str, plain: str) -> str:
    if plain != name:
        holder = value.held[0] if isinstance(value, Optional) and value.held else value
        if isinstance(holder, dict) and name not in holder:
            return plain
    return name


def _field(name: str, optional: bool) -> Step:
    plain = unescaped(name) if "__" in name else name
    find = values.optional_member if optional else values.member
    return lambda value, scope: find(value, _field_name(value, name, plain), scope.budget)


def _item(key: Eval, optional: bool) -> Step:
    find = values.optional_member if optional else values.member
    return lambda value, scope: find(value, key(scope), scope.budget)


def _presence(around: Eval, name: str) -> Eval:
    """``has(a.b)`` tests whether the last step of a path exists, without evaluating it."""
    plain = unescaped(name) if "__" in name else name

    def has(scope: Scope) -> bool:
        value = around(scope)
        if not isinstance(value, dict | Optional):
            raise SenselessError(f"a value of type {values.type_name(value)} has no fields")
        return bool(values.optional_member(value, _field_name(value, name, plain), scope.budget).held)

    return has


# --- functions and macros --------------------------------------------------------------------------


def _global(name: str, overloads: Sequence[Overload], arguments: Sequence[Eval]) -> Eval:
    return lambda scope: call(name, overloads, [argument(scope) for argument in arguments], scope)


def _method(name: str, overloads: Sequence[Overload], arguments: Sequence[Eval]) -> Step:
    return lambda value, scope: call(
        name, overloads, [value, *[argument(scope) for argument in arguments]], scope
    )


def _or(value: Any, scope: Scope, other: Eval) -> Any:
    return value if _held(value) else other(scope)


def _or_value(value: Any, scope: Scope, other: Eval) -> Any:
    return _held(value)[0] if _held(value) else other(scope)


# Methods whose argument is evaluated only if it counts.
_LAZY: Mapping[str, Callable[[Any, Scope, Eval], Any]] = {"or": _or, "orValue": _or_value}


@dataclass(frozen=True, slots=True)
class _Loop:
    """A macro at work: its variables, and what it evaluates for each item."""

    variables: tuple[str, ...]
    bodies: tuple[Eval, ...]

    def over(self, value: Any, scope: Scope) -> Iterator[tuple[Any, Scope]]:
        """Each item of a list, or key of a map, with a scope in which the variables have its values. There is
        one scope for all: who keeps a value has evaluated it before the next item."""
        inner = Scope(scope.budget, scope.patterns, dict(scope.names))
        if len(self.variables) == 1:
            for one in values.elements(value):
                inner.budget.spend()
                inner.names[self.variables[0]] = one
                yield one, inner
            return
        for position, one in values.pairs(value):
            inner.budget.spend()
            inner.names.update(zip(self.variables, (position, one), strict=True))
            yield position, inner

    def tests(self, value: Any, scope: Scope) -> Iterator[Callable[[], Any]]:
        for _, inner in self.over(value, scope):
            yield partial(self.bodies[0], inner)

    def kept(self, value: Any, scope: Scope) -> Iterator[tuple[Any, Scope]]:
        """Without the items for which the first of two bodies is false."""
        for one, inner in self.over(value, scope):
            if len(self.bodies) == 1 or values.truth(self.bodies[0](inner)):
                yield one, inner


def _all(loop: _Loop, value: Any, scope: Scope) -> bool:
    return _decided(loop.tests(value, scope), by=False)


def _exists(loop: _Loop, value: Any, scope: Scope) -> bool:
    return _decided(loop.tests(value, scope), by=True)


def _exists_one(loop: _Loop, value: Any, scope: Scope) -> bool:
    return sum(values.truth(test()) for test in loop.tests(value, scope)) == 1


def _filter(loop: _Loop, value: Any, scope: Scope) -> list[Any]:
    return [one for one, inner in loop.over(value, scope) if values.truth(loop.bodies[0](inner))]


def _map(loop: _Loop, value: Any, scope: Scope) -> list[Any]:
    return [loop.bodies[-1](inner) for _, inner in loop.kept(value, scope)]


def _transform_map(loop: _Loop, value: Any, scope: Scope) -> dict[Any, Any]:
    return {values.map_key(key): loop.bodies[-1](inner) for key, inner in loop.kept(value, scope)}


def _transform_entries(loop: _Loop, value: Any, scope: Scope) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for _, inner in loop.kept(value, scope):
        for key, one in values.pairs(_mapping(loop.bodies[-1](inner))):
            _put(found, key, (one,))
    return found


def _mapping(value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise SenselessError("a map was expected")
    return value


def _sort_by(loop: _Loop, value: Any, scope: Scope) -> list[Any]:
    return sorted_by(scope, values.elements(value), _map(loop, value, scope))


def _opt_map(loop: _Loop, value: Any, scope: Scope) -> Optional:
    found = _map(loop, list(_held(value)), scope)
    return Optional(tuple(found))


def _opt_flat_map(loop: _Loop, value: Any, scope: Scope) -> Optional:
    for found in _map(loop, list(_held(value)), scope):
        return Optional(_held(found))
    return NONE


Macro = Callable[[_Loop, Any, Scope], Any]
# By name, the number of variables, and that of what is evaluated with them.
MACROS: Mapping[tuple[str, int, int], Macro] = {
    **{
        (name, variables, 1): macro
        for variables in (1, 2)
        for name, macro in (
            ("all", _all),
            ("exists", _exists),
            ("exists_one", _exists_one),
            ("existsOne", _exists_one),
        )
    },
    ("filter", 1, 1): _filter,
    ("map", 1, 1): _map,
    ("map", 1, 2): _map,
    ("optFlatMap", 1, 1): _opt_flat_map,
    ("optMap", 1, 1): _opt_map,
    ("sortBy", 1, 1): _sort_by,
    ("transformList", 2, 1): _map,
    ("transformList", 2, 2): _map,
    ("transformMap", 2, 1): _transform_map,
    ("transformMap", 2, 2): _transform_map,
    ("transformMapEntry", 2, 1): _transform_entries,
    ("transformMapEntry", 2, 2): _transform_entries,
}


# --- the meaning of a tree -------------------------------------------------------------------------


@dataclass(slots=True)
class _Meaning:
    functions: Functions
    variables: frozenset[str]
    bound: list[str] = field(default_factory=list)  # by the macros around
    used: set[str] = field(default_factory=set)

    def of(self, tree: Expression) -> Eval:
        match tree:
            case Literal(value):
                return _constant(value)
            case Name(name):
                return self._name(name)
            case CallStep(name, arguments):
                return self._call(name, arguments)
            case Path(first, links):
                return self._path(first, links)
            case Chain(first, rest):
                return _chained(self.of(first), [(_OPERATORS[sign], self.of(one)) for sign, one in rest])
            case AnyOrAll(operands, by):
                return _any_or_all(self._each(operands), by)
            case Choice(cases, otherwise):
                return _chosen([(self.of(test), self.of(one)) for test, one in cases], self.of(otherwise))
            case Signed(signs, of):
                return _signed(signs, self.of(of))
            case ListLiteral(items):
                return _listed([(self.of(item), optional) for item, optional in items])
            case MapLiteral(entries):
                return _mapped([(self.of(key), self.of(one), optional) for key, one, optional in entries])

    def _each(self, many: Iterable[Expression]) -> list[Eval]:
        return [self.of(one) for one in many]

    def _name(self, name: str) -> Eval:
        if name in self.bound:
            return _variable(name)
        if name in self.variables:
            self.used.add(name)
            return _variable(name)
        if name in _TYPES:
            return _constant(_TYPES[name])
        raise UnreadError(f"{name} is not known")

    def _call(self, name: str, arguments: tuple[Expression, ...]) -> Eval:
        if name == "has":
            return self._has(arguments)
        return _global(name, self._overloads(name, arguments, has_receiver=False), self._each(arguments))

    def _has(self, arguments: tuple[Expression, ...]) -> Eval:
        match arguments:
            case [Path(first, (*links, FieldStep(name)))]:
                return _presence(self._path(first, tuple(links)), name)
        raise UnreadError("has() needs a field")

    def _overloads(
        self, name: str, arguments: Sequence[Expression], *, has_receiver: bool
    ) -> Sequence[Overload]:
        found = self.functions.get((name, has_receiver, len(arguments) + has_receiver))
        if found is None:
            many = f"{len(arguments)} argument{'' if len(arguments) == 1 else 's'}"
            raise UnreadError(f"the function {name} with {many} is not known")
        return found

    def _path(self, first: Expression, links: tuple[PathStep, ...]) -> Eval:
        start, rest = self._start(first, links)
        return _followed(start, [self._step(link) for link in rest])

    def _start(self, first: Expression, links: tuple[PathStep, ...]) -> tuple[Eval, tuple[PathStep, ...]]:
        """A qualified name is one thing: ``optional.of(…)`` or ``google.protobuf.Duration``."""
        if isinstance(first, Name) and first.text not in self.bound and first.text not in self.variables:
            for count in range(1, min(len(links), 3) + 1):
                name, last = dotted(first, links[:count]), links[count - 1]
                if name == "cel.bind" and isinstance(last, CallStep):
                    return self._bind(last.arguments), links[count:]
                if isinstance(last, CallStep) and (name, False, len(last.arguments)) in self.functions:
                    return self._call(name, last.arguments), links[count:]
                if name in _TYPES:
                    return _constant(_TYPES[name]), links[count:]
        return self.of(first), links

    def _bind(self, arguments: tuple[Expression, ...]) -> Eval:
        """``cel.bind(name, value, expression)``"""
        match arguments:
            case [Name() as variable, value, body]:
                bound, loop = self.of(value), self._loop((variable,), (body,))
                return lambda scope: _map(loop, [bound(scope)], scope)[0]
        raise UnreadError("cel.bind() needs a name, its value, and an expression")

    def _step(self, link: PathStep) -> Step:
        match link:
            case FieldStep(name, optional):
                return _field(name, optional)
            case ItemStep(key, optional):
                return _item(self.of(key), optional)
            case CallStep(name, (argument,)) if name in _LAZY:
                lazy, other = _LAZY[name], self.of(argument)
                return lambda value, scope: lazy(value, scope, other)
            case CallStep(name, arguments):
                return self._method(name, arguments)

    def _method(self, name: str, arguments: tuple[Expression, ...]) -> Step:
        for variables in (2, 1):
            macro = MACROS.get((name, variables, len(arguments) - variables))
            if macro is not None and all(isinstance(one, Name) for one in arguments[:variables]):
                known, loop = macro, self._loop(arguments[:variables], arguments[variables:])
                return lambda value, scope: known(loop, value, scope)
        return _method(name, self._overloads(name, arguments, has_receiver=True), self._each(arguments))

    def _loop(self, variables: Sequence[Expression], bodies: Sequence[Expression]) -> _Loop:
        names = tuple(one.text for one in variables if isinstance(one, Name))
        self.bound += names
        evals = tuple(self._each(bodies))
        del self.bound[-len(names) :]
        return _Loop(names, evals)
