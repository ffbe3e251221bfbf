"""How is one case measured in a process of its own, with the source of one revision?

As a program, it is that process: it prints what it measured as JSON.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks import growth
from benchmarks.cases import CASES, Case
from benchmarks.revisions import import_path
from benchmarks.timing import Run

ROOT = Path(__file__).parents[1]
_SECONDS = 3600.0  # the slowest case takes a few minutes


class RunFailedError(Exception):
    """The process ended without a result; the text is one sentence."""


def measured(case: Case, source: Path = ROOT) -> Run:
    """Waits for the process. A case that starts the product as a program runs beside it, as of today."""
    own = ROOT if case.beside else source
    environment = {**os.environ, "PYTHONPATH": import_path(own)}
    command = [sys.executable, "-m", "benchmarks.process", case.name, str(source)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RunFailedError(f"{case.name} has not ended within {_SECONDS:g} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RunFailedError(f"{case.name} cannot be measured: {said[-1]}")
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def measure_here(case: Case, source: Path) -> Run:
    """In this process, whose modules of the product must be those of the source."""
    found = Path(import_module("reprieve").__file__ or "")
    expected = ROOT if case.beside else source
    if not found.is_relative_to(expected):
        raise SystemExit(f"the product was found at {found}, not in {expected}")
    arguments = {**case.arguments, "source": source} if case.beside else case.arguments
    run: Run = import_module(f"benchmarks.workloads.{case.workload}").measure(**arguments)
    return run


if __name__ == "__main__":
    name, where = sys.argv[1:]
    print(json.dumps(asdict(measure_here({**CASES, **growth.CASES}[name], Path(where)))))
