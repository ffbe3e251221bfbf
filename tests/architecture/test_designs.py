"""A design is one module: few others import it, and those are named here."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import modules

# Assembly counts as one. The algorithm works on units, so all of ``preemption`` may know them.
KNOWN_BY = {
    "resize": {"assembly"},
    "toleration": {
        "preemption/policy.py",  # its rule
        "scheduler/plans/toleration_rules.py",
        "scheduler/mirror/world.py",  # tells whether the time at which a pod was scheduled matters
    },
    "eviction_limit": {
        "assembly",
        "inquiry/seen_events.py",  # how often a workload may be evicted
        "preemption/policy.py",  # its rule
    },
    "units": {
        "assembly",
        "scheduler/deciding/plan_opening.py",  # marks whole groups
        "scheduler/reporting/explanation.py",
        "scheduler/reporting/spared_explanation.py",
        "scheduler/execution/last_look.py",  # finds the members that joined a unit since the decision
        "scheduler/planning/victims_in_flight.py",  # adds rules of eligibility
    },
}


def imports(tree: ast.Module) -> Iterator[str]:
    """The full names of all that a module imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)


@cache
def imported() -> dict[Path, frozenset[str]]:
    """By module of the package."""
    return {path: frozenset(imports(tree)) for path, tree in modules()}


def importers(design: str) -> set[str]:
    name = f"reprieve.preemption.{design}"
    found = {path for path, names in imported().items() if name in names}
    outside = {path for path in found if design != "units" or path.parts[0] != "preemption"}
    return {"assembly" if path.parts[0] == "assembly" else path.as_posix() for path in outside}


@pytest.mark.parametrize("design", KNOWN_BY)
def test_few_import_a_design(design: str) -> None:
    assert importers(design) == KNOWN_BY[design]


@pytest.mark.parametrize(
    "source",
    [
        "import reprieve.preemption.resize",
        "from reprieve.preemption import resize",
        "from reprieve.preemption.resize import DeferredResizes",
    ],
)
def test_an_import_is_found(source: str) -> None:
    assert "reprieve.preemption.resize" in imports(ast.parse(source))
