"""What does a study cost: a trace of jobs, played in virtual time under the default policy?

Jobs are single pods with 1 to 4 GPUs and four priorities, at a share of what the nodes offer. So the figure
is that of the loop and of decisions that find room; gangs that wait and preempt cost more.
"""

from random import Random
from typing import Any

from benchmarks.driving import configured
from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, summed_up

_WEEK = 7 * 86_400.0
_LOAD = 0.4
_SPREAD = 1.0  # of the logarithm of durations: a long tail


def measure(nodes: int, jobs: int, as_one: bool = False) -> Run:
    """``as_one``: the figure is that of the whole trace, otherwise that of a job."""
    settings = configured()
    content = find("encoded")(find("StudyInput")(find("pool")(f"gpu8x{nodes}"), _trace(nodes, jobs)))
    watch = Stopwatch()
    with watch:
        measured = find("play")(content, find("Scheduler")(settings), next(iter(settings.profiles)), 0)
    if measured.finished != jobs:
        raise SystemExit(f"expected all {jobs} jobs to end, got {measured.finished}")
    return summed_up([watch.taken(1 if as_one else jobs)])


def _trace(nodes: int, jobs: int) -> tuple[Any, ...]:
    """In the order of arrival, over a week."""
    chance = Random("reprieve benchmark")
    mean = _LOAD * nodes * 8 * _WEEK / jobs  # GPU seconds of a job
    found = [_job(i, mean, chance) for i in range(jobs)]
    return tuple(sorted(found, key=lambda job: job.arrival))


def _job(i: int, mean: float, chance: Random) -> Any:
    gpus = chance.choice((1, 1, 1, 1, 2, 4))
    duration = mean / gpus * chance.lognormvariate(-(_SPREAD**2) / 2, _SPREAD)
    return find("Job")(
        name=f"job-{i}",
        arrival=chance.uniform(0, _WEEK),
        duration=min(max(duration, 30.0), _WEEK),
        requests=(("cpu", str(8 * gpus)), ("memory", f"{32 * gpus}Gi"), ("nvidia.com/gpu", str(gpus))),
        priority=chance.choice((0, 0, 100, 1000)),
        tenant=f"team-{chance.randrange(5)}",
    )
