"""What came of a simulation? Counts, sums and distributions, from the end of the warm-up to the last arrival.

Work is counted in hours of the main resource: the GPUs of a cluster that has any, otherwise its cpus. It
knows neither policies nor other simulations.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import msgspec
import numpy as np

from reprieve.model.objects import Node, Pod
from reprieve.model.resources import CPU, milli
from reprieve.scheduler.plans.plan_records import PlanRecord, VictimsJudged
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve_study.job import GPU, Job
from reprieve_study.light_cluster import REACTION_SECONDS

_HOUR = 3600.0
_NAMED = 100  # unfinished jobs; more are counted


class Waiting(msgspec.Struct, frozen=True):
    """Seconds from an arrival or an eviction until the pod, or the minimum of the gang, runs. What never ran
    is not in it: ``unfinished`` counts that."""

    starts: int
    mean: float
    p50: float
    p95: float
    p99: float


class Measured(msgspec.Struct, frozen=True):
    """``disagreements`` of two simulations follow from ``preempted``: a hash of each preempting decision."""

    hours: float  # that were measured
    decisions: int
    preemptions: int  # decisions that evict
    evictions: int  # pods
    in_vain: int  # evicted pods whose room was not used
    workloads_ended: int  # gangs that fell below their minimum
    budget_breaks: int  # pods beyond what budgets allowed
    work_lost: float  # hours of the main resource
    work_done: float
    goodput: float  # work done as a share of what the cluster offers
    waiting: dict[int, Waiting]  # by priority
    tenants: dict[str, Waiting]
    fairness: float  # Jain's index of the share of its work that each tenant got done by the last arrival
    finished: int  # jobs, at any time
    unfinished: int  # when the simulation was cut off
    unfinished_names: tuple[str, ...]
    digest: str  # of all decisions
    preempted: tuple[str, ...]
    samples: tuple[tuple[float, float, float], ...]  # hours, share used, share of the free room in fragments


def main_resource(nodes: Iterable[Node]) -> str:
    return GPU if any((milli(node.status.allocatable.get(GPU, 0)) or 0) > 0 for node in nodes) else CPU


def amount_of(job: Job, resource: str) -> float:
    """What one of its pods requests."""
    return (milli(dict(job.requests).get(resource, "0")) or 0) / 1000


class Measures:
    """Listens to one simulation. Only what happens within the window counts, in seconds since ``epoch``: a
    cluster fills at the beginning, and empties after the last arrival."""

    def __init__(
        self, nodes: Sequence[Node], jobs: Sequence[Job], epoch: float, window: tuple[float, float]
    ) -> None:
        self.resource = main_resource(nodes)
        self._occupancy = Occupancy(nodes, self.resource, typical_amount(jobs, self.resource))
        self._offered = sum((milli(n.status.allocatable.get(self.resource, 0)) or 0) / 1000 for n in nodes)
        self._epoch = epoch
        self._since, self._till = epoch + window[0], epoch + window[1]
        self._counts = Counter[str]()
        self._work: dict[str, float] = defaultdict(float)
        self._waits: dict[int, list[float]] = defaultdict(list)
        self._tenant_waits: dict[str, list[float]] = defaultdict(list)
        self._asked: dict[str, float] = defaultdict(float)
        self._got: dict[str, float] = defaultdict(float)
        self._digest = blake2b(digest_size=16)
        self._preempted: list[str] = []
        self._samples: list[tuple[float, float, float]] = []

    # --- jobs ------------------------------------------------------------------------------------

    def arrived(self, job: Job, now: float) -> None:
        self._asked[job.tenant] += job.pods * job.duration * amount_of(job, self.resource)

    def started(self, job: Job, pods: int, waited: float, now: float) -> None:
        """A wait counts if it begins within the window, whenever it ends: else the longest were not seen."""
        if self._counts_at(now - waited):
            self._waits[job.priority] += [waited] * pods
            self._tenant_waits[job.tenant] += [waited] * pods

    def lost(self, job: Job, pods: int, seconds: float, now: float) -> None:
        self._add("lost", job, pods, seconds, now)

    def worked(self, job: Job, pods: int, seconds: float, now: float) -> None:
        in_time = min(now, self._till) - (now - seconds)  # after the last arrival all get their share
        self._got[job.tenant] += pods * max(0.0, in_time) * amount_of(job, self.resource)
        self._add("done", job, pods, seconds, now)

    def _add(self, kind: str, job: Job, pods: int, seconds: float, now: float) -> None:
        counted = min(now, self._till) - max(now - seconds, self._since)
        if counted > 0:
            self._work[kind] += pods * counted * amount_of(job, self.resource) / _HOUR

    def restarted(self, job: Job, now: float) -> None:
        self._count("restarts", 1, now - REACTION_SECONDS)  # counted with the eviction that caused it

    def ended(self, job: Job, now: float) -> None:
        self._counts["finished"] += 1

    # --- decisions -------------------------------------------------------------------------------

    def evicted(self, pods: int, now: float) -> None:
        self._count("evictions", pods, now)

    def decided(self, decision: Decision, now: float) -> None:
        self._count("decisions", 1, now)
        if decision.outcome not in {Outcome.PLACED, Outcome.PREEMPTS}:
            return  # how often a demand is refused says nothing about what a policy does
        fingerprint = _fingerprint(decision)
        self._digest.update(f"{now - self._epoch:.3f} {fingerprint}\n".encode())
        if decision.outcome is Outcome.PREEMPTS and self._counts_at(now):
            self._counts["preemptions"] += 1
            self._counts["broken"] += decision.preemption.broken if decision.preemption is not None else 0
            self._preempted.append(fingerprint)

    def recorded(self, records: Sequence[PlanRecord], now: float) -> None:
        for record in records:
            if isinstance(record, VictimsJudged):
                self._count("in vain", len(record.wasted), now)

    def sampled(self, pods: Iterable[Pod], now: float) -> None:
        self._samples.append(((now - self._epoch) / _HOUR, *self._occupancy.of(pods)))

    def _count(self, name: str, number: int, now: float) -> None:
        if self._counts_at(now):
            self._counts[name] += number

    def _counts_at(self, now: float) -> bool:
        return self._since <= now <= self._till

    # --- the result ------------------------------------------------------------------------------

    def result(self, unfinished: Sequence[Job]) -> Measured:
        counts, hours = self._counts, max(0.0, self._till - self._since) / _HOUR
        offered = hours * self._offered
        return Measured(
            hours=hours,
            decisions=counts["decisions"],
            preemptions=counts["preemptions"],
            evictions=counts["evictions"],
            in_vain=counts["in vain"],
            workloads_ended=counts["restarts"],
            budget_breaks=counts["broken"],
            work_lost=self._work["lost"],
            work_done=self._work["done"],
            goodput=self._work["done"] / offered if offered else 0.0,
            waiting={priority: _waiting(waits) for priority, waits in sorted(self._waits.items())},
            tenants={tenant: _waiting(waits) for tenant, waits in sorted(self._tenant_waits.items())},
            fairness=_jain([self._got[tenant] / asked for tenant, asked in self._asked.items() if asked]),
            finished=counts["finished"],
            unfinished=len(unfinished),
            unfinished_names=tuple(job.name for job in unfinished[:_NAMED]),
            digest=self._digest.hexdigest(),
            preempted=tuple(self._preempted),
            samples=tuple(self._samples),
        )


def _waiting(waits: Sequence[float]) -> Waiting:
    p50, p95, p99 = np.percentile(waits, (50, 95, 99))
    return Waiting(len(waits), float(np.mean(waits)), float(p50), float(p95), float(p99))


def _jain(shares: Sequence[float]) -> float:
    """1 if all have the same share; 1/n if one of n has all."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def _fingerprint(decision: Decision) -> str:
    """Which demand, what came of it, and at what cost: equal decisions in two simulations have the same."""
    preemption = decision.preemption
    victims = sorted(victim.pod.name for victim in preemption.victims) if preemption is not None else []
    nodes = sorted(f"{pod.name}>{node}" for pod, node in decision.places)
    parts = (decision.demand.name, decision.outcome.value, *nodes, *victims)
    return blake2b("|".join(parts).encode(), digest_size=8).hexdigest()


