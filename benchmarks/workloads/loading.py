"""How long does it take to load the daemon, and how much memory does that take at its highest?

`reprieve scheduler --help` imports what the daemon needs and ends.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.product import COMMAND
from benchmarks.timing import Run, Spent, memory_in, summed_up

_CALLS = 10
# The process tells its memory itself: what the system tells of an ended one includes its parent's.
_PROGRAM = f"""
import sys
try:
    {COMMAND}
finally:
    sys.stderr.write(open("/proc/self/status").read())
"""


def measure(source: Path, calls: int = _CALLS) -> Run:
    load(source)  # compiles the modules
    found = [load(source) for _ in range(calls)]
    return summed_up([spent for spent, _ in found], rss_mb=max(memory for _, memory in found))


def load(source: Path) -> tuple[Spent, float]:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    began, busy = time.perf_counter(), _processor()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, "scheduler", "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    spent = Spent(time.perf_counter() - began, _processor() - busy)
    return spent, memory_in(done.stderr, "VmHWM")


def _processor() -> float:
    """Seconds of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
