"""How does a scheduler fare with a trace? Both run in virtual time, until every job is done or nothing moves.

The loop is that of the runtime: what happened is shown before anything is decided, and then some demands are
decided in a row. Which scheduler it is, and what is measured, is not known here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from reprieve.model.effects import Effect, Evict
from reprieve.model.events import Event, PlanImproved, Synced
from reprieve.model.objects import Node, Pod
from reprieve.preemption.least_disturbance.solver_task import (
    ImprovePlan,
    answer_of,
    message_of,
    solved,
    spent_on,
)
from reprieve.scheduler.decision import Decided, Decision
from reprieve.scheduler.plan_records import PlanRecord
from reprieve.study.agenda import Agenda
from reprieve.study.job import Job
from reprieve.study.job_controller import JobController, JobListener
from reprieve.study.light_cluster import LightCluster

EPOCH = 1_700_000_000.0  # a moment at which all simulations begin; any will do
_DECISIONS_IN_A_ROW = 16
_SAMPLES = 168  # until the last arrival: of a week, one an hour
_UNITS_PER_SECOND = 2_000.0  # as plans are improved in virtual time


class SimulatedScheduler(Protocol):
    def observe(self, events: Iterable[Event], now: float) -> list[Effect]: ...

    def decide(self, now: float) -> Decided | None: ...

    def records(self) -> tuple[PlanRecord, ...]: ...

    def next_time(self) -> float | None: ...


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
        scheduler: SimulatedScheduler,
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
        self._observe([*self._cluster.taken(), Synced()], EPOCH)
        self._wakes = self._scheduler.next_time()
        while now is not None and now <= EPOCH + until:
            last = now
            self._settle(now)
            now = self._next_time(now)
        return SimulationEnd(tuple(self._jobs.unfinished()), self._decisions, last - EPOCH)

    def _settle(self, now: float) -> None:
        """Everything happens that is due. The scheduler observes also without events: a time may be over."""
        if not self._has_news(now) and (self._wakes is None or self._wakes > now):
            return
        while True:
            self._observe(self._cluster.taken() + self._answered(), now)
            while not self._has_news(now):
                if not self._decide_some(now):
                    self._wakes = self._scheduler.next_time()
                    return

    def _has_news(self, now: float) -> bool:
        self._cluster.advance(now)
        return bool(self._answers) or self._cluster.has_news

    def _next_time(self, now: float) -> float | None:
        """None if nothing will ever happen again."""
        due, wakes = self._agenda.next_time, self._wakes if self._jobs.is_busy else None
        if due is None or wakes is None:
            moment = wakes if due is None else due
            return None if moment is None else max(now, moment)
        return max(now, min(due, wakes))

    def _observe(self, events: Sequence[Event], now: float) -> None:
        self._perform(self._scheduler.observe(events, now), now)
        self._record(now)

    def _perform(self, effects: Sequence[Effect], now: float) -> None:
        self._cluster.perform(effects)
        evicted = {effect.target.uid for effect in effects if isinstance(effect, Evict)} - self._evicted
        if evicted:  # counted once: two plans may evict the same pod
            self._evicted |= evicted
            self._listener.evicted(len(evicted), now)

    def _decide_some(self, now: float) -> bool:
        """False if no demand is due."""
        for i in range(_DECISIONS_IN_A_ROW):
            decided = self._scheduler.decide(now)
            self._record(now)
            if decided is None:
                return i > 0
            self._decisions += 1
            self._listener.decided(decided.decision, now)
            self._perform(decided.effects, now)
            if decided.improve is not None:
                self._improve(decided.improve, now)
        return True

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

    def _answered(self) -> list[Event]:
        answers, self._answers = self._answers, []
        return answers
