"""One cell of a study: a policy meets a trace, for one seed, in virtual time. A pure function of its input.

The loop is that of the runtime: what happened is shown before anything is decided, and then some demands are
decided in a row. The input is data that any process can be handed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Protocol

import msgspec

from reprieve.model.effects import Effect, Evict
from reprieve.model.events import Event, PlanImproved, Synced
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import Node, Pod
from reprieve.model.resources import PODS, milli
from reprieve.preemption.least_disturbance.solver_task import (
    ImprovePlan,
    answer_of,
    message_of,
    solved,
    spent_on,
)
from reprieve.runtime.in_memory_loop import InMemoryLoop
from reprieve.runtime.observers import Machine
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decided, Decision
from reprieve_study.agenda import Agenda
from reprieve_study.generator import GeneratorOptions, generated, resampled, with_drawn_priorities
from reprieve_study.job import Job
from reprieve_study.job_controller import JobController, JobListener
from reprieve_study.light_cluster import LightCluster
from reprieve_study.measures import Measured, Measures

EPOCH = 1_700_000_000.0  # a moment at which all simulations begin; any will do
_DECISIONS_IN_A_ROW = 16
_SAMPLES = 168  # until the last arrival: of a week, one an hour
_UNITS_PER_SECOND = 2_000.0  # as plans are improved in virtual time


class SimulationListener(JobListener, Protocol):
    def evicted(self, pods: int, now: float) -> None:
        """The scheduler evicted so many pods."""

    def decided(self, decision: Decision, now: float) -> None: ...

    def recorded(self, records: Sequence[PlanRecord], now: float) -> None: ...

    def sampled(self, pods: Iterable[Pod], now: float) -> None:
        """The pods that exist at a moment; called at regular intervals while there are jobs."""


@dataclass(frozen=True, slots=True)
class SimulationEnd:
    """``ended``: the last moment, in seconds of the trace."""

    unfinished: tuple[Job, ...]
    decisions: int
    ended: float


class Simulation:
    def __init__(
        self,
        scheduler: Machine,
        nodes: Iterable[Node],
        listener: SimulationListener,
        scheduler_name: str,
    ) -> None:
        self._scheduler = scheduler
        self._listener = listener
        self._agenda = Agenda()
        self._cluster = LightCluster(nodes, self._agenda)
        self._jobs = JobController(self._cluster, self._agenda, listener, scheduler_name)
        self._cluster.on_started = self._jobs.pod_started
        self._cluster.on_leaving = self._jobs.pod_leaves
        self._cluster.on_gone = self._jobs.pod_gone
        self._loop = InMemoryLoop(scheduler, self, _DECISIONS_IN_A_ROW)
        self._answers: list[Event] = []
        self._wakes: float | None = None  # as the scheduler said when it was last called
        self._solver_free_at = EPOCH
        self._evicted = set[str]()
        self._decisions = 0

    def run(self, jobs: Iterable[Job], until: float) -> SimulationEnd:
        """``until``: seconds of the trace after which it is cut off, whatever still runs or waits."""
        last_arrival = 0.0
        for job in jobs:
            self._agenda.at(EPOCH + job.arrival, partial(self._jobs.arrive, job))
            last_arrival = max(last_arrival, job.arrival)
        for i in range(1, _SAMPLES + 1):
            self._agenda.at(EPOCH + last_arrival * i / _SAMPLES, self._sample)
        now: float | None = EPOCH
        last = EPOCH
        self.on_observed(
            self._scheduler.observe([*self._cluster.taken(), Synced()], on_one_clock(EPOCH)), EPOCH
        )
        self._wakes = self._scheduler.next_time().on_one_clock
        while now is not None and now <= EPOCH + until:
            last = now
            self._settle(now)
            now = self._next_time(now)
        return SimulationEnd(tuple(self._jobs.unfinished()), self._decisions, last - EPOCH)

    def _settle(self, now: float) -> None:
        """Everything happens that is due."""
        if self.has_news(now) or (self._wakes is not None and self._wakes <= now):
            self._loop.settle(now)
            self._wakes = self._scheduler.next_time().on_one_clock

    def _next_time(self, now: float) -> float | None:
        """None if nothing will ever happen again."""
        due, wakes = self._agenda.next_time, self._wakes if self._jobs.is_busy else None
        if due is None or wakes is None:
            moment = wakes if due is None else due
            return None if moment is None else max(now, moment)
        return max(now, min(due, wakes))

    def has_news(self, now: float) -> bool:
        self._cluster.advance(now)
        return bool(self._answers) or self._cluster.has_news

    def take_events(self) -> list[Event]:
        answers, self._answers = self._answers, []
        return self._cluster.taken() + answers

    def on_observed(self, effects: Sequence[Effect], now: float) -> None:
        self._perform(effects, now)
        self._record(now)

    def on_decided(self, decided: Decided | None, now: float) -> None:
        self._record(now)
        if decided is None:
            return
        self._decisions += 1
        self._listener.decided(decided.decision, now)
        self._perform(decided.effects, now)
        if decided.improve is not None:
            self._improve(decided.improve, now)

    def _perform(self, effects: Sequence[Effect], now: float) -> None:
        self._cluster.perform(effects)
        evicted = {effect.target.uid for effect in effects if isinstance(effect, Evict)} - self._evicted
        if evicted:  # counted once: two plans may evict the same pod
            self._evicted |= evicted
            self._listener.evicted(len(evicted), now)

    def _sample(self, now: float) -> None:
        self._listener.sampled(self._cluster.pods(), now)

    def _record(self, now: float) -> None:
        records = self._scheduler.records()
        if records:
            self._listener.recorded(records, now)

    # --- plans that are improved -----------------------------------------------------------------

    def _improve(self, request: ImprovePlan, now: float) -> None:
        """Solved at once, and answered when a worker would be done: one request after the other."""
        answer = solved(message_of(request))
        begins = max(now, self._solver_free_at)
        ends = begins + spent_on(answer) / _UNITS_PER_SECOND
        given_up = now + request.patience
        found = answer_of(request, answer) if ends <= given_up else PlanImproved(request.demand, request.id)
        at = min(ends, given_up)
        self._solver_free_at = max(self._solver_free_at, at)
        self._agenda.at(at, lambda _now: self._answers.append(found))


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
    """How long the work of all jobs would fill the cluster, by the resource that is filled longest."""
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
