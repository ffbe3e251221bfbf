"""A feature gate is read in one place, and becomes a function there: no flag travels on."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from reprieve.scheduler.settings import Settings
from tests.architecture.source import modules

GATE_NAMES = {"Gates", "parse_feature_gates"}


def reads_of_gates(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="reprieve.config.gates"):
                yield f"line {node.lineno} imports reprieve.config.gates"
            case ast.ImportFrom(module="reprieve.config", names=names):
                for name in sorted({alias.name for alias in names} & (GATE_NAMES | {"gates"})):
                    yield f"line {node.lineno} imports {name}"
            case ast.Attribute(attr="gates"):
                yield f"line {node.lineno} reads .gates"


def may_read_gates(path: Path) -> bool:
    return path.parts[0] in {"config", "assembly"}


def test_only_assembly_reads_gates() -> None:
    found = [
        f"{path} {what}"
        for path, tree in modules()
        if not may_read_gates(path)
        for what in reads_of_gates(tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "from reprieve.config import Gates",
        "from reprieve.config.gates import parse_feature_gates",
        "if configuration.gates.preemption_toleration: pass",
    ],
)
def test_a_read_is_found(source: str) -> None:
    assert list(reads_of_gates(ast.parse(source)))


def test_what_assembly_hands_to_the_scheduler_has_no_flags() -> None:
    settings = Settings()
    strategies = (settings, settings.gangs, settings.group_rules, settings.tolerations)
    found = [
        f"{type(record).__name__}.{field.name}"
        for record in strategies
        for field in fields(record)
        if isinstance(getattr(record, field.name), bool)
    ]
    assert found == []
