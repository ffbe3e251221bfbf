"""Pods, their nodes, and their runtimes."""

from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import (
    AGE,
    NAME,
    NONE,
    TableColumn,
    at,
    condition,
    items_at,
    number,
    text,
    text_at,
)
from reprieve_minicluster.kinds.kind import (
    APART,
    POD_SPEC,
    PRIMITIVE,
    REGISTERED,
    SPEC,
    ResourceKind,
    RoleAccess,
    SelectableField,
    under,
)

_ROLE = "node-role.kubernetes.io/"


def _ready(body: Json, now: float) -> str:
    sidecars = [c for c in items_at(body, "spec.initContainers") if c.get("restartPolicy") == "Always"]
    stays = {str(c.get("name")) for c in sidecars}
    total = len(items_at(body, "spec.containers")) + len(sidecars)
    reports = items_at(body, "status.containerStatuses") + [
        c for c in items_at(body, "status.initContainerStatuses") if str(c.get("name")) in stays
    ]
    return f"{sum(c.get('ready') is True for c in reports)}/{total}"


def _status(body: Json, now: float) -> str:
    """The STATUS column of kubectl: Terminating, a reason, or the phase."""
    phase = text_at(body, "status.phase", "Unknown")
    ended = phase in ("Succeeded", "Failed")
    if at(body, "metadata.deletionTimestamp") is not None and not ended:
        return "Terminating"
    reason = text_at(body, "status.reason", "")
    if reason:
        return reason
    scheduled = condition(body, "PodScheduled")
    if phase == "Pending" and scheduled.get("reason") == "SchedulingGated":
        return "SchedulingGated"
    return _of_containers(body) or phase


def _restarts(body: Json, now: float) -> str:
    counts = (report.get("restartCount") for report in items_at(body, "status.containerStatuses"))
    return str(sum(count for count in counts if isinstance(count, int)))


def _readiness_gates(body: Json, now: float) -> str:
    gates = [text_at(gate, "conditionType") for gate in items_at(body, "spec.readinessGates")]
    met = sum(condition(body, gate).get("status") == "True" for gate in gates)
    return f"{met}/{len(gates)}" if gates else NONE


def _of_containers(body: Json) -> str:
    for report in items_at(body, "status.containerStatuses"):
        for path in ("state.waiting.reason", "state.terminated.reason"):
            reason = text_at(report, path, "")
            if reason:
                return reason
    return ""


# --- nodes -----------------------------------------------------------------------------------------


def _node_status(body: Json, now: float) -> str:
    words = {"True": "Ready", "False": "NotReady"}
    status = [words.get(str(condition(body, "Ready").get("status")), "Unknown")]
    if at(body, "spec.unschedulable") is True:
        status.append("SchedulingDisabled")
    return ",".join(status)


def _roles(body: Json, now: float) -> str:
    labels = at(body, "metadata.labels")
    names = labels if isinstance(labels, dict) else {}
    return ",".join(sorted(n.removeprefix(_ROLE) for n in names if str(n).startswith(_ROLE))) or NONE


def _gpus(body: Json, now: float) -> str:
    """GPUs of any vendor: resources that end in /gpu."""
    offered = at(body, "status.allocatable")
    found = offered if isinstance(offered, dict) else {}
    return ",".join(str(v) for k, v in sorted(found.items()) if str(k).endswith("/gpu")) or NONE


def _taints(body: Json, now: float) -> str:
    taints = items_at(body, "spec.taints")
    return ",".join(f"{text_at(t, 'key')}:{text_at(t, 'effect')}" for t in taints) or NONE


KINDS = (
    ResourceKind(
        "Node",
        "nodes",
        description="A worker node; in the mini cluster a simulated one.",
        namespaced=False,
        short=("no",),
        status=REGISTERED,
        selectable=(SelectableField("spec.unschedulable", absent="false"),),
        merge_keys={"spec.podCIDRs": PRIMITIVE, "status.addresses": "type"},
        columns=(
            NAME,
            TableColumn("Status", _node_status),
            TableColumn("Roles", _roles),
            text("CPU", "status.allocatable.cpu"),
            text("Memory", "status.allocatable.memory"),
            TableColumn("GPU", _gpus),
            AGE,
            text("Version", "status.nodeInfo.kubeletVersion"),
            TableColumn("Taints", _taints, wide=True),
        ),
    ),
    ResourceKind(
        "Pod",
        "pods",
        description="Containers that run together on one node.",
        short=("po",),
        shown_in_all=True,
        status=APART,
        generation=SPEC,
        first_phase="Pending",
        drains=True,
        selectable=(
            SelectableField("spec.nodeName"),
            SelectableField("spec.host", "spec.nodeName"),
            SelectableField("spec.restartPolicy"),
            SelectableField("spec.schedulerName"),
            SelectableField("spec.serviceAccountName"),
            SelectableField("spec.hostNetwork", absent="false"),
            SelectableField("status.phase"),
            SelectableField("status.podIP"),
            SelectableField("status.nominatedNodeName"),
        ),
        parts=(
            "binding",
            "eviction",
            "resize",
            "ephemeralcontainers",
            "log",
            "exec",
            "attach",
            "portforward",
            "proxy",
        ),
        access=RoleAccess.EDIT,
        observed_generation=True,
        merge_keys={
            **under("spec", POD_SPEC),
            "status.podIPs": "ip",
            "status.hostIPs": "ip",
            "status.resourceClaimStatuses": "name",
        },
        columns=(
            NAME,
            TableColumn("Ready", _ready),
            TableColumn("Status", _status),
            TableColumn("Restarts", _restarts),
            AGE,
            # The first four as kubectl has them: scripts cut columns by number.
            text("IP", "status.podIP", wide=True),
            text("Node", "spec.nodeName", wide=True),
            text("Nominated Node", "status.nominatedNodeName", wide=True),
            TableColumn("Readiness Gates", _readiness_gates, wide=True),
            number("Priority", "spec.priority", wide=True),
            text("Group", "spec.schedulingGroup.podGroupName", wide=True),
        ),
    ),
    ResourceKind(
        "RuntimeClass",
        "runtimeclasses",
        "node.k8s.io",
        description="A container runtime: the overhead of its pods, and the nodes that have it.",
        namespaced=False,
        blind=False,
        upserts=True,
        columns=(NAME, text("Handler", "handler"), AGE),
    ),
)
