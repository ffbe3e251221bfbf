"""Which jobs could a busy cluster with gangs see? A trace that is made up from a seed.

Public traces have no gangs with priorities, and where nothing is contended, policies do not differ. So this
one has both: tenants of different sizes, services under budgets, batch jobs, and gangs for training, at a
load that is a share of what the nodes offer. Every number is a parameter or stated here.

Any trace is one sample of what could have happened. Blocks of it, drawn with replacement, are others:
within a block, arrivals keep their order and their bursts (``resampled``).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from random import Random

from reprieve_study.job import GPU, Job

_DAY = 86_400.0
_SHORTEST, _LONGEST = 60.0, 2 * _DAY
_PRIORITIES = {"service": 1000, "urgent": 500, "training": 100, "batch": 0}
SHARES = ("gangs", "services", "urgent")
WHOLE_NUMBERS = ("nodes", "tenants")


@dataclass(frozen=True, slots=True)
class GeneratorOptions:
    """``load``: asked work as a share of what the GPUs offer. ``gangs``, ``services``, ``urgent``: shares of
    that work; the rest is batch jobs."""

    days: float = 7.0
    nodes: int = 200
    load: float = 1.0
    gangs: float = 0.5
    services: float = 0.15
    urgent: float = 0.1
    tenants: int = 6
    mean_hours: float = 3.0


def option_names() -> tuple[str, ...]:
    return tuple(one.name for one in fields(GeneratorOptions))


def generated(options: GeneratorOptions, seed: int) -> list[Job]:
    """Make up jobs, in the order of arrival."""
    chance = Random(f"reprieve trace {seed}")
    work = options.load * options.nodes * 8 * options.days * _DAY  # in GPU seconds
    shares = {
        "service": options.services,
        "urgent": options.urgent,
        "training": options.gangs,
        "batch": max(0.0, 1 - options.services - options.urgent - options.gangs),
    }
    jobs = [job for kind, share in shares.items() for job in _of_kind(kind, share * work, options, chance)]
    return sorted(jobs, key=lambda job: (job.arrival, job.name))


def _of_kind(kind: str, work: float, options: GeneratorOptions, chance: Random) -> Iterator[Job]:
    """Jobs of one kind, until they ask for that much work."""
    number = 0
    while work > 0:
        job = _job(kind, f"{kind}-{number}", options, chance)
        work -= job.pods * job.duration * float(dict(job.requests)[GPU])
        number += 1
        yield job


def _job(kind: str, name: str, options: GeneratorOptions, chance: Random) -> Job:
    pods, gpus, gang = _shape(kind, chance)
    # Durations have a long tail, as in all published traces.
    spread = 1.2
    hours = options.mean_hours * (4 if kind == "service" else 1)
    duration = chance.lognormvariate(math.log(hours * 3600) - spread**2 / 2, spread)
    return Job(
        name=name,
        arrival=_arrival(options.days, chance),
        duration=round(min(max(duration, _SHORTEST), _LONGEST), 1),
        pods=pods,
        requests=(("cpu", str(8 * gpus)), ("memory", f"{32 * gpus}Gi"), (GPU, str(gpus))),
        priority=_PRIORITIES[kind],
        gang=gang,
        whole=gang > 0 and chance.random() < 0.7,
        tenant=f"team-{_tenant(options.tenants, chance)}",
        budget=max(1, pods - 1) if kind == "service" and pods > 1 else None,
        checkpoint=1800.0 if kind == "training" and chance.random() < 0.5 else 0.0,
        grace=float(chance.choice((5, 30, 60))),
    )


def _shape(kind: str, chance: Random) -> tuple[int, int, int]:
    """Pods, GPUs of each, and how many must run together."""
    match kind:
        case "training":
            pods = chance.choices((2, 4, 8, 16, 32), (30, 30, 25, 10, 5))[0]
            return pods, chance.choice((1, 2, 4, 8)), pods
        case "urgent":
            pods = chance.choices((1, 2, 4, 8), (50, 25, 15, 10))[0]
            return pods, chance.choice((1, 2, 4, 8)), pods if pods > 1 else 0
        case "service":
            return chance.choice((1, 2, 3, 4)), chance.choice((1, 1, 2)), 0
    return chance.choices((1, 2, 4), (80, 15, 5))[0], chance.choices((1, 2, 4, 8), (60, 20, 15, 5))[0], 0


def _arrival(days: float, chance: Random) -> float:
    """More by day than by night."""
    while True:
        moment = chance.uniform(0, days * _DAY)
        if chance.random() * 1.5 < 1 + 0.5 * math.sin(2 * math.pi * (moment / _DAY - 0.375)):
            return round(moment, 1)


def _tenant(tenants: int, chance: Random) -> int:
    """The first is the largest: sizes fall as 1, 1/2, 1/3, …"""
    return chance.choices(range(tenants), [1 / (i + 1) for i in range(tenants)])[0]


_BLOCKS = 14  # of a week: half days


def in_window(jobs: Sequence[Job], begin: float, end: float) -> list[Job]:
    """What arrives within it, counted from its beginning."""
    return [replace(job, arrival=job.arrival - begin) for job in jobs if begin <= job.arrival < end]


def compressed(jobs: Sequence[Job], factor: float) -> list[Job]:
    """Arrivals come ``factor`` times as fast; jobs run as long as before."""
    return [replace(job, arrival=job.arrival / factor) for job in jobs]


def resampled(jobs: Sequence[Job], seed: int) -> list[Job]:
    """Draw as many blocks as there are, each from all of them."""
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
    """Draw a priority for each job, by its name, so that all policies see the same."""
    if not priorities:
        return list(jobs)
    return [replace(job, priority=Random(f"{seed} {job.name}").choice(priorities)) for job in jobs]
