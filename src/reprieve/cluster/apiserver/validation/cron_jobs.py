"""Is a CronJob valid?"""

from reprieve.cluster.api.values import part, text_in
from reprieve.cluster.apiserver.cron_schedules import ScheduleError, schedule_of, zone_of
from reprieve.cluster.apiserver.field_errors import At
from reprieve.cluster.apiserver.validation.controllers import check_job_spec
from reprieve.cluster.apiserver.validation.metadata import check_notes
from reprieve.model.json import Json

_LONGEST_NAME = 52  # the names of its jobs add the minute of their time


def check_cron_job(cron_job: At) -> None:
    spec = cron_job["spec"]
    if not spec.require():
        return
    _check_schedule(spec)
    for field in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        spec[field].at_least(0)
    spec["concurrencyPolicy"].one_of(("Allow", "Forbid", "Replace"))
    template = spec["jobTemplate"]
    if template.require() and template.is_object():
        check_notes(template["metadata"])
        check_job_spec(template["spec"], template["metadata"]["name"])
        if template["spec"]["manualSelector"].value is True:
            template["spec"]["manualSelector"].invalid("must not be true: every job needs its own selector")


def _check_schedule(spec: At) -> None:
    schedule = spec["schedule"]
    if not schedule.require() or not schedule.is_text():
        return
    if "TZ" in schedule.text():
        schedule.invalid("must not name a time zone: timeZone is there for that")
        return
    try:
        schedule_of(schedule.text())
    except ScheduleError as error:
        schedule.invalid(str(error))


def check_new_cron_job(cron_job: At) -> None:
    name = cron_job["metadata"]["name"]
    if len(name.text()) > _LONGEST_NAME:
        name.invalid(f"must be no longer than {_LONGEST_NAME} characters")
    _check_zone(cron_job["spec"]["timeZone"])


def check_cron_job_change(cron_job: At, old: Json) -> None:
    zone = cron_job["spec"]["timeZone"]
    if zone.value != text_in(part(old, "spec"), "timeZone"):
        _check_zone(zone)


def _check_zone(zone: At) -> None:
    if not zone.given or not zone.is_text():
        return
    if zone.text().lower() in ("", "local"):
        zone.invalid("must be the name of a time zone, such as Europe/Berlin or Etc/UTC")
        return
    try:
        zone_of(zone.text())
    except ScheduleError as error:
        zone.invalid(str(error))
