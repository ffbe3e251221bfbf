"""Two clocks: neither is taken for the other, and durations are measured on the one that is never set.

Of which clock a number is follows from where it comes from. That is followed through variables, fields and
calls, to parameters and to what is returned. Functions are told apart by their names alone, so that only what
is annotated as a float is followed.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.source import modules

WALL, ELAPSED = "wall", "elapsed"
# What has such a name is of this clock, or returns what is.
NAMED = {
    **dict.fromkeys(("wall", "clock", "timestamp", "wall_at"), WALL),
    **dict.fromkeys(("elapsed", "monotonic", "elapsed_at"), ELAPSED),
}
FLOATS = ("float", "float | None")
BOTH = Path("model/moment.py")  # it has both clocks, and says how far apart they are

# Times of day that are read or written, and how far apart they are says something.
SUBTRACTING = {
    "cluster/kube/lease.py": "for how long it holds, by whichever clock is ahead",
    "inquiry/why_victim.py": "how long a pod was protected from its start",
    "scheduler/reporting/explanation.py": "what is left of the time for a resize",
    "scheduler/reporting/status_reporter.py": "whether a condition shows the start of a run",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Slot = tuple[Path, int, str]  # a variable or a field: its name, and the line of its function or class
Takes = dict[int | str, Slot]  # what a function or a class is called with, by position and by name


class Scope(NamedTuple):
    module: Path
    function: Function
    owner: ast.ClassDef | None


class Clocks:
    """Of which clock the numbers are that some modules keep."""

    def __init__(self, trees: Iterable[tuple[Path, ast.Module]]) -> None:
        self._of: dict[Slot, set[str]] = defaultdict(set)
        self._takers: dict[str, list[Takes]] = defaultdict(list)
        self._fields: dict[tuple[Path, str], set[Slot]] = defaultdict(set)  # of any class of the module
        self._scopes: list[Scope] = []
        for module, tree in trees:
            classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
            owners = {id(node): owner for owner in classes for node in owner.body}
            for owner in classes:
                self._read_class(module, owner)
            for node in ast.walk(tree):
                if isinstance(node, Function):
                    self._read_function(Scope(module, node, owners.get(id(node))))
        while sum(self._follow(scope) for scope in self._scopes):
            pass

    # --- where numbers are kept ---

    def _read_class(self, module: Path, owner: ast.ClassDef) -> None:
        takes: Takes = {}
        for place, node in enumerate(node for node in owner.body if isinstance(node, ast.AnnAssign)):
            slot = module, owner.lineno, ast.unparse(node.target)
            self._fields[module, slot[2]].add(slot)
            if _is_float(node.annotation):
                takes[place] = takes[slot[2]] = slot
        self._takers[owner.name].append(takes)

    def _read_function(self, scope: Scope) -> None:
        module, function, owner = scope
        self._scopes.append(scope)
        is_bound = owner is not None and "staticmethod" not in map(ast.unparse, function.decorator_list)
        args = [*function.args.posonlyargs, *function.args.args][is_bound:]
        takes: Takes = {}
        for place, arg in enumerate([*args, *function.args.kwonlyargs]):
            if _is_float(arg.annotation):
                takes[place] = takes[arg.arg] = module, function.lineno, arg.arg
        makes = owner is not None and function.name == "__init__"
        self._takers[owner.name if owner is not None and makes else function.name].append(takes)

    # --- where they come from ---

    def _follow(self, scope: Scope) -> int:
        """How much more is known than before."""
        found = {
            (slot, clock)
            for node in ast.walk(scope.function)
            for slot, value in self._given(node, scope)
            for clock in self._clocks(value, scope) - self._of[slot]
        }
        for slot, clock in found:
            self._of[slot].add(clock)
        return len(found)

    def _given(self, node: ast.AST, scope: Scope) -> Iterator[tuple[Slot, ast.expr]]:
        """What a statement or a call hands to what."""
        match node:
            case ast.Assign(targets=[to], value=value) | ast.AnnAssign(target=to, value=ast.expr() as value):
                yield from ((slot, value) for slot in self._slots(to, scope))
            case ast.Return(value=ast.expr() as value) if _is_float(scope.function.returns):
                yield _returned(scope.function.name), value
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=words):
                given: list[tuple[int | str | None, ast.expr]] = [*enumerate(args)]
                given += [(word.arg, word.value) for word in words]
                for takes in self._takers.get(name, ()):
                    yield from ((takes[key], value) for key, value in given if key in takes)

    def _slots(self, target: ast.expr, scope: Scope) -> set[Slot]:
        match target:
            case ast.Name(id=name):
                return {(scope.module, scope.function.lineno, name)}
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if scope.owner is not None:
                return {(scope.module, scope.owner.lineno, name)}
            case ast.Attribute(attr=name):
                return self._fields[scope.module, name]
        return set()

    def _clocks(self, value: ast.expr, scope: Scope) -> set[str]:
        match value:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMED:
                return {NAMED[name]}
            case ast.Name() | ast.Attribute():
                return set().union(*(self._of[slot] for slot in self._slots(value, scope)))
            case ast.Call(func=ast.Attribute(value=owner, attr="time")):  # of the module, or of an event loop
                return {WALL if ast.unparse(owner) == "time" else ELAPSED}
            case ast.Call(func=ast.Name(id="min" | "max"), args=parts) | ast.BoolOp(values=parts):
                return self._any(parts, scope)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                told = NAMED.get(name.lstrip("_"))
                return {told} if told is not None else self._of[_returned(name)]
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, op=ast.Add(), right=other):
                return self._any([one, other], scope)
            case ast.BinOp(left=left, op=ast.Sub(), right=right) if not self._clocks(right, scope):
                return self._clocks(left, scope)
        return set()

    def _any(self, values: Iterable[ast.expr], scope: Scope) -> set[str]:
        return set().union(*(self._clocks(value, scope) for value in values))

    # --- what is wrong with them ---

    def mixed(self) -> set[str]:
        """Where one clock is taken for the other."""
        named = ((slot, {NAMED[slot[2]]} if slot[2] in NAMED else set()) for slot in self._of)
        kept = {f"{slot[0]}: {slot[2]}" for slot, said in named if len(self._of[slot] | said) > 1}
        return kept | {f"{scope.module}: {ast.unparse(node)}" for scope, node in self._comparing()}

    def _comparing(self) -> Iterator[tuple[Scope, ast.expr]]:
        for scope, node in self._nodes():
            match node:
                case ast.Compare(left=left, comparators=others) if len(self._any([left, *others], scope)) > 1:
                    yield scope, node
                case ast.BinOp(left=left, right=right) if len(self._any([left, right], scope)) > 1:
                    yield scope, node

    def subtracting(self) -> dict[str, str]:
        """Where a time of day is subtracted: the module, and what it says."""
        return {
            scope.module.as_posix(): ast.unparse(node)
            for scope, node in self._nodes()
            if isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Sub)
            and WALL in self._clocks(node.right, scope)
        }

    def _nodes(self) -> Iterator[tuple[Scope, ast.AST]]:
        return ((scope, node) for scope in self._scopes for node in ast.walk(scope.function))


def _is_float(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) in FLOATS


def _returned(function: str) -> Slot:
    return Path(), 0, function


@pytest.fixture(scope="module")
def clocks() -> Clocks:
    others = ("reprieve_minicluster", "reprieve_study")  # they have one clock
    return Clocks((path, tree) for path, tree in modules() if path != BOTH and path.parts[0] not in others)


def test_neither_clock_is_taken_for_the_other(clocks: Clocks) -> None:
    assert clocks.mixed() == set()


def test_few_subtract_times_of_day(clocks: Clocks) -> None:
    assert clocks.subtracting().keys() == SUBTRACTING.keys(), clocks.subtracting()


def clocks_in(source: str) -> Clocks:
    return Clocks([(Path("a.py"), ast.parse(source))])


# What is kept, called or returned here is called by `f`.
PARTS = """
class A:
    at: float
    def set(self, now):
        self.since = now.wall
    def passed(self, now):
        return now.elapsed - self.since
