"""CronJob: a Job at every time of its schedule.

The controller reads from the jobs themselves which times were served, so it retries a job that it could not
create. In a cluster that runs at a higher speed schedules run faster as well, from the creation of the
CronJob.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reprieve.cluster.admission.cron_schedules import Schedule, ScheduleError, schedule_of, zone_of
from reprieve.cluster.api.timestamps import moment, stamp
from reprieve.model.json import Json
from reprieve_minicluster.controllers.api_writes import Create, Delete, RequeueAt, UpdateStatus, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import CronJobFacts, JobFacts, Thing, controller_uid, owner_of
from reprieve_minicluster.kinds import peek
from reprieve_minicluster.store import Key

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case CronJobFacts():
            yield key_of(thing)
        case JobFacts():
            owner = cache.of(CronJobFacts).by_uid(controller_uid(thing.metadata))
            if owner is not None:
                yield key_of(owner)


def reconcile(cache: ControllerCache, key: Key, now: float, speed: float) -> Iterator[Write]:
    owner = cache.find(CronJobFacts, key)
    if owner is None:
        return
    jobs = sorted(
        cache.of(JobFacts).owned_by(owner.metadata.uid), key=lambda job: (_start_time(job), job.metadata.name)
    )
    clock = ScheduleClock(owner.created, now, speed)
    yield UpdateStatus(key, owner.metadata.uid, _status(owner, jobs))
    if owner.is_leaving:
        return
    yield from _history_cleanup(owner, jobs)
    try:
        schedule = schedule_of(owner.spec.schedule, owner.spec.time_zone or "")
    except ScheduleError:
        return
    if not owner.spec.suspend:
        yield from _started(owner, jobs, _due(owner, jobs, schedule, clock.time))
        following = schedule.after(clock.time)
        if following is not None:
            yield RequeueAt(clock.real(following))


# --- time ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScheduleClock:
    """The time that schedules use: since ``start`` it runs ``speed`` times as fast."""

    start: float
    now: float
    speed: float

    @property
    def time(self) -> float:
        return self.start + (self.now - self.start) * self.speed

    def real(self, time: float) -> float:
        return self.start + (time - self.start) / self.speed


def _scheduled(job: JobFacts) -> float | None:
    """The scheduled time of a job; None for one that a user created."""
    text = job.metadata.annotations.get(SCHEDULED)
    try:
        return moment(text) if text else None
    except ValueError:
        return None


def _last(owner: CronJobFacts, jobs: Sequence[JobFacts]) -> float | None:
    reported = owner.status.last_schedule_time
    times = [time for time in map(_scheduled, jobs) if time is not None]
    return max([*times, *([reported.timestamp()] if reported is not None else [])], default=None)


def _due(owner: CronJobFacts, jobs: Sequence[JobFacts], schedule: Schedule, now: float) -> float | None:
    """The latest scheduled time that has passed without a job; earlier ones are skipped."""
    last, deadline = _last(owner, jobs), owner.spec.starting_deadline_seconds
    since = last if last is not None else owner.created
    if deadline is not None:
        since = max(since, now - deadline)
    return schedule.latest(since, now)


# --- jobs ----------------------------------------------------------------------------------------


def _start_time(job: JobFacts) -> str:
    return job.status.start_time


def _outcome(job: JobFacts) -> str:
    """Complete or Failed; empty for a job that has not finished."""
    ends = (c.type for c in job.status.conditions if c.status == "True" and c.type in ("Complete", "Failed"))
    return next(ends, "")


def _active(jobs: Sequence[JobFacts]) -> list[JobFacts]:
    return [job for job in jobs if not _outcome(job) and _scheduled(job) is not None]


def _started(owner: CronJobFacts, jobs: Sequence[JobFacts], due: float | None) -> Iterator[Write]:
    active = _active(jobs)
    if due is None or (owner.spec.concurrency_policy == "Forbid" and active):
        return
    if owner.spec.concurrency_policy == "Replace":
        yield from map(Delete.of, active)
    yield Create(JobFacts.resource, _job(owner, due))


def _job(owner: CronJobFacts, due: float) -> Json:
    meta = peek(owner.spec.job_template, "metadata")
    zone = zone_of(owner.spec.time_zone) if owner.spec.time_zone else UTC
    local = datetime.fromtimestamp(due, zone).isoformat().replace("+00:00", "Z")
    return {
        "metadata": {
            "name": f"{owner.metadata.name}-{int(due) // 60}",
            "namespace": owner.metadata.namespace,
            "labels": peek(meta, "labels"),
            "annotations": {**peek(meta, "annotations"), SCHEDULED: local},
            "ownerReferences": [owner_of(owner).reference()],
        },
        "spec": peek(owner.spec.job_template, "spec"),
    }


def _history_cleanup(owner: CronJobFacts, jobs: Sequence[JobFacts]) -> Iterator[Write]:
    """Delete finished jobs beyond the history limits, the oldest first."""
    limits = {
        "Complete": owner.spec.successful_jobs_history_limit,
        "Failed": owner.spec.failed_jobs_history_limit,
    }
    for outcome, limit in limits.items():
        ended = [job for job in jobs if _outcome(job) == outcome]
        yield from map(Delete.of, ended[: max(0, len(ended) - limit)])


def _status(owner: CronJobFacts, jobs: Sequence[JobFacts]) -> Json:
    fields: Json = {"active": [_reference(job) for job in _active(jobs)]}
    if (last := _last(owner, jobs)) is not None:
        fields["lastScheduleTime"] = stamp(last)
    ends = [job.status.completion_time for job in jobs if _outcome(job) == "Complete"]
    known = [owner.status.last_successful_time, *ends]
    if succeeded := [time.timestamp() for time in known if time is not None]:
        fields["lastSuccessfulTime"] = stamp(max(succeeded))
    return fields


def _reference(job: JobFacts) -> Json:
    meta = job.metadata
    named = {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
    return {"apiVersion": "batch/v1", "kind": "Job", **named}
