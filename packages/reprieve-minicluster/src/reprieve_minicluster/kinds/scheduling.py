"""Priority classes, and the groups that pods are scheduled in."""

from reprieve.cluster.api.groups import GroupApi
from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import (
    AGE,
    NAME,
    UNKNOWN,
    TableColumn,
    at,
    condition,
    joined,
    number,
    text,
    text_at,
)
from reprieve_minicluster.kinds.conversion import OLDER_GROUPS
from reprieve_minicluster.kinds.kind import APART, SPEC, ResourceKind, RoleAccess

_GROUP = "scheduling.k8s.io"
_VERSIONS = ("v1beta1", "v1alpha3", "v1alpha2")
_CONVERSIONS = {str(GroupApi.V1ALPHA2): OLDER_GROUPS}


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


_CLAIMS = {"spec.resourceClaims": "name", "status.resourceClaimStatuses": "name"}


KINDS = (
    ResourceKind(
        "PriorityClass",
        "priorityclasses",
        _GROUP,
        description="Maps a name to a priority. Pods of higher priority come first and may preempt.",
        namespaced=False,
        short=("pc",),
        generation=SPEC,
        columns=(
            NAME,
            number("Value", "value"),
            text("Global-Default", "globalDefault", "false"),
            AGE,
            text("PreemptionPolicy", "preemptionPolicy", "PreemptLowerPriority"),
        ),
    ),
    ResourceKind(
        "Workload",
        "workloads",
        _GROUP,
        _VERSIONS,
        conversions=_CONVERSIONS,
        description="Templates of pod groups, from which a controller creates PodGroups.",
        blind=False,
        access=RoleAccess.EDIT,
        merge_keys={"spec.podGroupTemplates.resourceClaims": "name"},
        columns=(NAME, joined("Templates", "spec.podGroupTemplates", "name"), AGE),
    ),
    ResourceKind(
        "CompositePodGroup",
        "compositepodgroups",
        _GROUP,
        ("v1alpha3",),
        description="A group of pod groups that are scheduled and disrupted together.",
        status=APART,
        blind=False,
        access=RoleAccess.EDIT,
        merge_keys=_CLAIMS,
        columns=_group("CompositePodGroupInitiallyScheduled"),
    ),
    ResourceKind(
        "PodGroup",
        "podgroups",
        _GROUP,
        _VERSIONS,
        conversions=_CONVERSIONS,
        description="Pods that are scheduled, preempt and, in mode all, are preempted together.",
        status=APART,
        blind=False,
        access=RoleAccess.EDIT,
        merge_keys=_CLAIMS,
        columns=_group("PodGroupInitiallyScheduled"),
    ),
)
