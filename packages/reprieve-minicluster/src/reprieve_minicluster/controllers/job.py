"""Job: creates pods until enough of them have succeeded, or too many have failed.

A finalizer on each pod keeps it until the controller has counted it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from reprieve.cluster.api.templates import job_labels, pod_of
from reprieve.cluster.api.timestamps import moment, stamp
from reprieve.cluster.api.values import items
from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import (
    Create,
    Delete,
    RequeueAt,
    Update,
    UpdateStatus,
    Write,
)
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import JobFacts, PodFacts, Thing, owner_of
from reprieve_minicluster.controllers.owners import BURST, adoptions, matches, next_batch, owners_of
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.conditions import StatusCondition
from reprieve_minicluster.store.metadata import without_finalizer

INDEX = "batch.kubernetes.io/job-completion-index"
_VARIABLE = "JOB_COMPLETION_INDEX"


@dataclass(frozen=True, slots=True)
class IndexSet:
    """A set of indexes as spans in order, with gaps between: a Job may have two billion of them."""

    spans: tuple[range, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.spans))

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.spans)

    def with_all(self, numbers: Iterable[int]) -> "IndexSet":
        return _joined((*self.spans, *(range(number, number + 1) for number in numbers)))

    def missing(self, below: int) -> Iterator[int]:
        """The others below a number, in order."""
        at = 0
        for span in self.spans:
            yield from range(at, min(span.start, below))
            at = span.stop
        yield from range(at, below)

    def __str__(self) -> str:
        return ",".join(map(_written, self.spans))


def _joined(spans: Iterable[range]) -> IndexSet:
    found: list[range] = []
    for span in sorted((span for span in spans if span), key=lambda span: span.start):
        if found and span.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(found[-1].stop, span.stop))
        else:
            found.append(span)
    return IndexSet(tuple(found))


def read_indexes(text: str, below: int) -> IndexSet:
    """The indexes below a number; malformed parts are skipped."""
    found: list[range] = []
    for span in text.split(","):
        first, _, last = span.partition("-")
        if _is_index(first) and (not last or _is_index(last)):
            found.append(range(int(first), min(int(last or first) + 1, below)))
    return _joined(found)


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10


def _written(span: range) -> str:
    first, last = span.start, span.stop - 1
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def index_of(labels: dict[str, str]) -> int | None:
    text = labels.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def with_index(pod: Json, name: str, index: int) -> Json:
    """A pod of a job with its completion index: name, hostname, label, annotation and environment."""
    meta, spec = pod["metadata"], pod["spec"]
    number = {INDEX: str(index)}
    meta = {
        **meta,
        "generateName": f"{name}-{index}-",
        "labels": {**meta["labels"], **number},
        "annotations": {**meta["annotations"], **number},
    }
    containers = {
        field: [_with_variable(container) for container in items(spec, field)]
        for field in ("initContainers", "containers")
        if field in spec
    }
    return {**pod, "metadata": meta, "spec": {"hostname": f"{name}-{index}", **spec, **containers}}


def _with_variable(container: Json) -> Json:
    """The container with its completion index in the environment."""
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    others = [variable for variable in items(container, "env") if variable.get("name") != _VARIABLE]
    return {**container, "env": [*others, {"name": _VARIABLE, "valueFrom": source}]}


# --- the controller -------------------------------------------------------------------------------


TRACKED = "batch.kubernetes.io/job-tracking"


_OURSELVES = "kubernetes.io/job-controller"


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case JobFacts():
            yield key_of(thing)
        case PodFacts():
            labels = thing.metadata.labels
            yield from owners_of(
                cache, JobFacts, thing, lambda job: not _has_ended(job) and matches(job.spec.selector, labels)
            )


def reconcile(cache: ControllerCache, key: Key, now: float, speed: float = 1.0) -> Iterator[Write]:
    """``speed``: divides the deadlines and TTLs of a job."""
    job = cache.find(JobFacts, key)
    if job is None or job.is_leaving or not _is_ours(job):
        return
    pods = sorted(cache.of(PodFacts).owned_by(job.metadata.uid), key=lambda pod: pod.metadata.name)
    if _has_ended(job):
        yield from _release(pod for pod in pods if not pod.is_active)
        yield from (Delete.of(pod) for pod in pods if pod.is_active)
        yield from _ttl_cleanup(job, key, now, speed)
        return
    moves = _adoptions(cache, job, pods)
    if moves:  # their pods are counted once the cache shows them
        yield from moves
        return
    count = _count(job, pods)
    deadline = _deadline(job, speed)
    outcome = _outcome(job, count) or (_DEADLINE_EXCEEDED if deadline is not None and now >= deadline else ())
    conditions = outcome or _suspension(job)
    yield UpdateStatus(key, job.metadata.uid, _status(job, count, outcome, now), conditions)
    yield from _release(count.ended)
    if not outcome:
        yield from _difference(job, count)
        if deadline is not None:
            yield RequeueAt(deadline)


def _adoptions(cache: ControllerCache, job: JobFacts, pods: list[PodFacts]) -> list[Write]:
    """A pod that is released is no longer counted, so that its finalizer goes, too."""
    owned = [pod for pod in pods if pod.is_active]
    free = [pod for pod in cache.of(PodFacts).free(job.metadata.namespace) if pod.is_active]
    moves = adoptions(job.spec.selector, owner_of(job), owned, free)
    if job.spec.selector:
        moves += _release(pod for pod in owned if not matches(job.spec.selector, pod.metadata.labels))
    return moves


def _is_ours(job: JobFacts) -> bool:
    """Whether no other controller reconciles it."""
    return job.spec.managed_by in (None, "", _OURSELVES)


def _has_ended(job: JobFacts) -> bool:
    return any(c.type in ("Complete", "Failed") and c.status == "True" for c in job.status.conditions)


# --- times -----------------------------------------------------------------------------------------


def _failure(reason: str, why: str) -> tuple[StatusCondition, ...]:
    return tuple(StatusCondition(kind, "True", reason, why) for kind in ("FailureTarget", "Failed"))


_DEADLINE_EXCEEDED = _failure("DeadlineExceeded", "Job was active longer than specified deadline")


def _deadline(job: JobFacts, speed: float) -> float | None:
    seconds = job.spec.active_deadline_seconds
    if seconds is None or not job.status.start_time or job.spec.suspend or _was_suspended(job):
        return None
    return moment(job.status.start_time) + seconds / speed


def _ttl_cleanup(job: JobFacts, key: Key, now: float, speed: float) -> Iterator[Write]:
    seconds = job.spec.ttl_seconds_after_finished
    ends = [c.last_transition_time for c in job.status.conditions if c.type in ("Complete", "Failed")]
    if seconds is None or not ends or ends[0] is None:
        return
    at = ends[0].timestamp() + seconds / speed
    yield Delete(key, job.metadata.uid) if now >= at else RequeueAt(at)


# --- counting ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobCounts:
    """``ended``: the pods that are counted now, and released once that is written.

    ``waiting``: terminating pods that are replaced only after they have ended, and pods counted later.
    ``indexes``: the completed indexes of an Indexed Job; ``taken``: those of its other pods.
    """

    succeeded: int
    failed: int
    fails_job: bool
    ended: list[PodFacts]
    active: list[PodFacts]
    terminating: int
    waiting: int
    indexes: IndexSet
    taken: frozenset[int]


def _count(job: JobFacts, pods: list[PodFacts]) -> JobCounts:
    """The counts in the status, plus the pods that have ended since, up to a batch of them.

    Whatever is counted must be released in the same reconcile, or it would be counted again.
    """
    countable = [pod for pod in pods if _is_countable(job, pod)]
    ended = countable[:BURST]
    good = [pod for pod in ended if pod.status.phase == "Succeeded"]
    indexes = read_indexes(job.status.completed_indexes, job.spec.completions or 0).with_all(_indexes(good))
    left = [pod for pod in pods if _is_tracked(pod) and pod.is_leaving and not _is_countable(job, pod)]
    left += countable[BURST:]
    active = [pod for pod in pods if pod.is_active]
    actions = [_failure_action(job, pod) for pod in ended if pod.status.phase != "Succeeded"]
    return JobCounts(
        succeeded=len(indexes) if _is_indexed(job) else job.status.succeeded + len(good),
        failed=job.status.failed + sum(action != "Ignore" for action in actions),
        fails_job="FailJob" in actions,
        ended=ended,
        active=active,
        terminating=sum(pod.is_leaving and not pod.is_over for pod in pods),
        waiting=len(left),
        indexes=indexes,
        taken=frozenset(_indexes([*active, *left])),
    )


def _is_indexed(job: JobFacts) -> bool:
    return job.spec.completion_mode == "Indexed"


def _indexes(pods: Iterable[PodFacts]) -> set[int]:
    return {index for pod in pods if (index := index_of(pod.metadata.labels)) is not None}


def _is_tracked(pod: PodFacts) -> bool:
    return TRACKED in pod.metadata.finalizers


def _is_countable(job: JobFacts, pod: PodFacts) -> bool:
    """Whether to count a pod now. Without a failure policy, a deleted pod counts as failed at once."""
    if not _is_tracked(pod):
        return False
    patient = job.spec.pod_failure_policy.rules and pod.spec.node_name
    return pod.is_over or (pod.is_leaving and not patient)


def _failure_action(job: JobFacts, pod: PodFacts) -> str:
    """The action of the first rule of the failure policy that matches."""
    for rule in job.spec.pod_failure_policy.rules:
        if any(pod.has_condition(pattern.type, pattern.status) for pattern in rule.on_pod_conditions):
            return rule.action
    return "Count"


# --- deciding ------------------------------------------------------------------------------------


def _completions(job: JobFacts) -> int | None:
    """None: the job is complete when one pod has succeeded and none is active."""
    both_absent = job.spec.parallelism is None and job.spec.completions is None
    return 1 if both_absent else job.spec.completions


def _outcome(job: JobFacts, count: JobCounts) -> tuple[StatusCondition, ...]:
    if count.fails_job:
        why = "a pod failed with a condition for which spec.podFailurePolicy says FailJob"
        return _failure("PodFailurePolicy", why)
    if count.failed > job.spec.backoff_limit:
        why = f"Job has reached the specified backoff limit: {count.failed} pods failed"
        return _failure("BackoffLimitExceeded", why)
    wanted = _completions(job)
    idle = not count.active and not count.waiting
    if (count.succeeded > 0 and idle) if wanted is None else count.succeeded >= wanted:
        why = "Reached expected number of succeeded pods"
        kinds = ("SuccessCriteriaMet", "Complete")
        return tuple(StatusCondition(kind, "True", "CompletionsReached", why) for kind in kinds)
    return ()


def _suspension(job: JobFacts) -> tuple[StatusCondition, ...]:
    """None for a job that was never suspended."""
    if job.spec.suspend:
        return (StatusCondition("Suspended", "True", "JobSuspended", "Job suspended"),)
    if _was_suspended(job):
        return (StatusCondition("Suspended", "False", "JobResumed", "Job resumed"),)
    return ()


def _was_suspended(job: JobFacts) -> bool:
    return any(c.type == "Suspended" and c.status == "True" for c in job.status.conditions)


def _wanted(job: JobFacts, count: JobCounts) -> int:
    if job.spec.suspend:
        return 0
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    completions = _completions(job)
    if completions is None:
        return min(parallelism, len(count.active)) if count.succeeded else parallelism
    return min(parallelism, completions - count.succeeded)


def _difference(job: JobFacts, count: JobCounts) -> Iterable[Write]:
    wanted = _wanted(job, count)
    missing = wanted - len(count.active) - count.waiting
    batch = next_batch(missing, count.active)
    if missing > 0 and _is_indexed(job):
        return [Create(PodFacts.resource, _pod(job, index)) for index in islice(_free(job, count), batch)]
    if missing > 0:
        return [Create(PodFacts.resource, _pod(job))] * batch
    surplus = max(0, len(count.active) - wanted)
    return [Delete.of(pod) for pod in count.active[len(count.active) - surplus :]]


def _free(job: JobFacts, count: JobCounts) -> Iterator[int]:
    return (index for index in count.indexes.missing(job.spec.completions or 0) if index not in count.taken)


def _pod(job: JobFacts, index: int | None = None) -> Json:
    owner = owner_of(job)
    body = pod_of(job.spec.template, owner, job_labels(owner))
    body["metadata"]["finalizers"] = [TRACKED]
    return body if index is None else with_index(body, job.metadata.name, index)


def _release(pods: Iterable[PodFacts]) -> Iterator[Write]:
    for pod in pods:
        if _is_tracked(pod):
            yield Update.of(pod, lambda body: without_finalizer(body, TRACKED))


def _status(job: JobFacts, count: JobCounts, outcome: tuple[StatusCondition, ...], now: float) -> Json:
    fields: Json = {
        "active": 0 if outcome else len(count.active),
        "ready": 0 if outcome else sum(pod.is_ready for pod in count.active),
        "terminating": count.terminating,
        "succeeded": count.succeeded,
        "failed": count.failed,
    }
    if _is_indexed(job):
        fields["completedIndexes"] = str(count.indexes)
    # The deadline of a job that is resumed begins anew.
    if not job.spec.suspend and (not job.status.start_time or _was_suspended(job)):
        fields["startTime"] = stamp(now)
    if any(condition.type == "Complete" for condition in outcome):
        fields["completionTime"] = stamp(now)
    return fields
