"""CronJob: a Job at every time that its schedule names.

What was due is read from the jobs themselves, so that one that could not be made is tried again. In a cluster
in which time passes faster it does so for schedules, too, counted from when the CronJob was made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reprieve.cluster.api.timestamps import moment, stamp
from reprieve.cluster.apiserver.cron_schedules import Schedule, ScheduleError, schedule_of, zone_of
from reprieve.cluster.mini.controllers.mirror import CRON_JOBS, JOBS, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import CronJob, Job, controller_uid
from reprieve.cluster.mini.controllers.templates import maker
from reprieve.cluster.mini.controllers.writes import Create, LookAgain, Remove, Report, Write
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import peek
from reprieve.model.json import Json

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case CronJob():
            yield key_in(CRON_JOBS, thing)
        case Job():
            owner = mirror.cron_jobs.by_uid(controller_uid(thing.metadata))
            if owner is not None:
                yield key_in(CRON_JOBS, owner)


def reconcile(mirror: Mirror, key: Key, now: float, speed: float) -> Iterator[Write]:
    owner = mirror.cron_jobs.get(Name(key.namespace, key.name))
    if owner is None:
        return
    jobs = sorted(mirror.jobs.owned_by(owner.metadata.uid), key=lambda job: (_begun(job), job.metadata.name))
    clock = CronClock(_created(owner), now, speed)
    yield Report(key, owner.metadata.uid, _status(owner, jobs))
    if owner.metadata.deletion_timestamp is not None:
        return
    yield from _forgotten(owner, jobs)
    try:
        schedule = schedule_of(owner.spec.schedule, owner.spec.time_zone or "")
    except ScheduleError:
        return
    if not owner.spec.suspend:
        yield from _started(owner, jobs, _due(owner, jobs, schedule, clock.time))
        following = schedule.after(clock.time)
        if following is not None:
            yield LookAgain(clock.real(following))


# --- time ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CronClock:
    """The time by which schedules go: since ``start`` it has passed ``speed`` times as fast."""

    start: float
    now: float
    speed: float

    @property
    def time(self) -> float:
        return self.start + (self.now - self.start) * self.speed

    def real(self, time: float) -> float:
        return self.start + (time - self.start) / self.speed


def _created(owner: CronJob) -> float:
    created = owner.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0


def _scheduled(job: Job) -> float | None:
    """The time for which a job was made; None for one that somebody made by hand."""
    text = job.metadata.annotations.get(SCHEDULED)
    try:
        return moment(text) if text else None
    except ValueError:
        return None


def _last(owner: CronJob, jobs: Sequence[Job]) -> float | None:
    told = owner.status.last_schedule_time
    times = [time for time in map(_scheduled, jobs) if time is not None]
    return max([*times, *([told.timestamp()] if told is not None else [])], default=None)


def _due(owner: CronJob, jobs: Sequence[Job], schedule: Schedule, now: float) -> float | None:
    """The latest time that has come and was not served; those before it are forgotten."""
    last, deadline = _last(owner, jobs), owner.spec.starting_deadline_seconds
    since = last if last is not None else _created(owner)
    if deadline is not None:
        since = max(since, now - deadline)
    return _latest(schedule, since, now)


def _latest(schedule: Schedule, since: float, now: float) -> float | None:
    first = schedule.after(since)
    if first is None or first > now:
        return None
    second = schedule.after(first)
    if second is None or second > now:
        return first
    # After a long pause there are many: most of them are passed over at once.
    skipped = max(0, int((now - first) // (second - first)) - 1)
    near = list(_times(schedule, first + skipped * (second - first), now))
    return (near or list(_times(schedule, first, now)))[-1]


def _times(schedule: Schedule, since: float, now: float) -> Iterator[float]:
    at = schedule.after(since)
    while at is not None and at <= now:
        yield at
        at = schedule.after(at)


# --- jobs ----------------------------------------------------------------------------------------


def _begun(job: Job) -> str:
    return job.status.start_time


def _ending(job: Job) -> str:
    """How it ended; nothing, if it has not."""
    ends = (c.type for c in job.status.conditions if c.status == "True" and c.type in ("Complete", "Failed"))
    return next(ends, "")


def _active(jobs: Sequence[Job]) -> list[Job]:
    return [job for job in jobs if not _ending(job) and _scheduled(job) is not None]


def _started(owner: CronJob, jobs: Sequence[Job], due: float | None) -> Iterator[Write]:
    active = _active(jobs)
    if due is None or (owner.spec.concurrency_policy == "Forbid" and active):
        return
    if owner.spec.concurrency_policy == "Replace":
        yield from _removed(active)
    yield Create(JOBS, _job(owner, due))


def _job(owner: CronJob, due: float) -> Json:
    meta = peek(owner.spec.job_template, "metadata")
    zone = zone_of(owner.spec.time_zone) if owner.spec.time_zone else UTC
    local = datetime.fromtimestamp(due, zone).isoformat().replace("+00:00", "Z")
    return {
        "metadata": {
            "name": f"{owner.metadata.name}-{int(due) // 60}",
            "namespace": owner.metadata.namespace,
            "labels": peek(meta, "labels"),
            "annotations": {**peek(meta, "annotations"), SCHEDULED: local},
            "ownerReferences": [maker("batch/v1", "CronJob", owner.metadata).reference()],
        },
        "spec": peek(owner.spec.job_template, "spec"),
    }


def _forgotten(owner: CronJob, jobs: Sequence[Job]) -> Iterator[Write]:
    """Of those that have ended well, and of the others, only the latest are kept."""
    limits = {
        "Complete": owner.spec.successful_jobs_history_limit,
        "Failed": owner.spec.failed_jobs_history_limit,
    }
    for ending, limit in limits.items():
        ended = [job for job in jobs if _ending(job) == ending]
        yield from _removed(ended[: max(0, len(ended) - limit)])


def _removed(jobs: Sequence[Job]) -> Iterator[Write]:
    for job in jobs:
        yield Remove(key_in(JOBS, job), job.metadata.uid)


def _status(owner: CronJob, jobs: Sequence[Job]) -> Json:
    fields: Json = {"active": [_reference(job) for job in _active(jobs)]}
    if (last := _last(owner, jobs)) is not None:
        fields["lastScheduleTime"] = stamp(last)
    ends = [job.status.completion_time for job in jobs if _ending(job) == "Complete"]
    known = [owner.status.last_successful_time, *ends]
    if succeeded := [time.timestamp() for time in known if time is not None]:
        fields["lastSuccessfulTime"] = stamp(max(succeeded))
    return fields


def _reference(job: Job) -> Json:
    meta = job.metadata
    named = {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
    return {"apiVersion": "batch/v1", "kind": "Job", **named}