def typical_amount(jobs: Iterable[Job], resource: str) -> float:
    """What the pods that request most of all, taken together, request each."""
    asked = Counter[float]()
    for job in jobs:
        asked[amount_of(job, resource)] += job.pods
    return max(asked, key=lambda amount: (amount * asked[amount], amount), default=0.0)


class Occupancy:
    """``typical``: what a typical pod requests of the resource."""

    def __init__(self, nodes: Sequence[Node], resource: str, typical: float) -> None:
        self._resource = resource
        self._typical = typical
        self._rows = {node.metadata.name: row for row, node in enumerate(nodes)}
        self._offered = np.array([_amount(node.status.allocatable, resource) for node in nodes])
        self._total = float(self._offered.sum())

    def of(self, pods: Iterable[Pod]) -> tuple[float, float]:
        """The share that is used, and the share of the rest that is in fragments: on nodes where a typical
        pod does not fit."""
        free = self._offered.copy()
        rows = self._rows
        for pod in pods:
            row = rows.get(pod.spec.node_name)
            if row is not None and (requests := pod.spec.containers[0].resources.requests):
                free[row] -= _amount(requests, self._resource)
        left = float(free.sum())
        used = 1 - left / self._total if self._total else 0.0
        return used, float(free[free < self._typical].sum()) / left if left else 0.0


def _amount(amounts: Mapping[str, str | int | float], resource: str) -> float:
    return (milli(amounts.get(resource, 0)) or 0) / 1000
