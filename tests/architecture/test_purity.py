"""Code that decides has no clock and no randomness, and reads and writes nothing.

The import contracts keep whole modules out. This finds what comes in through an innocent module
(`datetime.now()`, `np.random`) or needs no import at all (`open`, `print`).
"""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source import modules

PURE = ("model", "placement", "preemption", "scheduler")
CLOCK_METHODS = {"now", "utcnow", "today"}
CHANCE = {"random", "shuffle", "default_rng", "uuid4", "urandom"}
READS_OR_WRITES = {"open", "print", "input", "breakpoint", "exec", "eval"}


def impurities(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCK_METHODS:
                yield f"line {node.lineno} asks for the time: {name}()"
            case ast.Attribute(attr=name) if name in CHANCE:
                yield f"line {node.lineno} leaves it to chance: {name}"
            case ast.Call(func=ast.Name(id=name)) if name in READS_OR_WRITES:
                yield f"line {node.lineno} reads or writes: {name}()"


def test_the_core_is_pure() -> None:
    found = [f"{path} {what}" for path, tree in modules(*PURE) for what in impurities(tree)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    ["datetime.now()", "date.today()", "np.random.default_rng(1)", "open('x')", "uuid.uuid4()"],
)
def test_an_impurity_is_found(source: str) -> None:
    assert list(impurities(ast.parse(source)))


@pytest.mark.parametrize("source", ["now + 1", "decide(now)", "handover.open", "plan.open(now)"])
def test_a_moment_that_was_handed_in_is_no_clock(source: str) -> None:
    assert list(impurities(ast.parse(source))) == []
