"""Which jobs of a trace arrive when, for one seed? A window is cut out, time is compressed, blocks are drawn.

A trace is one sample of what could have happened. Blocks of it, drawn with replacement, are others: within a
block, arrivals keep their order and their bursts.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from reprieve.study.job import Job

_BLOCKS = 14  # of a week: half days


def in_window(jobs: Sequence[Job], begin: float, end: float) -> list[Job]:
    """What arrives within it, counted from its beginning."""
    return [replace(job, arrival=job.arrival - begin) for job in jobs if begin <= job.arrival < end]


def compressed(jobs: Sequence[Job], factor: float) -> list[Job]:
    """Arrivals come ``factor`` times as fast; jobs run as long as before."""
    return [replace(job, arrival=job.arrival / factor) for job in jobs]


def resampled(jobs: Sequence[Job], seed: int) -> list[Job]:
    """As many blocks as there are, each drawn from all of them."""
    if not jobs:
        return []
    chance = Random(f"reprieve blocks {seed}")
    length = (max(job.arrival for job in jobs) or 1.0) / _BLOCKS
    blocks: dict[int, list[Job]] = defaultdict(list)
    for job in jobs:
        blocks[min(int(job.arrival / length), _BLOCKS - 1)].append(job)
    found = []
    for place in range(_BLOCKS):
        drawn = chance.randrange(_BLOCKS)
        shift = (place - drawn) * length
        found += [
            replace(job, name=f"{job.name}.{place}", arrival=max(0.0, job.arrival + shift))
            for job in blocks[drawn]
        ]
    return sorted(found, key=lambda job: (job.arrival, job.name))


def with_drawn_priorities(jobs: Sequence[Job], priorities: Sequence[int], seed: int) -> list[Job]:
    """For a trace that has none: one for each job, by its name, so that all policies see the same."""
    if not priorities:
        return list(jobs)
    return [replace(job, priority=Random(f"{seed} {job.name}").choice(priorities)) for job in jobs]
