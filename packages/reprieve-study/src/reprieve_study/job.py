"""What is a job of a trace? The record that every importer makes, and the Kubernetes objects of one.

Objects are made as records at once: a study has no JSON between its cluster and its scheduler.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from msgspec.structs import replace

from reprieve.model.effects import Target
from reprieve.model.objects import (
    Container,
    DisruptionBudgetSpec,
    DisruptionBudgetStatus,
    GangPolicy,
    LabelSelector,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    SchedulingGroup,
)

GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Pods of one shape that arrive together.

    ``gang``: how many of them must run together; 0: each pod runs by itself. A gang makes progress while that
    many run, and begins anew when fewer do. ``whole``: it is preempted whole, not pod by pod.
    """

    name: str
    arrival: float  # seconds since the beginning of the trace
    duration: float  # seconds that each pod, or the gang as a whole, has to run
    pods: int = 1
    requests: tuple[tuple[str, str], ...] = ()  # of one pod: resources by name, as quantities
    priority: int = 0
    gang: int = 0
    whole: bool = False
    tenant: str = "default"
    budget: int | None = None  # how many of its pods should stay available; None: no budget
    checkpoint: float = 0.0  # seconds of work between checkpoints; 0: work that is cut off is lost
    grace: float = 30.0  # seconds from an eviction until the room is free
    selector: tuple[tuple[str, str], ...] = ()  # labels of the nodes that it may run on

    @property
    def is_gang(self) -> bool:
        return self.gang > 0


JOB_LABEL = "reprieve.dev/job"


@lru_cache(maxsize=1024)
def stamp(moment: float) -> datetime:
    """Truncated to the second, as Kubernetes writes times."""
    return datetime.fromtimestamp(int(moment), UTC)


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """What all pods of a job have in common."""

    job: Job
    spec: PodSpec
    labels: dict[str, str]
    owners: tuple[OwnerReference, ...]

    def pod(self, name: str, now: float) -> Pod:
        meta = ObjectMeta(
            name=name,
            namespace=self.job.tenant,
            uid=name,
            labels=self.labels,
            creation_timestamp=stamp(now),
            owner_references=self.owners,
            generation=1,
        )
        return Pod(metadata=meta, spec=self.spec, status=PodStatus(phase="Pending"))


def template_of(job: Job, scheduler: str) -> JobTemplate:
    spec = PodSpec(
        scheduler_name=scheduler,
        containers=(Container(name="main", resources=ResourceRequirements(requests=dict(job.requests))),),
        node_selector=dict(job.selector),
        priority=job.priority,
        scheduling_group=SchedulingGroup(pod_group_name=job.name) if job.is_gang else None,
        termination_grace_period_seconds=int(job.grace),
    )
    owner = OwnerReference(kind="Job", name=job.name, uid=f"job-{job.name}", controller=True)
    return JobTemplate(job, spec, {JOB_LABEL: job.name}, (owner,))


def group_of(job: Job, now: float) -> PodGroup:
    """The PodGroup of a gang."""
    spec = PodGroupSpec(gang=GangPolicy(min_count=job.gang), disrupted_whole=job.whole, priority=job.priority)
    return PodGroup(metadata=_meta(job, "group", now), spec=spec)


def budget_of(job: Job, now: float) -> PodDisruptionBudget:
    """The budget of a job that has one; nothing is available before the first pod runs."""
    spec = DisruptionBudgetSpec(
        selector=LabelSelector(match_labels={JOB_LABEL: job.name}), min_available=job.budget
    )
    return PodDisruptionBudget(metadata=_meta(job, "budget", now), spec=spec)


def allowing(budget: PodDisruptionBudget, disruptions: int) -> PodDisruptionBudget:
    return replace(budget, status=DisruptionBudgetStatus(disruptions_allowed=disruptions))


def target_of(thing: Pod | PodGroup | PodDisruptionBudget) -> Target:
    meta = thing.metadata
    return Target(type(thing).__name__, meta.namespace, meta.name, meta.uid)


def _meta(job: Job, kind: str, now: float) -> ObjectMeta:
    return ObjectMeta(
        name=job.name,
        namespace=job.tenant,
        uid=f"{kind}-{job.name}",
        creation_timestamp=stamp(now),
        generation=1,
    )
