"""How long does it take to load the daemon, and how much memory does that take at its highest?

`reprieve scheduler --help` imports what the daemon needs and ends.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.product import COMMAND
from benchmarks.revisions import import_path
from benchmarks.timing import PATIENCE, Run, Spent, memory_in, summed_up

_CALLS = 10
# The process tells its memory itself: what the system tells of an ended one includes its parent's.
_PROGRAM = f"""
import sys
try:
    {COMMAND}
finally:
    sys.stderr.write(open("/proc/self/status").read())
"""

Environment = Mapping[str, str]


def measure(source: Path, calls: int = _CALLS) -> Run:
    with compiled(source) as environment:
        found = [_loaded(environment) for _ in range(calls)]
    return summed_up([spent for spent, _ in found], rss_mb=max(memory for _, memory in found))


@contextmanager
def compiled(source: Path) -> Iterator[Environment]:
    """In which the product is that of the source, and all its modules have been compiled before.

    An installed daemon has them compiled, too. The source may be a folder that is not to be written to.
    """
    with TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": import_path(source), "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        _loaded(environment)
        yield environment


def _loaded(environment: Environment) -> tuple[Spent, float]:
    """What it took, and the memory."""
    command = [sys.executable, "-c", _PROGRAM, "scheduler", "--help"]
    began, busy = time.perf_counter(), _processor()
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    spent = Spent(time.perf_counter() - began, _processor() - busy)
    return spent, memory_in(done.stderr, "VmHWM")


def _processor() -> float:
    """Seconds of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
