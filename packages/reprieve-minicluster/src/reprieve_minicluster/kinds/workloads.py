"""Workloads of pods: what makes them, scales them, and limits their disruption."""

from functools import partial

from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import (
    AGE,
    NAME,
    NONE,
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
from reprieve_minicluster.kinds.conversion import OLDER_AUTOSCALERS
from reprieve_minicluster.kinds.kind import (
    APART,
    CONTENT,
    METADATA,
    NOTES,
    POD_SPEC,
    PRIMITIVE,
    SPEC,
    TEMPLATE,
    ResourceKind,
    RoleAccess,
    SelectableField,
    under,
)


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


REPLICA_SET = (
    NAME,
    number("Desired", "spec.replicas", 1),
    number("Current", "status.replicas"),
    number("Ready", "status.readyReplicas"),
    AGE,
    *_TEMPLATE,
)


def _node_selector(body: Json, now: float) -> str:
    labels = at(body, "spec.template.spec.nodeSelector")
    pairs = sorted(labels.items()) if isinstance(labels, dict) else ()
    return ",".join(f"{key}={value}" for key, value in pairs) or NONE


def _controller(body: Json, now: float) -> str:
    """The controlling owner as kind.group/name."""
    found = [owner for owner in items_at(body, "metadata.ownerReferences") if owner.get("controller") is True]
    if not found:
        return NONE
    group = text_at(found[0], "apiVersion").partition("/")[0]
    return f"{text_at(found[0], 'kind').lower()}.{group}/{text_at(found[0], 'name')}"


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


def _reference(body: Json, now: float) -> str:
    return f"{text_at(body, 'spec.scaleTargetRef.kind')}/{text_at(body, 'spec.scaleTargetRef.name')}"


# --- budgets and priorities --------------------------------------------------------------------------


def _either(path: str) -> TableColumn:
    name = {"minAvailable": "Min Available", "maxUnavailable": "Max Unavailable"}[path]
    return text(name, f"spec.{path}", "N/A")


_controlled = partial(ResourceKind, shown_in_all=True, status=APART, generation=SPEC, access=RoleAccess.EDIT)
KINDS = (
    _controlled(
        "ReplicationController",
        "replicationcontrollers",
        description="The older form of a ReplicaSet.",
        controller="replication-controller",
        short=("rc",),
        counts=("replicas",),
        selectable=(SelectableField("status.replicas", absent="0"),),
        parts=("scale",),
        orphans=True,
        merge_keys=TEMPLATE,
        columns=REPLICA_SET,
    ),
    ResourceKind(
        "Deployment",
        "deployments",
        "apps",
        description="Declarative updates for pods and ReplicaSets.",
        controller="deployment-controller",
        short=("deploy",),
        shown_in_all=True,
        status=APART,
        generation=NOTES,
        parts=("scale",),
        access=RoleAccess.EDIT,
        merge_keys=TEMPLATE,
        columns=(
            NAME,
            TableColumn("Ready", _replicas_ready),
            number("Up-to-date", "status.updatedReplicas"),
            number("Available", "status.availableReplicas"),
            AGE,
            *_TEMPLATE,
        ),
    ),
    _controlled(
        "ReplicaSet",
        "replicasets",
        "apps",
        description="Ensures that a number of pods of one template run.",
        controller="replicaset-controller",
        short=("rs",),
        counts=("replicas",),
        selectable=(SelectableField("status.replicas", absent="0"),),
        parts=("scale",),
        merge_keys=TEMPLATE,
        columns=REPLICA_SET,
    ),
    _controlled(
        "StatefulSet",
        "statefulsets",
        "apps",
        description="Pods with ordinals: created in order, deleted in reverse, each with its own claims.",
        controller="statefulset-controller",
        short=("sts",),
        counts=("replicas", "availableReplicas"),
        parts=("scale",),
        merge_keys=TEMPLATE,
        columns=(NAME, TableColumn("Ready", _replicas_ready), AGE, *_TEMPLATE[:2]),
    ),
    _controlled(
        "DaemonSet",
        "daemonsets",
        "apps",
        description="Runs one pod on every eligible node.",
        controller="daemonset-controller",
        short=("ds",),
        counts=("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
        merge_keys=TEMPLATE,
        columns=(
            NAME,
            number("Desired", "status.desiredNumberScheduled"),
            number("Current", "status.currentNumberScheduled"),
            number("Ready", "status.numberReady"),
            number("Up-to-date", "status.updatedNumberScheduled"),
            number("Available", "status.numberAvailable"),
            TableColumn("Node Selector", _node_selector),
            AGE,
            *_TEMPLATE,
        ),
    ),
    ResourceKind(
        "ControllerRevision",
        "controllerrevisions",
        "apps",
        description="A snapshot of the template of a StatefulSet or DaemonSet, for rollbacks.",
        access=RoleAccess.VIEW,
        columns=(NAME, TableColumn("Controller", _controller), number("Revision", "revision"), AGE),
    ),
    _controlled(
        "Job",
        "jobs",
        "batch",
        description="Runs pods until a number of them have succeeded.",
        controller="job-controller",
        selectable=(SelectableField("status.successful", "status.succeeded", absent="0"),),
        orphans=True,
        merge_keys=TEMPLATE,
        columns=(
            NAME,
            TableColumn("Status", _job_status),
            TableColumn("Completions", _completions),
            TableColumn("Duration", _job_duration),
            AGE,
            *_TEMPLATE,
        ),
    ),
    _controlled(
        "CronJob",
        "cronjobs",
        "batch",
        description="Creates Jobs on a schedule.",
        controller="cronjob-controller",
        short=("cj",),
        merge_keys=under("spec.jobTemplate", {"metadata.finalizers": PRIMITIVE, **TEMPLATE}),
        columns=(
            NAME,
            text("Schedule", "spec.schedule"),
            text("Timezone", "spec.timeZone"),
            text("Suspend", "spec.suspend", "False"),
            size("Active", "status.active"),
            since("Last Schedule", "status.lastScheduleTime", NONE),
            AGE,
            joined("Containers", "spec.jobTemplate.spec.template.spec.containers", "name", wide=True),
            joined("Images", "spec.jobTemplate.spec.template.spec.containers", "image", wide=True),
        ),
    ),
    ResourceKind(
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "policy",
        description="How many of the selected pods evictions may disrupt at a time.",
        short=("pdb",),
        status=APART,
        generation=SPEC,
        counts=("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
        blind=False,
        access=RoleAccess.EDIT,
        observed_generation=True,
        replaced_whole=("spec.selector",),
        columns=(
            NAME,
            _either("minAvailable"),
            _either("maxUnavailable"),
            number("Allowed Disruptions", "status.disruptionsAllowed"),
            AGE,
            number("Healthy", "status.currentHealthy", wide=True),
            number("Expected", "status.expectedPods", wide=True),
        ),
    ),
    _controlled(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "autoscaling",
        ("v2", "v1"),
        conversions={"autoscaling/v1": OLDER_AUTOSCALERS},
        description="Scales a workload by its load. The mini cluster has no such controller.",
        short=("hpa",),
        columns=(
            NAME,
            TableColumn("Reference", _reference),
            number("MinPods", "spec.minReplicas", 1),
            number("MaxPods", "spec.maxReplicas"),
            number("Replicas", "status.currentReplicas"),
            AGE,
        ),
    ),
    ResourceKind(
        "PodTemplate",
        "podtemplates",
        description="A named template for pods.",
        generation=CONTENT,
        merge_keys={**under("template.metadata", METADATA), **under("template.spec", POD_SPEC)},
        columns=(NAME, joined("Containers", "template.spec.containers", "name"), AGE),
    ),
)
