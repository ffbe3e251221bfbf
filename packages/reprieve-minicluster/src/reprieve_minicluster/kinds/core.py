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
from reprieve_minicluster.kinds.conversion import EVENTS
from reprieve_minicluster.kinds.kind import (
    APART,
    CLEANUP_FINALIZER,
    NAMESPACE_FINALIZER,
    SPEC,
    ResourceKind,
    RoleAccess,
    SelectableField,
)


def _quota(limits: bool) -> Callable[[Json, float], str]:
    def read(body: Json, now: float) -> str:
        hard, used = at(body, "status.hard"), at(body, "status.used")
        if not isinstance(hard, dict) or not isinstance(used, dict):
            return ""
        names = sorted(name for name in hard if name.startswith("limits.") == limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return read


def _last_seen(body: Json, now: float) -> str:
    paths = ("series.lastObservedTime", "lastTimestamp", "eventTime", "metadata.creationTimestamp")
    return next((age(at(body, p), now) for p in paths if at(body, p)), UNKNOWN)


def _object(body: Json, now: float) -> str:
    kind, name = text_at(body, "involvedObject.kind"), text_at(body, "involvedObject.name")
    return f"{kind.lower()}/{name}"


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
        columns=(NAME, text("Status", "status.phase", UNKNOWN), AGE),
    ),
    ResourceKind(
        "ConfigMap",
        "configmaps",
        description="Configuration data for pods to consume.",
        short=("cm",),
        access=RoleAccess.EDIT,
        columns=(NAME, size("Data", "data", "binaryData"), AGE),
    ),
    ResourceKind(
        "Secret",
        "secrets",
        description="Sensitive data for pods to consume.",
        selectable=(SelectableField("type"),),
        access=RoleAccess.EDITORS_ONLY,
        columns=(NAME, text("Type", "type", "Opaque"), size("Data", "data"), AGE),
    ),
    ResourceKind(
        "ServiceAccount",
        "serviceaccounts",
        description="An identity for the containers of a pod.",
        short=("sa",),
        parts=("token",),
        access=RoleAccess.EDIT,
        merge_keys={"secrets": "name"},
        columns=(NAME, size("Secrets", "secrets"), AGE),
    ),
    ResourceKind(
        "ResourceQuota",
        "resourcequotas",
        description="Limits on the total usage and number of objects in a namespace.",
        short=("quota",),
        status=APART,
        access=RoleAccess.VIEW,
        columns=(NAME, TableColumn("Request", _quota(False)), TableColumn("Limit", _quota(True)), AGE),
    ),
    ResourceKind(
        "LimitRange",
        "limitranges",
        description="Limits and defaults for resources of containers, pods and claims in a namespace.",
        short=("limits",),
        upserts=True,
        access=RoleAccess.VIEW,
        columns=(NAME, text("Created At", "metadata.creationTimestamp")),
    ),
    ResourceKind(
        "Event",
        "events",
        description="A report of an event somewhere in the cluster.",
        also=("events.k8s.io/v1",),
        conversions={"events.k8s.io/v1": EVENTS},
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
        columns=(
            TableColumn("Last Seen", _last_seen),
            text("Type", "type"),
            text("Reason", "reason"),
            TableColumn("Object", _object),
            text("Message", "message", ""),
            text("Source", "reportingComponent", wide=True),
            since("First Seen", "metadata.creationTimestamp", wide=True),
            TableColumn("Name", NAME.read, wide=True, format="name"),
        ),
    ),
    ResourceKind(
        "Lease",
        "leases",
        "coordination.k8s.io",
        description="A lease: its holder, and how long it lasts.",
        blind=False,
        upserts=True,
        access=RoleAccess.EDITORS_ONLY,
        columns=(NAME, text("Holder", "spec.holderIdentity"), AGE),
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
        columns=(NAME, text("Kind", "spec.names.kind"), text("Scope", "spec.scope"), AGE),
    ),
)
