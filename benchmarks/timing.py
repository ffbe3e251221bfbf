"""How long did it take, on the clock and of the processor, and how much memory does this process have?

Both clocks are read, because they answer different questions: what a user waits for, and what the code costs.
On a machine that does other work at the same time, the second is steadier by far.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from types import TracebackType

PATIENCE = 180.0  # seconds in which a process that is waited for must have ended
_ENOUGH_SECONDS = 2.0  # of the processor: other work on the machine must not leave fewer calls to judge by
_MOST_CALLS = 1000
_FEWEST_CALLS = 3


@dataclass(frozen=True, slots=True)
class Spent:
    """The seconds of one call; ``units`` is how many things it did."""

    wall: float
    cpu: float
    units: int = 1


@dataclass(frozen=True, slots=True)
class Run:
    """What one process measured of a case: milliseconds for each thing, and memory in the end."""

    wall_ms: Sequence[float]
    cpu_ms: Sequence[float]
    per_second: float
    rss_mb: float
    asking: float = 0.0  # the part of the decisions that ask a solver for a better plan


class Stopwatch:
    """Adds up what happens in its ``with`` blocks, until ``taken``."""

    def __init__(self) -> None:
        self._wall = self._cpu = 0.0
        self._began = (0.0, 0.0)

    def __enter__(self) -> None:
        self._began = (perf_counter(), process_time())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        cpu, wall = process_time(), perf_counter()
        self._wall += wall - self._began[0]
        self._cpu += cpu - self._began[1]

    def taken(self, units: int = 1) -> Spent:
        spent = Spent(self._wall, self._cpu, units)
        self._wall = self._cpu = 0.0
        return spent


def repeats() -> Iterator[int]:
    """Numbers of calls, until enough were made for a median."""
    end = process_time() + _ENOUGH_SECONDS
    for number in range(_MOST_CALLS):
        if number >= _FEWEST_CALLS and process_time() > end:
            return
        yield number


def summed_up(
    spent: Sequence[Spent], rss_mb: float | None = None, per_second: float | None = None, asking: int = 0
) -> Run:
    """The memory is that of this process, and the rate follows from the times, unless given.

    ``asking``: how many of the calls asked a solver.
    """
    seconds, units = sum(one.wall for one in spent), sum(one.units for one in spent)
    return Run(
        wall_ms=[one.wall / one.units * 1e3 for one in spent],
        cpu_ms=[one.cpu / one.units * 1e3 for one in spent],
        per_second=units / seconds if per_second is None else per_second,
        rss_mb=memory_mb() if rss_mb is None else rss_mb,
        asking=asking / len(spent),
    )


def memory_mb(process: int | str = "self", what: str = "VmRSS") -> float:
    """``VmRSS``: resident now. ``VmHWM``: at its highest."""
    return memory_in(Path(f"/proc/{process}/status").read_text(), what)


def memory_in(status: str, what: str) -> float:
    line = next(line for line in status.splitlines() if line.startswith(f"{what}:"))
    return int(line.split()[1]) * 1024 / 1e6
