"""Are the kinds valid that create pods from a template, such as Deployment, DaemonSet, Job and CronJob?"""

import re

from reprieve.cluster.admission.cron_schedules import ScheduleError, schedule_of, zone_of
from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import check_marks, rule
from reprieve.cluster.admission.validation.metadata import check_labels, check_notes, selects
from reprieve.cluster.api.names import dns_label
from reprieve.cluster.api.values import items, means_the_same, part, text_in
from reprieve.model.json import Json

_PERCENT = re.compile(r"0*(\d+)%", re.ASCII)
_MOST_RULES = 20
_MOST_INDEXED = 100_000
_LONGEST_CRON_JOB = 52  # the names of its jobs add the minute of their time


# --- apps ----------------------------------------------------------------------------------------


@rule
def check_progress_deadline(spec: At) -> None:
    deadline, ready = spec["progressDeadlineSeconds"].integer(), spec["minReadySeconds"].integer()
    if deadline is not None and deadline <= (ready or 0):
        spec["progressDeadlineSeconds"].invalid("must be more than minReadySeconds")


@rule
def check_replicated_by_labels(spec: At) -> None:
    """The selector of a ReplicationController is a set of labels."""
    check_labels(spec["selector"])
    selector = {"matchLabels": spec["selector"].value} if not spec["selector"].empty else None
    check_replicated(spec.showing({**part(spec.value), "selector": selector}))


@rule
def check_replicated_with_claims(spec: At) -> None:
    check_replicated(spec.showing(_with_claims(spec.value)))


def _with_claims(spec: object) -> object:
    """The spec that its pods will have: containers may mount the claims of volumeClaimTemplates."""
    claims = [text_in(part(claim, "metadata"), "name") for claim in items(spec, "volumeClaimTemplates")]
    template, pod = part(spec, "template"), part(spec, "template", "spec")
    if not claims or not pod or not isinstance(pod.get("volumes", []), list):
        return spec
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    own = [volume for volume in pod.get("volumes", []) if part(volume).get("name") not in claims]
    return {**part(spec), "template": {**template, "spec": {**pod, "volumes": [*own, *added]}}}


@rule
def check_set_strategy(strategy: At) -> None:
    strategy["type"].one_of(("OnDelete", "RollingUpdate"))
    rolling = strategy["rollingUpdate"]
    if strategy["type"].value == "OnDelete":
        if rolling.given:
            rolling.invalid("must not be given unless type is RollingUpdate")
        return
    rolling["partition"].at_least(0)
    check_share(rolling["maxUnavailable"])
    if _is_zero(rolling["maxUnavailable"]):
        rolling["maxUnavailable"].invalid("must not be 0")


def _is_zero(value: At) -> bool:
    return value.value in (0, "0", "0%")


@rule
def check_daemon_strategy(strategy: At) -> None:
    strategy["type"].one_of(("OnDelete", "RollingUpdate"))
    if strategy["type"].value != "RollingUpdate":
        return
    surge, unavailable = strategy["rollingUpdate"]["maxSurge"], strategy["rollingUpdate"]["maxUnavailable"]
    check_share(surge)
    check_share(unavailable)
    if _is_zero(surge) and _is_zero(unavailable):
        unavailable.refuse(ErrorType.REQUIRED, "must not be 0 where maxSurge is 0")
    elif not _is_zero(surge) and not _is_zero(unavailable):
        surge.invalid("must be 0 where maxUnavailable is not")


@rule
def check_replicated(spec: At) -> None:
    spec["replicas"].at_least(0)
    spec["minReadySeconds"].at_least(0)
    selector, template = spec["selector"], spec["template"]
    if selector.require("must be given, and not be empty"):
        if selector.is_object():
            check_marks(selector, "LabelSelector")
        if selector["matchLabels"].empty and selector["matchExpressions"].empty:
            selector.invalid("must not be empty")
    _check_template(template)
    _check_selected(selector, template)
    restart = template["spec"]["restartPolicy"]
    if not restart.empty:
        restart.one_of(("Always",))
    if template["spec"]["activeDeadlineSeconds"].given:
        template["spec"]["activeDeadlineSeconds"].forbid("must not be given in this template")


def _check_template(template: At) -> None:
    if template.require() and template.is_object():
        check_marks(template, "PodTemplateSpec")


def _check_selected(selector: At, template: At) -> None:
    labels = template["metadata"]["labels"]
    if not selector.empty and not selects(selector.value, labels.value or {}):
        labels.invalid("must match the selector")


@rule
def check_strategy(strategy: At) -> None:
    strategy["type"].one_of(("Recreate", "RollingUpdate"))
    rolling = strategy["rollingUpdate"]
    if strategy["type"].value == "Recreate":
        if rolling.given:
            rolling.forbid("must not be given where type is Recreate")
        return
    surge, unavailable = rolling["maxSurge"], rolling["maxUnavailable"]
    _check_count_or_percent(surge)
    check_share(unavailable)
    if all(value in (0, "0", "0%") for value in (surge.value, unavailable.value)):
        unavailable.invalid("must not be 0 where maxSurge is 0")


def _check_count_or_percent(value: At) -> None:
    if isinstance(value.value, str):
        if _PERCENT.fullmatch(value.value) is None:
            value.invalid("must be a number or a percentage such as 25%")
    else:
        value.at_least(0)


@rule
def check_share(value: At) -> None:
    """A number, or a percentage of at most 100."""
    _check_count_or_percent(value)
    share = _PERCENT.fullmatch(value.value) if isinstance(value.value, str) else None
    if share is not None and int(share[1][:9]) > 100:
        value.invalid("must not be more than 100%")


# --- jobs ----------------------------------------------------------------------------------------