def g(number: int, at: float) -> float:
    return at + number
def h(wall: float, *, elapsed: float = 0.0): ...
"""


@pytest.mark.parametrize(
    "body",
    [
        "h(now.elapsed)",
        "h(0, elapsed=now.wall)",
        "g(1, now.elapsed), g(1, now.wall)",
        "h(g(1, now.elapsed))",
        "until = now.elapsed + 5; until <= now.wall",
        "A(now.elapsed).at < now.wall",
        "loop.time() - time.time()",
        "(now.wall if now else now.elapsed) < 5",
    ],
)
def test_a_clock_that_is_taken_for_the_other_is_found(body: str) -> None:
    parts, source = clocks_in(PARTS).mixed(), f"{PARTS}def f(now):\n    {body}"
    assert parts == {"a.py: now.elapsed - self.since"}
    assert clocks_in(source).mixed() > parts


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("def f(now, other):\n    return now.wall - other.wall", True),
        ("def f(now):\n    g(now.wall)\ndef g(now: float):\n    return 5 - now", True),
        ("def f(thing):\n    return 5 - thing.start.timestamp()", True),
        ("def f(now):\n    return now.wall - 60", False),
        ("def f(now, other):\n    return now.elapsed - other.elapsed", False),
    ],
)
def test_a_difference_of_times_of_day_is_found(source: str, is_found: bool) -> None:
    found = clocks_in(source)
    assert bool(found.subtracting()) is is_found
    assert found.mixed() == set()
