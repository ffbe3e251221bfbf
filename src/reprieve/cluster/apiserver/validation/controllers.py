"""Are the kinds valid that create pods from a template, such as Deployment, DaemonSet and Job?"""

import re

from reprieve.cluster.api.names import dns_label, label_key
from reprieve.cluster.api.values import items, part, same, text_in
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.validation.metadata import check_labels, check_selector, selects
from reprieve.cluster.apiserver.validation.pods import check_template
from reprieve.cluster.apiserver.validation.volumes import check_claim
from reprieve.model.json import Json

_PERCENT = re.compile(r"0*(\d+)%", re.ASCII)
_MOST_RULES = 20
_MOST_INDEXED = 100_000


# --- apps ----------------------------------------------------------------------------------------


def check_deployment(deployment: At) -> None:
    spec = deployment["spec"]
    if not spec.require():
        return
    _check_replicated(spec)
    _check_strategy(spec["strategy"])
    for field in ("revisionHistoryLimit", "progressDeadlineSeconds"):
        spec[field].at_least(0)
    deadline, ready = spec["progressDeadlineSeconds"].integer(), spec["minReadySeconds"].integer()
    if deadline is not None and deadline <= (ready or 0):
        spec["progressDeadlineSeconds"].invalid("must be more than minReadySeconds")


def check_replica_set(replica_set: At) -> None:
    if replica_set["spec"].require():
        _check_replicated(replica_set["spec"])


def check_replication_controller(controller: At) -> None:
    """As the others, but its selector is a set of labels."""
    spec = controller["spec"]
    if not spec.require():
        return
    check_labels(spec["selector"])
    selector = {"matchLabels": spec["selector"].value} if not spec["selector"].empty else None
    _check_replicated(spec.showing({**part(spec.value), "selector": selector}))


def check_stateful_set(stateful_set: At) -> None:
    spec = stateful_set["spec"]
    if spec.require():
        _check_replicated(spec.showing(_with_claims(spec.value)))
        spec["podManagementPolicy"].one_of(("OrderedReady", "Parallel"))
        _check_set_strategy(spec["updateStrategy"])
        spec["ordinals"]["start"].at_least(0)
        for claim in spec["volumeClaimTemplates"].items():
            check_claim(claim)
        if not spec["serviceName"].empty:
            spec["serviceName"].must_be(dns_label)
        for field in ("whenDeleted", "whenScaled"):
            spec["persistentVolumeClaimRetentionPolicy"][field].one_of(("Delete", "Retain"))


def _with_claims(spec: object) -> object:
    """The spec that its pods will have: containers may mount the claims of volumeClaimTemplates."""
    claims = [text_in(part(claim, "metadata"), "name") for claim in items(spec, "volumeClaimTemplates")]
    template, pod = part(spec, "template"), part(spec, "template", "spec")
    if not claims or not pod or not isinstance(pod.get("volumes", []), list):
        return spec
    added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    own = [volume for volume in pod.get("volumes", []) if part(volume).get("name") not in claims]
    return {**part(spec), "template": {**template, "spec": {**pod, "volumes": [*own, *added]}}}


def _check_set_strategy(strategy: At) -> None:
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


def check_daemon_set(daemon_set: At) -> None:
    spec = daemon_set["spec"]
    if not spec.require():
        return
    _check_replicated(spec)
    spec["revisionHistoryLimit"].at_least(0)
    strategy = spec["updateStrategy"]
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


def _check_replicated(spec: At) -> None:
    spec["replicas"].at_least(0)
    spec["minReadySeconds"].at_least(0)
    selector, template = spec["selector"], spec["template"]
    if selector.require("must be given, and not be empty"):
        check_selector(selector)
        if selector["matchLabels"].empty and selector["matchExpressions"].empty:
            selector.invalid("must not be empty")
    check_template(template)
    _check_selected(selector, template)
    restart = template["spec"]["restartPolicy"]
    if not restart.empty:
        restart.one_of(("Always",))
    if template["spec"]["activeDeadlineSeconds"].given:
        template["spec"]["activeDeadlineSeconds"].forbid("must not be given in this template")