@rule
def check_job(job: At) -> None:
    if job["spec"].require():
        _check_job_spec(job["spec"], job["metadata"]["name"])


def _check_job_spec(spec: At, name: At) -> None:
    check_marks(spec, "JobSpec")
    _check_completion(spec, name)
    _check_failure_policy(spec)
    _check_job_template(spec)


def _check_completion(spec: At, name: At) -> None:
    mode = spec["completionMode"]
    mode.one_of(("Indexed", "NonIndexed"))
    if mode.value == "Indexed":
        spec["completions"].require("must be given where completionMode is Indexed")
        spec["parallelism"].within(0, _MOST_INDEXED)
        last = (spec["completions"].integer() or 1) - 1
        if not name.empty and dns_label(f"{name.text()}-{last}") is not None:
            name.invalid(f"must be short enough for the name of the last pod, {name.text()}-{last}")
        return
    for field in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
        if spec[field].given:
            spec[field].invalid("must not be given unless completionMode is Indexed")


def _check_failure_policy(spec: At) -> None:
    policy, replacement = spec["podFailurePolicy"], spec["podReplacementPolicy"]
    replacement.one_of(("Failed",) if policy.given else ("Failed", "TerminatingOrFailed"))
    policy["rules"].at_most_items(_MOST_RULES)
    names = {text_in(c, "name") for c in items(part(spec.value, "template", "spec"), "containers")}
    for cause in policy["rules"].items():
        cause.known["containers of the template"] = names
        check_marks(cause, "PodFailurePolicyRule")


@rule
def check_one_cause(cause: At) -> None:
    if cause["onExitCodes"].given == (not cause["onPodConditions"].empty):
        cause.invalid("must have exactly one of onExitCodes and onPodConditions")


@rule
def check_exit_codes(codes: At) -> None:
    if not codes.is_object():
        return
    codes["operator"].require()
    codes["operator"].one_of(("In", "NotIn"))
    name = codes["containerName"]
    if name.given and name.text() not in codes.known["containers of the template"]:
        name.invalid("must be the name of a container of the template")
    codes["values"].require()
    for value in codes["values"].items():
        if value.integer() == 0 and codes["operator"].value == "In":
            value.invalid("must not be 0 where operator is In")


def _check_job_template(spec: At) -> None:
    template = spec["template"]
    _check_template(template)
    if spec["manualSelector"].value is True:
        spec["selector"].require("must be given where manualSelector is true")
    if spec["selector"].is_object():
        check_marks(spec["selector"], "LabelSelector")
    _check_selected(spec["selector"], template)
    restart = template["spec"]["restartPolicy"]
    if restart.value == "Always":
        restart.refuse(ErrorType.REQUIRED, "must be given: OnFailure or Never")
    elif spec["podFailurePolicy"].given and restart.value != "Never":
        restart.invalid("must be Never where podFailurePolicy is given")


@rule
def check_job_change(spec: At, old: object) -> None:
    before = part(old)
    _check_completions_change(spec, before)
    suspended = before.get("suspend") is True
    if not means_the_same(_fixed_template(spec.value, suspended), _fixed_template(before, suspended)):
        spec["template"].invalid("the field is immutable")


def _check_completions_change(spec: At, before: Json) -> None:
    completions = spec["completions"]
    if completions.value == before.get("completions"):
        return
    if spec["completionMode"].value != "Indexed":
        completions.invalid("the field is immutable")
    elif completions.value != spec["parallelism"].value:
        completions.invalid("must be changed together with parallelism, and to the same number")


def _fixed_template(spec: object, suspended: bool) -> Json:
    """The immutable part of a template. A suspended job may change where its pods run and their resources."""
    template = part(spec, "template")
    if not suspended:
        return template
    free = ("nodeSelector", "tolerations", "schedulingGates", "affinity", "containers", "initContainers")
    pod = {name: value for name, value in part(template, "spec").items() if name not in free}
    pod_affinity = {k: v for k, v in part(template, "spec", "affinity").items() if k != "nodeAffinity"}
    bare = [
        [{k: v for k, v in c.items() if k != "resources"} for c in items(part(template, "spec"), field)]
        for field in ("containers", "initContainers")
    ]
    return {"spec": pod, "affinity": pod_affinity, "containers": bare}


# --- cron jobs -----------------------------------------------------------------------------------


@rule
def check_job_template(template: At) -> None:
    if template.is_object():
        check_notes(template["metadata"])
        _check_job_spec(template["spec"], template["metadata"]["name"])
        if template["spec"]["manualSelector"].value is True:
            template["spec"]["manualSelector"].invalid("must not be true: every job needs its own selector")


@rule
def check_schedule(schedule: At) -> None:
    if not schedule.is_text():
        return
    if "TZ" in schedule.text():
        schedule.invalid("must not name a time zone: timeZone is there for that")
        return
    try:
        schedule_of(schedule.text())
    except ScheduleError as error:
        schedule.invalid(str(error))


@rule
def check_cron_job_name(name: At) -> None:
    if len(name.text()) > _LONGEST_CRON_JOB:
        name.invalid(f"must be no longer than {_LONGEST_CRON_JOB} characters")


@rule
def check_zone_change(zone: At, old: object) -> None:
    if zone.value != (old if isinstance(old, str) else ""):
        check_zone(zone)


@rule
def check_zone(zone: At) -> None:
    if not zone.given or not zone.is_text():
        return
    if zone.text().lower() in ("", "local"):
        zone.invalid("must be the name of a time zone, such as Europe/Berlin or Etc/UTC")
        return
    try:
        zone_of(zone.text())
    except ScheduleError as error:
        zone.invalid(str(error))
