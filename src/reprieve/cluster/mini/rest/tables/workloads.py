"""Columns of workloads, pod groups, disruption budgets and priority classes."""

from reprieve.cluster.mini.rest.tables.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    TableColumn,
    at,
    condition,
    duration,
    items_at,
    joined,
    moment,
    number,
    number_at,
    since,
    size,
    text,
    text_at,
)
from reprieve.model.json import Json


def _selector(body: Json, now: float) -> str:
    """The selector of a ReplicationController is a mapping of labels."""
    labels = at(body, "spec.selector.matchLabels") or at(body, "spec.selector")
    pairs = labels.items() if isinstance(labels, dict) else ()
    return ",".join(f"{key}={value}" for key, value in pairs if isinstance(value, str)) or NONE


_TEMPLATE = (
    joined("Containers", "spec.template.spec.containers", "name", wide=True),
    joined("Images", "spec.template.spec.containers", "image", wide=True),
    TableColumn("Selector", _selector, wide=True),
)


def _replicas_ready(body: Json, now: float) -> str:
    return f"{number_at(body, 'status.readyReplicas')}/{number_at(body, 'spec.replicas', 1)}"


DEPLOYMENT = (
    NAME,
    TableColumn("Ready", _replicas_ready),
    number("Up-to-date", "status.updatedReplicas"),
    number("Available", "status.availableReplicas"),
    AGE,
    *_TEMPLATE,
)
REPLICA_SET = (
    NAME,
    number("Desired", "spec.replicas", 1),
    number("Current", "status.replicas"),
    number("Ready", "status.readyReplicas"),
    AGE,
    *_TEMPLATE,
)
STATEFUL_SET = (NAME, TableColumn("Ready", _replicas_ready), AGE, *_TEMPLATE[:2])


def _node_selector(body: Json, now: float) -> str:
    labels = at(body, "spec.template.spec.nodeSelector")
    pairs = sorted(labels.items()) if isinstance(labels, dict) else ()
    return ",".join(f"{key}={value}" for key, value in pairs) or NONE


DAEMON_SET = (
    NAME,
    number("Desired", "status.desiredNumberScheduled"),
    number("Current", "status.currentNumberScheduled"),
    number("Ready", "status.numberReady"),
    number("Up-to-date", "status.updatedNumberScheduled"),
    number("Available", "status.numberAvailable"),
    TableColumn("Node Selector", _node_selector),
    AGE,
    *_TEMPLATE,
)


def _controller(body: Json, now: float) -> str:
    """The controlling owner as kind.group/name."""
    found = [owner for owner in items_at(body, "metadata.ownerReferences") if owner.get("controller") is True]
    if not found:
        return NONE
    group = text_at(found[0], "apiVersion").partition("/")[0]
    return f"{text_at(found[0], 'kind').lower()}.{group}/{text_at(found[0], 'name')}"


REVISION = (NAME, TableColumn("Controller", _controller), number("Revision", "revision"), AGE)


def _job_status(body: Json, now: float) -> str:
    for name in ("Complete", "Failed", "Suspended"):
        if condition(body, name).get("status") == "True":
            return name
    return "Suspended" if at(body, "spec.suspend") is True else "Running"


def _completions(body: Json, now: float) -> str:
    done, wanted = number_at(body, "status.succeeded"), at(body, "spec.completions")
    if isinstance(wanted, int):
        return f"{done}/{wanted}"
    parallelism = number_at(body, "spec.parallelism")
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(body: Json, now: float) -> str:
    began, ended = moment(at(body, "status.startTime")), moment(at(body, "status.completionTime"))
    return "" if began is None else duration((now if ended is None else ended) - began)


JOB = (
    NAME,
    TableColumn("Status", _job_status),
    TableColumn("Completions", _completions),
    TableColumn("Duration", _job_duration),
    AGE,
    *_TEMPLATE,
)


CRON_JOB = (
    NAME,
    text("Schedule", "spec.schedule"),
    text("Timezone", "spec.timeZone"),
    text("Suspend", "spec.suspend", "False"),
    size("Active", "status.active"),
    since("Last Schedule", "status.lastScheduleTime", NONE),
    AGE,
    joined("Containers", "spec.jobTemplate.spec.template.spec.containers", "name", wide=True),
    joined("Images", "spec.jobTemplate.spec.template.spec.containers", "image", wide=True),
)
RUNTIME_CLASS = (NAME, text("Handler", "handler"), AGE)
POD_TEMPLATE = (NAME, joined("Containers", "template.spec.containers", "name"), AGE)


def _reference(body: Json, now: float) -> str:
    return f"{text_at(body, 'spec.scaleTargetRef.kind')}/{text_at(body, 'spec.scaleTargetRef.name')}"


AUTOSCALER = (
    NAME,
    TableColumn("Reference", _reference),
    number("MinPods", "spec.minReplicas", 1),
    number("MaxPods", "spec.maxReplicas"),
    number("Replicas", "status.currentReplicas"),
    AGE,
)


# --- groups ----------------------------------------------------------------------------------------


def _policy(body: Json, now: float) -> str:
    policy = at(body, "spec.schedulingPolicy")
    if not isinstance(policy, dict):
        return UNKNOWN
    gang = policy.get("gang")
    if not isinstance(gang, dict):
        return "Basic"
    return f"Gang of {text_at(gang, 'minCount', '') or text_at(gang, 'minGroupCount', '?')}"


def _disruption(body: Json, now: float) -> str:
    mode = at(body, "spec.disruptionMode")
    return "All" if isinstance(mode, dict) and "all" in mode else "Single"


def _scheduled(name: str) -> TableColumn:
    return TableColumn("Scheduled", lambda body, now: text_at(condition(body, name), "status", UNKNOWN))


def _group(scheduled: str) -> tuple[TableColumn, ...]:
    return (
        NAME,
        TableColumn("Policy", _policy),
        TableColumn("Disruption", _disruption),
        number("Priority", "spec.priority"),
        _scheduled(scheduled),
        AGE,
        text("Workload", "spec.workloadRef.workloadName", wide=True),
        text("Parent", "spec.parentCompositePodGroupName", wide=True),
    )


POD_GROUP = _group("PodGroupInitiallyScheduled")
COMPOSITE_POD_GROUP = _group("CompositePodGroupInitiallyScheduled")
WORKLOAD = (NAME, joined("Templates", "spec.podGroupTemplates", "name"), AGE)


# --- budgets and priorities --------------------------------------------------------------------------


def _either(path: str) -> TableColumn:
    name = {"minAvailable": "Min Available", "maxUnavailable": "Max Unavailable"}[path]
    return text(name, f"spec.{path}", "N/A")


BUDGET = (
    NAME,
    _either("minAvailable"),
    _either("maxUnavailable"),
    number("Allowed Disruptions", "status.disruptionsAllowed"),
    AGE,
    number("Healthy", "status.currentHealthy", wide=True),
    number("Expected", "status.expectedPods", wide=True),
)
PRIORITY_CLASS = (
    NAME,
    number("Value", "value"),
    text("Global-Default", "globalDefault", "false"),
    AGE,
    text("PreemptionPolicy", "preemptionPolicy", "PreemptLowerPriority"),
)