def _check_selected(selector: At, template: At) -> None:
    labels = template["metadata"]["labels"]
    if not selector.empty and not selects(selector.value, labels.value or {}):
        labels.invalid("must match the selector")


def _check_strategy(strategy: At) -> None:
    strategy["type"].one_of(("Recreate", "RollingUpdate"))
    rolling = strategy["rollingUpdate"]
    if strategy["type"].value == "Recreate":
        if rolling.given:
            rolling.forbid("must not be given where type is Recreate")
        return
    surge, unavailable = rolling["maxSurge"], rolling["maxUnavailable"]
    check_count_or_percent(surge)
    check_share(unavailable)
    if all(value in (0, "0", "0%") for value in (surge.value, unavailable.value)):
        unavailable.invalid("must not be 0 where maxSurge is 0")


def check_count_or_percent(value: At) -> None:
    if isinstance(value.value, str):
        if _PERCENT.fullmatch(value.value) is None:
            value.invalid("must be a number or a percentage such as 25%")
    else:
        value.at_least(0)


def check_share(value: At) -> None:
    """A number, or a percentage of at most 100."""
    check_count_or_percent(value)
    share = _PERCENT.fullmatch(value.value) if isinstance(value.value, str) else None
    if share is not None and int(share[1][:9]) > 100:
        value.invalid("must not be more than 100%")


def check_selector_change(thing: At, old: Json) -> None:
    selector = thing["spec"]["selector"]
    if not same(selector.value, part(old, "spec").get("selector")):
        selector.invalid("the field is immutable")


def check_stateful_set_change(thing: At, old: Json) -> None:
    check_selector_change(thing, old)
    spec, before = thing["spec"], part(old, "spec")
    for field in ("volumeClaimTemplates", "serviceName", "podManagementPolicy"):
        if not same(spec[field].value or None, before.get(field) or None):
            spec[field].invalid("the field is immutable")


# --- jobs ----------------------------------------------------------------------------------------


def check_job(job: At) -> None:
    spec = job["spec"]
    if spec.require():
        check_job_spec(spec, job["metadata"]["name"])


def check_job_spec(spec: At, name: At) -> None:
    for field in (
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ):
        spec[field].at_least(0)
    spec["suspend"].flag()
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
    for rule in policy["rules"].items():
        rule["action"].require()
        rule["action"].one_of(("Count", "FailIndex", "FailJob", "Ignore"))
        if rule["onExitCodes"].given == (not rule["onPodConditions"].empty):
            rule.invalid("must have exactly one of onExitCodes and onPodConditions")
        _check_exit_codes(rule["onExitCodes"], names)
        for pattern in rule["onPodConditions"].items():
            pattern["type"].must_name(label_key)
            pattern["status"].one_of(("True", "False", "Unknown"))


def _check_exit_codes(codes: At, containers: set[str]) -> None:
    if not codes.is_object():
        return
    codes["operator"].require()
    codes["operator"].one_of(("In", "NotIn"))
    name = codes["containerName"]
    if name.given and name.text() not in containers:
        name.invalid("must be the name of a container of the template")
    codes["values"].require()
    for value in codes["values"].items():
        if value.integer() == 0 and codes["operator"].value == "In":
            value.invalid("must not be 0 where operator is In")


def _check_job_template(spec: At) -> None:
    template = spec["template"]
    check_template(template)
    if spec["manualSelector"].value is True:
        spec["selector"].require("must be given where manualSelector is true")
    check_selector(spec["selector"])
    _check_selected(spec["selector"], template)
    restart = template["spec"]["restartPolicy"]
    if restart.value == "Always":
        restart.refuse(ErrorType.REQUIRED, "must be given: OnFailure or Never")
    elif spec["podFailurePolicy"].given and restart.value != "Never":
        restart.invalid("must be Never where podFailurePolicy is given")


def check_job_change(job: At, old: Json) -> None:
    spec, before = job["spec"], part(old, "spec")
    for field in (
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ):
        if not same(spec[field].value, before.get(field)):
            spec[field].invalid("the field is immutable")
    _check_completions_change(spec, before)
    suspended = before.get("suspend") is True
    if not same(_fixed_template(spec.value, suspended), _fixed_template(before, suspended)):
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
