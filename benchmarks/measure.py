"""Taking time: the median of many calls, and what machine that was on."""

import platform
import subprocess
from collections.abc import Callable
from os import cpu_count
from statistics import median
from time import perf_counter

_ENOUGH_SECONDS = 0.2
_ENOUGH_CALLS = 200


def microseconds(call: Callable[[], object]) -> float:
    """The median time of one call, after one call to warm the caches."""
    call()
    times: list[float] = []
    end = perf_counter() + _ENOUGH_SECONDS
    while len(times) < _ENOUGH_CALLS and (perf_counter() < end or not times):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return median(times) * 1e6


def machine() -> dict[str, object]:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": cpu_count(),
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
