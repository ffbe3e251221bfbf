"""How long is it from the arrival of a demand until the first pod is deleted for it, in a full cluster?

`reprieve scheduler` runs as a program, with its solver in a process of its own. Demands come together; when
all of their pods are bound, the cluster is put back as it was, and the next ones come.
"""

import time
from pathlib import Path

from benchmarks.timing import Run, Spent, summed_up
from benchmarks.workloads.daemon_process import Process, running
from benchmarks.workloads.loading import compiled
from benchmarks.worlds.stage import Stage, crowded_stage

_ENOUGH = 100  # demands for a 99th percentile
_FEWEST_ROUNDS, _MOST_ROUNDS = 2, 20
_SETTLED_SECONDS = 2.0


def measure(  # noqa: PLR0913, PLR0917  all that makes a case
    source: Path,
    world: str,
    demands: int,
    pods: int,
    millicpu: int,
    search: str = "",
    nodes: int | None = None,
) -> Run:
    rounds = min(max(_ENOUGH // demands, _FEWEST_ROUNDS), _MOST_ROUNDS)
    with (
        compiled(source) as environment,
        crowded_stage(world, pods, millicpu, nodes) as stage,
        running(stage, environment, search=search) as process,
    ):
        _arrived(stage, process, range(1))  # until then, it learns the whole cluster, and starts a solver
        spent, most = list[Spent](), 0.0
        for number in range(1, rounds + 1):
            busy = process.processor()
            found = _arrived(stage, process, range(number * demands, (number + 1) * demands))
            cpu = (process.processor() - busy) / demands
            spent += [Spent(seconds, cpu) for seconds in found]
            most = max(most, process.most_memory())
        return summed_up(spent, rss_mb=most)


def _arrived(stage: Stage, process: Process, numbers: range) -> list[float]:
    """Of each demand, the seconds until the first delete."""
    stage.demand(numbers)
    process.wait_until_bound(stage)
    found = stage.first_deletes()  # not all: what is deleted for one demand may be enough for another
    time.sleep(_SETTLED_SECONDS)  # what is left to announce belongs to the demands
    stage.restore()
    time.sleep(_SETTLED_SECONDS)
    return found
