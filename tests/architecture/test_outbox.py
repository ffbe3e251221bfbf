"""What is to be done to the cluster goes through the outbox, so that no effect is lost in silence.

Commands of the scheduler return no effects. Functions that answer a question make them, and the caller puts
what they made: a generator that nothing iterates, or a result that nobody looks at, would be lost.
"""

import ast
from collections.abc import Iterator
from functools import cache
from typing import get_args

import pytest

from reprieve.model.effects import Effect
from reprieve.scheduler.ledger.assumed import VolumeStep
from tests.architecture.source import modules

KINDS = {"Effect", "VolumeStep", "Step", *(kind.__name__ for kind in get_args(Effect))}
assert set(get_args(VolumeStep)) <= set(get_args(Effect))
# They make effects, and never see what a command may change.
MAKERS = {
    "scheduler/ledger/assumed.py",
    "scheduler/mirror/volumes.py",
    "scheduler/plans/handover.py",
    "scheduler/reporting/preemption_notes.py",
}
# The way out: whoever calls a step of the scheduler is handed what was put.
TAKERS = {"Scheduler.observe", "Outbox.take"}


@cache
def functions() -> tuple[tuple[str, str, ast.FunctionDef], ...]:
    """Those of the scheduler: module, name with that of the class, definition."""
    return tuple(
        (path.as_posix(), f"{owner}{node.name}", node)
        for path, tree in modules("scheduler")
        for owner, body in _bodies(tree)
        for node in body
        if isinstance(node, ast.FunctionDef)
    )


def _bodies(tree: ast.Module) -> Iterator[tuple[str, list[ast.stmt]]]:
    yield "", tree.body
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield f"{node.name}.", node.body


def made_by(function: ast.FunctionDef) -> set[str]:
    """The kinds of effects that its return annotation names."""
    if function.returns is None:
        return set()
    names = {node.id for node in ast.walk(function.returns) if isinstance(node, ast.Name)}
    return names & KINDS


def is_private(name: str) -> bool:
    return name.rpartition(".")[2].startswith("_")


def test_no_generator_makes_effects() -> None:
    generators = {
        f"{path}: {name}"
        for path, name, function in functions()
        if made_by(function)
        and any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
    }
    assert generators == set()


def test_only_modules_that_change_nothing_return_effects() -> None:
    others = {
        f"{path}: {name}"
        for path, name, function in functions()
        if made_by(function) and path not in MAKERS and name not in TAKERS and not _only_answers(function)
    }
    assert others == set()


def _only_answers(function: ast.FunctionDef) -> bool:
    """Whether it is one expression of its arguments: no statement could change anything, or put an effect."""
    kept = (ast.Return, ast.Assign, ast.AnnAssign, ast.If)
    statements = (node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function)
    return all(isinstance(one, kept) or _is_docstring(one) for one in statements)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def test_no_effect_is_made_and_dropped() -> None:
    makers = {name.rpartition(".")[2] for _, name, function in functions() if made_by(function)}
    makers |= KINDS
    makers -= {"observe", "take"}
    dropped = {
        f"{path}: {ast.unparse(node)}"
        for path, _, function in functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _called(node.value) in makers
    }
    assert dropped == set()


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


@pytest.mark.parametrize(
    ("source", "is_allowed"),
    [
        ("def f(x) -> Evict:\n    return Evict(x)", True),
        ("def f(x) -> Evict:\n    x.change()\n    return Evict(x)", False),
        ("def f(xs) -> list[Effect]:\n    for x in xs:\n        x.change()\n    return []", False),
    ],
)
def test_what_counts_as_an_answer(source: str, is_allowed: bool) -> None:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert made_by(function)
    assert _only_answers(function) is is_allowed
