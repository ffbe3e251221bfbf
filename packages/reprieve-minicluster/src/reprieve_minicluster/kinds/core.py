"""Namespaces, configuration, quotas, events, leases and CustomResourceDefinitions."""

from collections.abc import Callable

from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import (
    AGE,
    NAME,
    UNKNOWN,
    TableColumn,
    age,
    at,
    since,
    size,
    text,
    text_at,
)
from reprieve_minicluster.kinds.kind import (
    APART,
    CLEANUP_FINALIZER,
    NAMESPACE_FINALIZER,
    SPEC,
    ResourceKind,
    RoleAccess,
    SelectableField,
)

NAMESPACE = (NAME, text("Status", "status.phase", UNKNOWN), AGE)
CONFIG_MAP = (NAME, size("Data", "data", "binaryData"), AGE)
SECRET = (NAME, text("Type", "type", "Opaque"), size("Data", "data"), AGE)
SERVICE_ACCOUNT = (NAME, size("Secrets", "secrets"), AGE)
LEASE = (NAME, text("Holder", "spec.holderIdentity"), AGE)
DEFINITION = (NAME, text("Kind", "spec.names.kind"), text("Scope", "spec.scope"), AGE)
LIMIT_RANGE = (NAME, text("Created At", "metadata.creationTimestamp"))


def _quota(limits: bool) -> Callable[[Json, float], str]:
    def read(body: Json, now: float) -> str:
        hard, used = at(body, "status.hard"), at(body, "status.used")
        if not isinstance(hard, dict) or not isinstance(used, dict):
            return ""
        names = sorted(name for name in hard if name.startswith("limits.") == limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return read


QUOTA = (NAME, TableColumn("Request", _quota(False)), TableColumn("Limit", _quota(True)), AGE)


def _last_seen(body: Json, now: float) -> str:
    paths = ("series.lastObservedTime", "lastTimestamp", "eventTime", "metadata.creationTimestamp")
    return next((age(at(body, p), now) for p in paths if at(body, p)), UNKNOWN)


def _object(body: Json, now: float) -> str:
    kind, name = text_at(body, "involvedObject.kind"), text_at(body, "involvedObject.name")
    return f"{kind.lower()}/{name}"


EVENT = (
    TableColumn("Last Seen", _last_seen),
    text("Type", "type"),
    text("Reason", "reason"),
    TableColumn("Object", _object),
    text("Message", "message", ""),
    text("Source", "reportingComponent", wide=True),
    since("First Seen", "metadata.creationTimestamp", wide=True),
    TableColumn("Name", NAME.read, wide=True, format="name"),
)


KINDS = (
    ResourceKind(
        "Namespace",
        "namespaces",
        description="A scope for names. Deleting it deletes everything in it.",
        namespaced=False,
        short=("ns",),
        status=APART,
        first_phase="Active",
        selectable=(SelectableField("status.phase"),),
        parts=("finalize",),
        access=RoleAccess.VIEW,
        held_by=(NAMESPACE_FINALIZER,),
        columns=NAMESPACE,
    ),
    ResourceKind(
        "ConfigMap",
        "configmaps",
        description="Configuration data for pods to consume.",
        short=("cm",),
        access=RoleAccess.EDIT,
        columns=CONFIG_MAP,
    ),
    ResourceKind(
        "Secret",
        "secrets",
        description="Sensitive data for pods to consume.",
        selectable=(SelectableField("type"),),
        access=RoleAccess.EDITORS_ONLY,
        columns=SECRET,
    ),
    ResourceKind(
        "ServiceAccount",
        "serviceaccounts",
        description="An identity for the containers of a pod.",
        short=("sa",),
        parts=("token",),
        access=RoleAccess.EDIT,
        merge_keys={"secrets": "name"},
        columns=SERVICE_ACCOUNT,
    ),
    ResourceKind(
        "ResourceQuota",
        "resourcequotas",
        description="Limits on the total usage and number of objects in a namespace.",
        short=("quota",),
        status=APART,
        access=RoleAccess.VIEW,
        columns=QUOTA,
    ),
    ResourceKind(
        "LimitRange",
        "limitranges",
        description="Limits and defaults for resources of containers, pods and claims in a namespace.",
        short=("limits",),
        upserts=True,
        access=RoleAccess.VIEW,
        columns=LIMIT_RANGE,
    ),
    ResourceKind(
        "Event",
        "events",
        description="A report of an event somewhere in the cluster.",
        also=("events.k8s.io/v1",),
        short=("ev",),
        selectable=(
            SelectableField("involvedObject.kind"),
            SelectableField("involvedObject.namespace"),
            SelectableField("involvedObject.name"),
            SelectableField("involvedObject.uid"),
            SelectableField("involvedObject.apiVersion"),
            SelectableField("involvedObject.resourceVersion"),
            SelectableField("involvedObject.fieldPath"),
            SelectableField("reason"),
            SelectableField("reportingComponent"),
            SelectableField("source", "source.component", otherwise="reportingComponent"),
            SelectableField("type"),
        ),
        upserts=True,
        access=RoleAccess.EDIT,
        columns=EVENT,
    ),
    ResourceKind(
        "Lease",
        "leases",
        "coordination.k8s.io",
        description="A lease: its holder, and how long it lasts.",
        blind=False,
        upserts=True,
        access=RoleAccess.EDITORS_ONLY,
        columns=LEASE,
    ),
    ResourceKind(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        description="A custom kind: its names, and the schema of its objects.",
        namespaced=False,
        short=("crd", "crds"),
        status=APART,
        generation=SPEC,
        blind=False,
        held_by=(CLEANUP_FINALIZER,),
        columns=DEFINITION,
    ),
)
