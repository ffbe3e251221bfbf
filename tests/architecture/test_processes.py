"""Every wait for a process has a deadline; children have the default signals, also in the background."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.processes import run_process

FOLDERS = (ROOT / "tests", ROOT / "benchmarks", *(ROOT / "packages").glob("*/tests"))
RUNS = {"run", "call", "check_call", "check_output"}
WAITS = {"wait", "join", "communicate"}


def waits_for_ever(tree: ast.AST) -> Iterator[int]:
    """The lines of calls without a deadline. Coroutines that wait are not meant: their loop has one."""
    waited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    waited |= {id(one) for node in ast.walk(tree) if isinstance(node, ast.Call) for one in node.args}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        named = [keyword.arg for keyword in node.keywords]
        runs = ast.unparse(node.func.value) == "subprocess" and node.func.attr in RUNS
        if runs and "timeout" not in named and None not in named:
            yield node.lineno
        if node.func.attr in WAITS and not (node.args or named or id(node) in waited):
            yield node.lineno


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_every_wait_for_a_process_has_a_deadline(folder: Path) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(folder.rglob("*.py"))
        for line in waits_for_ever(ast.parse(path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize(
    "call", ["subprocess.run(command)", "process.wait()", "process.communicate()", "process.join()"]
)
def test_a_wait_without_one_is_found(call: str) -> None:
    assert list(waits_for_ever(ast.parse(call))) == [1]


def test_children_have_default_signals_where_the_tests_run_in_the_background() -> None:
    told = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    tests = (
        "import subprocess, sys; from conftest import pytest_configure; pytest_configure(); "
        f"print(subprocess.check_output([sys.executable, '-c', {told!r}], text=True, timeout=60))"
    )
    # A shell without job control starts what it runs in the background with SIGINT ignored.
    ignoring = ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c"]
    assert run_process([*ignoring, told], cwd=ROOT).stdout.strip() == "False"
    assert run_process([*ignoring, tests], cwd=ROOT).stdout.strip() == "True"
