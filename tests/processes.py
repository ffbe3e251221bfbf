"""Processes that tests start: every wait for one has a deadline, and none outlives its test.

Their signals are the default ones also where the tests run in the background: see `conftest.py`.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # seconds; the slowest takes a quarter of it on two busy cores
Command = str | Sequence[str | Path]


def run_process(command: Command, **options: Any) -> "subprocess.CompletedProcess[str]":
    """What a process said until it ended by itself. It may fail, unless ``check`` says otherwise."""
    usual = {"capture_output": True, "text": True, "check": False, "timeout": PATIENCE}
    return subprocess.run(command, **{**usual, **options})  # noqa: PLW1510  it is among the options


@contextmanager
def started(command: Command, **options: Any) -> Iterator[Any]:
    """A process that must end soon after the context does; one whose test has failed is killed."""
    with subprocess.Popen(command, **{"text": True, **options}) as process:
        try:
            yield process
            process.wait(PATIENCE)
        finally:
            process.kill()  # or else the end of `with` would wait for it, without a deadline
