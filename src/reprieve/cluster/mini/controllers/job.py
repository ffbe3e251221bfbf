"""Job: pods until enough of them have succeeded, or too many have failed.

A finalizer on each pod makes sure that none ends, or is taken away, before it was counted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reprieve.cluster.api.templates import job_labels, pod_of
from reprieve.cluster.api.timestamps import moment, stamp
from reprieve.cluster.mini.conditions import Condition
from reprieve.cluster.mini.controllers.indexes import index_of, read_indexes, with_index, written_indexes
from reprieve.cluster.mini.controllers.mirror import JOBS, PODS, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import Job, PodFacts, controller_uid
from reprieve.cluster.mini.controllers.replicas import BURST
from reprieve.cluster.mini.controllers.templates import maker
from reprieve.cluster.mini.controllers.writes import Amend, Create, LookAgain, Remove, Report, Write
from reprieve.cluster.mini.history import Key
from reprieve.model.json import Json

TRACKED = "batch.kubernetes.io/job-tracking"


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case Job():
            yield key_in(JOBS, thing)
        case PodFacts():
            owner = mirror.jobs.by_uid(controller_uid(thing.metadata))
            if owner is not None:
                yield key_in(JOBS, owner)


def reconcile(mirror: Mirror, key: Key, now: float, speed: float = 1.0) -> Iterator[Write]:
    """``speed``: how many times as fast as usual the times pass that a job names."""
    job = mirror.jobs.get(Name(key.namespace, key.name))
    if job is None or job.metadata.deletion_timestamp is not None:
        return
    pods = sorted(mirror.pods.owned_by(job.metadata.uid), key=lambda pod: pod.metadata.name)
    if _has_ended(job):
        yield from _release(pod for pod in pods if not pod.is_active)
        yield from _remove(pod for pod in pods if pod.is_active)
        yield from _cleaned_up(job, key, now, speed)
        return
    count = _count(job, pods)
    deadline = _deadline(job, speed)
    outcome = _outcome(job, count) or (_TOO_LATE if deadline is not None and now >= deadline else ())
    yield Report(key, job.metadata.uid, _status(job, count, outcome, now), outcome)
    yield from _release(pod for pod in pods if _is_settled(job, pod))
    if not outcome:
        yield from _difference(job, count)
        if deadline is not None:
            yield LookAgain(deadline)


def _has_ended(job: Job) -> bool:
    return any(c.type in ("Complete", "Failed") and c.status == "True" for c in job.status.conditions)


# --- times -----------------------------------------------------------------------------------------

_TOO_LATE = (Condition("Failed", "True", "DeadlineExceeded", "the job was active longer than it may be"),)


def _deadline(job: Job, speed: float) -> float | None:
    seconds = job.spec.active_deadline_seconds
    if seconds is None or not job.status.start_time or job.spec.suspend:
        return None
    return moment(job.status.start_time) + seconds / speed


def _cleaned_up(job: Job, key: Key, now: float, speed: float) -> Iterator[Write]:
    seconds = job.spec.ttl_seconds_after_finished
    ends = [c.last_transition_time for c in job.status.conditions if c.type in ("Complete", "Failed")]
    if seconds is None or not ends or ends[0] is None:
        return
    at = ends[0].timestamp() + seconds / speed
    yield Remove(key, job.metadata.uid) if now >= at else LookAgain(at)


# --- counting ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Count:
    """``waiting``: pods that leave, and are replaced only when their end is known.

    ``indexes``: those that have succeeded, where pods are told apart; ``taken``: those of the others.
    """

    succeeded: int
    failed: int
    hopeless: bool
    active: list[PodFacts]
    waiting: int
    indexes: frozenset[int] = frozenset()
    taken: frozenset[int] = frozenset()


def _count(job: Job, pods: list[PodFacts]) -> Count:
    """What was counted before, and those that ended since."""
    ended = [pod for pod in pods if _is_settled(job, pod)]
    good = [pod for pod in ended if pod.status.phase == "Succeeded"]
    indexes = _indexes(good) | read_indexes(job.status.completed_indexes, job.spec.completions or 0)
    left = [pod for pod in pods if _is_tracked(pod) and pod.is_leaving and not _is_settled(job, pod)]
    active = [pod for pod in pods if pod.is_active]
    verdicts = [_verdict(job, pod) for pod in ended if pod.status.phase != "Succeeded"]
    return Count(
        succeeded=len(indexes) if _is_indexed(job) else job.status.succeeded + len(good),
        failed=job.status.failed + sum(verdict != "Ignore" for verdict in verdicts),
        hopeless="FailJob" in verdicts,
        active=active,
        waiting=len(left),
        indexes=frozenset(indexes),
        taken=frozenset(_indexes([*active, *left])),
    )


def _is_indexed(job: Job) -> bool:
    return job.spec.completion_mode == "Indexed"


def _indexes(pods: Iterable[PodFacts]) -> set[int]:
    return {index for pod in pods if (index := index_of(pod.metadata.labels)) is not None}


def _is_tracked(pod: PodFacts) -> bool:
    return TRACKED in pod.metadata.finalizers


def _is_settled(job: Job, pod: PodFacts) -> bool:
    """Whether a pod is to be counted now. Without a failure policy, a deleted one has failed at once."""
    if not _is_tracked(pod):
        return False
    patient = job.spec.pod_failure_policy.rules and pod.spec.node_name
    return pod.is_over or (pod.is_leaving and not patient)


def _verdict(job: Job, pod: PodFacts) -> str:
    """The action of the first rule of the failure policy that matches."""
    for rule in job.spec.pod_failure_policy.rules:
        if any(pod.has_condition(pattern.type, pattern.status) for pattern in rule.on_pod_conditions):
            return rule.action
    return "Count"


# --- deciding ------------------------------------------------------------------------------------


def _completions(job: Job) -> int | None:
    """None: the job is over when one pod has succeeded and none is left."""
    both_absent = job.spec.parallelism is None and job.spec.completions is None
    return 1 if both_absent else job.spec.completions


def _outcome(job: Job, count: Count) -> tuple[Condition, ...]:
    if count.hopeless:
        why = "a pod failed in a way that the failure policy does not forgive"
        return (Condition("Failed", "True", "PodFailurePolicy", why),)
    if count.failed > job.spec.backoff_limit:
        why = f"{count.failed} pods failed, more than spec.backoffLimit allows"
        return (Condition("Failed", "True", "BackoffLimitExceeded", why),)
    wanted = _completions(job)
    idle = not count.active and not count.waiting
    if (count.succeeded > 0 and idle) if wanted is None else count.succeeded >= wanted:
        why = "enough pods have succeeded"
        kinds = ("SuccessCriteriaMet", "Complete")
        return tuple(Condition(kind, "True", "CompletionsReached", why) for kind in kinds)
    return ()


def _wanted(job: Job, count: Count) -> int:
    if job.spec.suspend:
        return 0
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    completions = _completions(job)
    if completions is None:
        return min(parallelism, len(count.active)) if count.succeeded else parallelism
    return min(parallelism, completions - count.succeeded)


def _difference(job: Job, count: Count) -> Iterable[Write]:
    wanted = _wanted(job, count)
    missing = wanted - len(count.active) - count.waiting
    if missing > 0 and _is_indexed(job):
        return [Create(PODS, _pod(job, index)) for index in _free(job, count)[: min(missing, BURST)]]
    if missing > 0:
        return [Create(PODS, _pod(job))] * min(missing, BURST)
    surplus = max(0, len(count.active) - wanted)
    return list(_remove(count.active[len(count.active) - surplus :]))


def _free(job: Job, count: Count) -> list[int]:
    numbers = range(job.spec.completions or 0)
    return [index for index in numbers if index not in count.indexes and index not in count.taken]


def _pod(job: Job, index: int | None = None) -> Json:
    owner = maker("batch/v1", "Job", job.metadata)
    body = pod_of(job.spec.template, owner, job_labels(owner))
    body["metadata"]["finalizers"] = [TRACKED]
    return body if index is None else with_index(body, job.metadata.name, index)


def _remove(pods: Iterable[PodFacts]) -> Iterator[Write]:
    for pod in pods:
        yield Remove(key_in(PODS, pod), pod.metadata.uid)


def _release(pods: Iterable[PodFacts]) -> Iterator[Write]:
    for pod in pods:
        if _is_tracked(pod):
            yield Amend(key_in(PODS, pod), pod.metadata.uid, untrack)


def untrack(body: Json) -> None:
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != TRACKED]


def _status(job: Job, count: Count, outcome: tuple[Condition, ...], now: float) -> Json:
    fields: Json = {
        "active": 0 if outcome else len(count.active),
        "ready": 0 if outcome else sum(pod.is_ready for pod in count.active),
        "succeeded": count.succeeded,
        "failed": count.failed,
    }
    if _is_indexed(job):
        fields["completedIndexes"] = written_indexes(count.indexes)
    if not job.status.start_time and not job.spec.suspend:
        fields["startTime"] = stamp(now)
    if any(condition.type == "Complete" for condition in outcome):
        fields["completionTime"] = stamp(now)
    return fields
