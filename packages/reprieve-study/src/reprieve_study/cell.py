"""One cell of a study: a policy meets a trace, for one seed. A pure function of its input.

The input is data that any process can be handed. What a policy means for a scheduler is not known here.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import msgspec

from reprieve.model.objects import Node
from reprieve.model.resources import PODS, milli
from reprieve.runtime.observers import Machine
from reprieve_study.generator import GeneratorOptions, generated, resampled, with_drawn_priorities
from reprieve_study.job import Job
from reprieve_study.measures import Measured, Measures
from reprieve_study.simulation import EPOCH, Simulation

_STARTS = 600.0  # seconds beside the work of jobs, for starts, grace periods and backoff
_DRAINS = 2.0  # after the last arrival jobs may run on for so many times the length of the trace, or its work


class StudyInput(msgspec.Struct, frozen=True):
    """What all cells of a study have in common. Jobs are given, or made up for each seed."""

    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...] = ()
    generator: GeneratorOptions | None = None
    drawn_priorities: tuple[int, ...] = ()
    is_resampled: bool = False  # whether each seed draws blocks of the trace; otherwise it is played as it is
    warmup: float = 0.1  # the share of the trace that does not count

    def jobs_for(self, seed: int) -> list[Job]:
        if self.generator is not None:
            return generated(self.generator, seed)
        drawn = with_drawn_priorities(self.jobs, self.drawn_priorities, seed)
        return resampled(drawn, seed) if self.is_resampled else drawn


class StudiedPolicy(msgspec.Struct, frozen=True):
    """``document``: a KubeSchedulerConfiguration as JSON."""

    name: str
    document: bytes


@dataclass(frozen=True, slots=True)
class CellKey:
    """Names a cell by its content: the same key, the same result."""

    policy: str
    seed: int
    digest: str


def encoded(content: StudyInput) -> bytes:
    return msgspec.msgpack.encode(content)


def cell_key(content: bytes, policy: StudiedPolicy, seed: int, version: str) -> CellKey:
    parts = (content, policy.document, str(seed).encode(), version.encode())
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return CellKey(policy.name, seed, digest.hexdigest())


@lru_cache(maxsize=2)
def _decoded(content: bytes) -> StudyInput:
    return msgspec.msgpack.decode(content, type=StudyInput)


def play(content: bytes, scheduler: Machine, scheduler_name: str, seed: int) -> Measured:
    given = _decoded(content)
    jobs = [job for job in given.jobs_for(seed) if fits_at_all(job, given.nodes)]
    span = max((job.arrival for job in jobs), default=0.0)
    measures = Measures(given.nodes, jobs, EPOCH, (span * given.warmup, span))
    longest = max((job.duration for job in jobs), default=0.0)
    simulation = Simulation(scheduler, given.nodes, measures, scheduler_name)
    drains = max(span, _busy_seconds(jobs, given.nodes)) * _DRAINS  # all may arrive at once
    outcome = simulation.run(jobs, span + drains + longest + _STARTS)
    return measures.result(outcome.unfinished)


def _busy_seconds(jobs: Sequence[Job], nodes: Sequence[Node]) -> float:
    """For how long the work of all jobs would fill the cluster, by the resource that is filled longest."""
    asked = defaultdict[str, float](float)
    for job in jobs:
        asked[PODS] += 1000 * job.pods * job.duration
        for name, quantity in job.requests:
            asked[name] += (milli(quantity) or 0) * job.pods * job.duration
    offered = {name: sum(milli(one.status.allocatable.get(name, 0)) or 0 for one in nodes) for name in asked}
    return max((amount / offered[name] for name, amount in asked.items() if offered[name]), default=0.0)


def fits_at_all(job: Job, nodes: Sequence[Node]) -> bool:
    """Whether the empty cluster has room for it: for its minimum, if it is a gang."""
    asked = [(name, milli(quantity) or 0) for name, quantity in job.requests]
    room = 0
    for node in nodes:
        labels, offered = node.metadata.labels, node.status.allocatable
        if any(labels.get(key) != value for key, value in job.selector):
            continue
        counts = [(milli(offered.get(name, 0)) or 0) // amount for name, amount in asked if amount]
        room += min(counts, default=job.pods)
        if room >= max(job.gang, 1):
            return True
    return False
