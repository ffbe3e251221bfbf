"""The built-in kinds, one table: adding a kind is adding an entry."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from reprieve.model.json import Json


class GenerationRule(Enum):
    """Which changes raise the generation of an object."""

    NONE = "the kind has no generation"
    SPEC = "a change of the spec, and deletion"
    NOTES = "as SPEC, and a change of annotations, which Deployments copy to ReplicaSets"
    CONTENT = "a change of anything but metadata and the status subresource"


class StatusSubresource(Enum):
    """How clients write the status of a kind."""

    NONE = "the kind has no status subresource"
    APART = "a write of the object ignores the status, a write of the status all but metadata and status"
    REGISTERED = "as APART, but a new object may have a status, as a node that a kubelet registers"


@dataclass(frozen=True, slots=True, eq=False)
class CustomKind:
    """What a CustomResourceDefinition adds. Schemas, printer columns and scale paths are by version."""

    singular: str
    list_kind: str
    categories: tuple[str, ...]
    schemas: Mapping[str, Json]
    columns: Mapping[str, tuple[Json, ...]]
    scales: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """``versions``: the served API versions; the first is preferred, and the storage version.

    ``also``: API versions of other groups in which the same objects are served.
    ``short``: short names. ``shown_in_all``: whether the category "all" includes the kind.
    ``first_phase``, ``counts``: the phase, and the fields at zero, of an initial status.
    ``drains``: deletion is graceful: an object that runs goes only when its kubelet has stopped it.
    ``content``: the top-level fields besides apiVersion, kind, metadata and status.
    ``selectable``: fields that field selectors support, besides name and namespace.
    ``asked``: a review: creating one is answered, and nothing is stored.
    ``parts``: subresources besides the status. ``orphans``: deletion orphans dependents by default.
    ``custom``: what a CustomResourceDefinition says; None for built-in kinds.
    ``blind``: whether an update may omit metadata.resourceVersion.
    ``upserts``: whether an update of an object that does not exist creates it.
    """

    kind: str
    plural: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    also: tuple[str, ...] = ()
    namespaced: bool = True
    short: tuple[str, ...] = ()
    shown_in_all: bool = False
    status: StatusSubresource = StatusSubresource.NONE
    generation: GenerationRule = GenerationRule.NONE
    first_phase: str = ""
    counts: tuple[str, ...] = ()
    drains: bool = False
    content: tuple[str, ...] = ("spec",)
    selectable: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    asked: bool = False
    orphans: bool = False
    blind: bool = True
    upserts: bool = False
    custom: CustomKind | None = None

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return self.served[0]

    @property
    def list_kind(self) -> str:
        return self.custom.list_kind if self.custom is not None else f"{self.kind}List"

    @property
    def served(self) -> tuple[str, ...]:
        """Every API version in which it is served."""
        own = (f"{self.group}/{version}" if self.group else version for version in self.versions)
        return (*own, *self.also)


APART, REGISTERED = StatusSubresource.APART, StatusSubresource.REGISTERED
SPEC, NOTES, CONTENT = GenerationRule.SPEC, GenerationRule.NOTES, GenerationRule.CONTENT
_CLUSTER = False
_SCHEDULING, _STORAGE = "scheduling.k8s.io", "storage.k8s.io"
_DEVICES, _NETWORKS = "resource.k8s.io", "networking.k8s.io"
_RIGHTS = "rbac.authorization.k8s.io"
_GROUPS = ("v1beta1", "v1alpha3", "v1alpha2")


def _reviews(group: str, kinds: str) -> Iterator[ResourceKind]:
    for kind in kinds.split():
        yield ResourceKind(kind, f"{kind.lower()}s", group, namespaced=_CLUSTER, asked=True)


def _stored_only() -> Iterator[ResourceKind]:
    """Kinds that no component of the mini cluster acts upon; clients and external controllers use them."""
    yield ResourceKind("Endpoints", "endpoints", short=("ep",), content=("subsets",), upserts=True)
    yield ResourceKind("PodTemplate", "podtemplates", content=("template",), generation=CONTENT)
    yield ResourceKind(
        "EndpointSlice",
        "endpointslices",
        "discovery.k8s.io",
        content=("addressType", "endpoints", "ports"),
        generation=CONTENT,
    )
    yield ResourceKind("Ingress", "ingresses", _NETWORKS, short=("ing",), status=APART, generation=SPEC)
    yield ResourceKind("IngressClass", "ingressclasses", _NETWORKS, namespaced=_CLUSTER, generation=SPEC)
    yield ResourceKind("NetworkPolicy", "networkpolicies", _NETWORKS, short=("netpol",), generation=SPEC)
    yield ResourceKind(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "autoscaling",
        ("v2",),
        short=("hpa",),
        shown_in_all=True,
        status=APART,
        generation=SPEC,
    )
    yield ResourceKind(
        "VolumeAttributesClass",
        "volumeattributesclasses",
        _STORAGE,
        namespaced=_CLUSTER,
        short=("vac",),
        content=("driverName", "parameters"),
    )
    yield ResourceKind("DeviceClass", "deviceclasses", _DEVICES, namespaced=_CLUSTER, generation=SPEC)
    yield ResourceKind(
        "DeviceTaintRule", "devicetaintrules", _DEVICES, namespaced=_CLUSTER, status=APART, generation=SPEC
    )
    yield ResourceKind("ResourceClaim", "resourceclaims", _DEVICES, status=APART)
    yield ResourceKind("ResourceClaimTemplate", "resourceclaimtemplates", _DEVICES)
    yield ResourceKind(
        "ResourceSlice",
        "resourceslices",
        _DEVICES,
        namespaced=_CLUSTER,
        selectable=("spec.nodeName", "spec.driver"),
        generation=SPEC,
    )


def _paths(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}.{name}" for name in names.split())


_POD_FIELDS = (
    *_paths("spec", "nodeName restartPolicy schedulerName serviceAccountName hostNetwork"),
    *_paths("status", "phase podIP nominatedNodeName"),
)
_EVENT_FIELDS = (
    *_paths("involvedObject", "kind namespace name uid apiVersion resourceVersion fieldPath"),
    *("reason", "reportingComponent", "source", "type"),
)

KINDS = (
    ResourceKind(
        "Namespace",
        "namespaces",
        namespaced=_CLUSTER,
        short=("ns",),
        status=APART,
        first_phase="Active",
        selectable=("status.phase",),
        parts=("finalize",),
    ),
    ResourceKind(
        "Node",
        "nodes",
        namespaced=_CLUSTER,
        short=("no",),
        status=REGISTERED,
        selectable=("spec.unschedulable",),
    ),
    ResourceKind(
        "PriorityClass",
        "priorityclasses",
        _SCHEDULING,
        namespaced=_CLUSTER,
        short=("pc",),
        content=("value", "globalDefault", "description", "preemptionPolicy"),
        generation=SPEC,
    ),
    ResourceKind(
        "StorageClass",
        "storageclasses",
        _STORAGE,
        namespaced=_CLUSTER,
        short=("sc",),
        content=(
            *("provisioner", "parameters", "reclaimPolicy", "mountOptions"),
            *("allowVolumeExpansion", "volumeBindingMode", "allowedTopologies"),
        ),
    ),
    ResourceKind("CSIDriver", "csidrivers", _STORAGE, namespaced=_CLUSTER, blind=False),
    ResourceKind("CSINode", "csinodes", _STORAGE, namespaced=_CLUSTER, blind=False),
    ResourceKind(
        "CSIStorageCapacity",
        "csistoragecapacities",
        _STORAGE,
        content=("storageClassName", "nodeTopology", "capacity", "maximumVolumeSize"),
        blind=False,
    ),
    ResourceKind("VolumeAttachment", "volumeattachments", _STORAGE, namespaced=_CLUSTER, status=APART),
    ResourceKind(
        "PersistentVolume",
        "persistentvolumes",
        namespaced=_CLUSTER,
        short=("pv",),
        status=APART,
        first_phase="Pending",
    ),
    ResourceKind(
        "PersistentVolumeClaim", "persistentvolumeclaims", short=("pvc",), status=APART, first_phase="Pending"
    ),
    ResourceKind(
        "Service",
        "services",
        short=("svc",),
        shown_in_all=True,
        status=APART,
        selectable=("spec.clusterIP", "spec.type"),
        upserts=True,
    ),
    ResourceKind(
        "ServiceAccount",
        "serviceaccounts",
        short=("sa",),
        content=("secrets", "imagePullSecrets", "automountServiceAccountToken"),
        parts=("token",),
    ),
    ResourceKind("ConfigMap", "configmaps", short=("cm",), content=("data", "binaryData", "immutable")),
    ResourceKind(
        "Secret", "secrets", content=("data", "stringData", "type", "immutable"), selectable=("type",)
    ),
    ResourceKind(
        "ReplicationController",
        "replicationcontrollers",
        short=("rc",),
        shown_in_all=True,
        status=APART,
        counts=("replicas",),
        selectable=("status.replicas",),
        parts=("scale",),
        orphans=True,
        generation=SPEC,
    ),
    ResourceKind("ResourceQuota", "resourcequotas", short=("quota",), status=APART),
    ResourceKind("LimitRange", "limitranges", short=("limits",), upserts=True),
    ResourceKind(
        "Deployment",
        "deployments",
        "apps",
        short=("deploy",),
        shown_in_all=True,
        status=APART,
        parts=("scale",),
        generation=NOTES,
    ),
    ResourceKind(
        "ReplicaSet",
        "replicasets",
        "apps",
        short=("rs",),
        shown_in_all=True,
        status=APART,
        counts=("replicas",),
        selectable=("status.replicas",),
        parts=("scale",),
        generation=SPEC,
    ),
    ResourceKind(
        "StatefulSet",
        "statefulsets",
        "apps",
        short=("sts",),
        shown_in_all=True,
        status=APART,
        counts=("replicas", "availableReplicas"),
        parts=("scale",),
        generation=SPEC,
    ),
    ResourceKind(
        "DaemonSet",
        "daemonsets",
        "apps",
        short=("ds",),
        shown_in_all=True,
        status=APART,
        counts=("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
        generation=SPEC,
    ),
    ResourceKind("ControllerRevision", "controllerrevisions", "apps", content=("data", "revision")),
    ResourceKind(
        "Job",
        "jobs",
        "batch",
        shown_in_all=True,
        status=APART,
        selectable=("status.successful",),
        orphans=True,
        generation=SPEC,
    ),
    ResourceKind(
        "CronJob", "cronjobs", "batch", short=("cj",), shown_in_all=True, status=APART, generation=SPEC
    ),
    ResourceKind(
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "policy",
        short=("pdb",),
        status=APART,
        counts=("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
        generation=SPEC,
        blind=False,
    ),
    ResourceKind("Workload", "workloads", _SCHEDULING, _GROUPS, blind=False),
    ResourceKind(
        "CompositePodGroup", "compositepodgroups", _SCHEDULING, ("v1alpha3",), status=APART, blind=False
    ),
    ResourceKind("PodGroup", "podgroups", _SCHEDULING, _GROUPS, status=APART, blind=False),
    ResourceKind(
        "Pod",
        "pods",
        short=("po",),
        shown_in_all=True,
        status=APART,
        first_phase="Pending",
        drains=True,
        selectable=_POD_FIELDS,
        parts=(
            *("binding", "eviction", "resize", "ephemeralcontainers"),
            *("log", "exec", "attach", "portforward", "proxy"),
        ),
        generation=SPEC,
    ),
    ResourceKind(
        "Event",
        "events",
        also=("events.k8s.io/v1",),
        short=("ev",),
        content=(
            *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count"),
            *("type", "eventTime", "series", "action", "related", "reportingComponent", "reportingInstance"),
        ),
        selectable=_EVENT_FIELDS,
        upserts=True,
    ),
    ResourceKind("Lease", "leases", "coordination.k8s.io", blind=False, upserts=True),
    ResourceKind(
        "RuntimeClass",
        "runtimeclasses",
        "node.k8s.io",
        namespaced=_CLUSTER,
        content=("handler", "overhead", "scheduling"),
        blind=False,
        upserts=True,
    ),
    *_stored_only(),
    ResourceKind(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        namespaced=_CLUSTER,
        short=("crd", "crds"),
        status=APART,
        generation=SPEC,
        blind=False,
    ),
    ResourceKind("Role", "roles", _RIGHTS, content=("rules",), upserts=True),
    ResourceKind("RoleBinding", "rolebindings", _RIGHTS, content=("roleRef", "subjects"), upserts=True),
    ResourceKind(
        "ClusterRole",
        "clusterroles",
        _RIGHTS,
        namespaced=_CLUSTER,
        content=("rules", "aggregationRule"),
        upserts=True,
    ),
    ResourceKind(
        "ClusterRoleBinding",
        "clusterrolebindings",
        _RIGHTS,
        namespaced=_CLUSTER,
        content=("roleRef", "subjects"),
        upserts=True,
    ),
    *_reviews("authorization.k8s.io", "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"),
    ResourceKind("LocalSubjectAccessReview", "localsubjectaccessreviews", "authorization.k8s.io", asked=True),
    *_reviews("authentication.k8s.io", "SelfSubjectReview TokenReview"),
)

BY_RESOURCE: Mapping[str, ResourceKind] = {kind.resource: kind for kind in KINDS}
BY_NAME: Mapping[str, ResourceKind] = {kind.kind: kind for kind in KINDS}


def peek(body: Json, name: str) -> Json:
    """The object in a field, for reading; empty if the field has none."""
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def section(body: Json, name: str) -> Json:
    """The object in a field, for writing; created if the field has none."""
    found = body.get(name)
    if isinstance(found, dict):
        return found
    made: Json = {}
    body[name] = made
    return made
