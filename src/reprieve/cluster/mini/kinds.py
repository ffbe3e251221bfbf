"""Which kinds of object the mini cluster keeps, and how they differ. Adding one is an entry of the table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from reprieve.model.json import Json


class Generation(Enum):
    """What makes the generation of an object rise."""

    NONE = "there is none"
    SPEC = "a change of its spec, and its deletion"
    NOTES = "a change of its annotations, too: they are passed on"
    CONTENT = "a change of anything but its metadata and a status that is apart"


class Status(Enum):
    """How the status of a kind is written."""

    NONE = "there is none"
    APART = "a write of the object leaves it alone, a write of the status leaves all but the metadata alone"
    REGISTERED = "as APART, but whoever creates the object brings its first status along"


@dataclass(frozen=True, slots=True, eq=False)
class Custom:
    """What is known only of a kind that somebody has defined; by version, schemas, columns, and where numbers
    of pods stand."""

    singular: str
    list_kind: str
    categories: tuple[str, ...]
    schemas: Mapping[str, Json]
    columns: Mapping[str, tuple[Json, ...]]
    scales: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Kind:
    """``versions`` are the spellings that clients may use; the first one is preferred, and stored.

    ``also``: where else, and as what API version, the same objects are served.
    ``short``: names for those who type. ``shown_in_all``: whether "all" means these, too.
    ``first_phase``, ``counts``: with which phase, and with which fields at zero, its status begins.
    ``drains``: an object of the kind that is in use goes only when a kubelet says so.
    ``content``: the fields beside apiVersion, kind, metadata and status.
    ``selectable``: fields by which clients may select, beside the name and the namespace.
    ``asked``: a question in the form of an object, which is answered and never stored.
    ``parts``: subresources beside the status. ``orphans``: what it owns survives it unless told otherwise.
    ``custom``: what somebody has defined of it, and nobody knows by heart.
    ``blind``: whether it may be replaced by somebody who does not say which version is to be replaced.
    """

    kind: str
    plural: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    also: tuple[str, ...] = ()
    namespaced: bool = True
    short: tuple[str, ...] = ()
    shown_in_all: bool = False
    status: Status = Status.NONE
    generation: Generation = Generation.NONE
    first_phase: str = ""
    counts: tuple[str, ...] = ()
    drains: bool = False
    content: tuple[str, ...] = ("spec",)
    selectable: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    asked: bool = False
    orphans: bool = False
    blind: bool = True
    custom: Custom | None = None

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
        """Every API version that a client may say."""
        own = (f"{self.group}/{version}" if self.group else version for version in self.versions)
        return (*own, *self.also)


APART, REGISTERED = Status.APART, Status.REGISTERED
SPEC, NOTES, CONTENT = Generation.SPEC, Generation.NOTES, Generation.CONTENT
_CLUSTER = False
_SCHEDULING, _STORAGE = "scheduling.k8s.io", "storage.k8s.io"
_DEVICES, _NETWORKS = "resource.k8s.io", "networking.k8s.io"
_RIGHTS = "rbac.authorization.k8s.io"
_GROUPS = ("v1beta1", "v1alpha3", "v1alpha2")


def _questions(group: str, kinds: str) -> Iterator[Kind]:
    for kind in kinds.split():
        yield Kind(kind, f"{kind.lower()}s", group, namespaced=_CLUSTER, asked=True)


def _kept() -> Iterator[Kind]:
    """What nobody here acts upon: it is there for those who come from outside, and for what they apply."""
    yield Kind("Endpoints", "endpoints", short=("ep",), content=("subsets",))
    yield Kind("PodTemplate", "podtemplates", content=("template",), generation=CONTENT)
    yield Kind(
        "EndpointSlice",
        "endpointslices",
        "discovery.k8s.io",
        content=("addressType", "endpoints", "ports"),
        generation=CONTENT,
    )
    yield Kind("Ingress", "ingresses", _NETWORKS, short=("ing",), status=APART, generation=SPEC)
    yield Kind("IngressClass", "ingressclasses", _NETWORKS, namespaced=_CLUSTER, generation=SPEC)
    yield Kind("NetworkPolicy", "networkpolicies", _NETWORKS, short=("netpol",), generation=SPEC)
    yield Kind(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "autoscaling",
        ("v2",),
        short=("hpa",),
        shown_in_all=True,
        status=APART,
        generation=SPEC,
    )
    yield Kind(
        "VolumeAttributesClass",
        "volumeattributesclasses",
        _STORAGE,
        namespaced=_CLUSTER,
        short=("vac",),
        content=("driverName", "parameters"),
    )
    yield Kind("DeviceClass", "deviceclasses", _DEVICES, namespaced=_CLUSTER, generation=SPEC)
    yield Kind(
        "DeviceTaintRule", "devicetaintrules", _DEVICES, namespaced=_CLUSTER, status=APART, generation=SPEC
    )
    yield Kind("ResourceClaim", "resourceclaims", _DEVICES, status=APART)
    yield Kind("ResourceClaimTemplate", "resourceclaimtemplates", _DEVICES)
    yield Kind(
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
    Kind(
        "Namespace",
        "namespaces",
        namespaced=_CLUSTER,
        short=("ns",),
        status=APART,
        first_phase="Active",
        selectable=("status.phase",),
        parts=("finalize",),
    ),
    Kind(
        "Node",
        "nodes",
        namespaced=_CLUSTER,
        short=("no",),
        status=REGISTERED,
        selectable=("spec.unschedulable",),
    ),
    Kind(
        "PriorityClass",
        "priorityclasses",
        _SCHEDULING,
        namespaced=_CLUSTER,
        short=("pc",),
        content=("value", "globalDefault", "description", "preemptionPolicy"),
        generation=SPEC,
    ),
    Kind(
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
    Kind("CSIDriver", "csidrivers", _STORAGE, namespaced=_CLUSTER, blind=False),
    Kind("CSINode", "csinodes", _STORAGE, namespaced=_CLUSTER, blind=False),
    Kind(
        "CSIStorageCapacity",
        "csistoragecapacities",
        _STORAGE,
        content=("storageClassName", "nodeTopology", "capacity", "maximumVolumeSize"),
        blind=False,
    ),
    Kind("VolumeAttachment", "volumeattachments", _STORAGE, namespaced=_CLUSTER, status=APART),
    Kind(
        "PersistentVolume",
        "persistentvolumes",
        namespaced=_CLUSTER,
        short=("pv",),
        status=APART,
        first_phase="Pending",
    ),
    Kind(
        "PersistentVolumeClaim", "persistentvolumeclaims", short=("pvc",), status=APART, first_phase="Pending"
    ),
    Kind(
        "Service",
        "services",
        short=("svc",),
        shown_in_all=True,
        status=APART,
        selectable=("spec.clusterIP", "spec.type"),
    ),
    Kind(
        "ServiceAccount",
        "serviceaccounts",
        short=("sa",),
        content=("secrets", "imagePullSecrets", "automountServiceAccountToken"),
        parts=("token",),
    ),
    Kind("ConfigMap", "configmaps", short=("cm",), content=("data", "binaryData", "immutable")),
    Kind("Secret", "secrets", content=("data", "stringData", "type", "immutable"), selectable=("type",)),
    Kind(
        "ReplicationController",
        "replicationcontrollers",
        short=("rc",),
        shown_in_all=True,
        status=APART,
        counts=("replicas",),
        selectable=("status.replicas",),
        parts=("scale",),
        generation=SPEC,
    ),
    Kind("ResourceQuota", "resourcequotas", short=("quota",), status=APART),
    Kind("LimitRange", "limitranges", short=("limits",)),
    Kind(
        "Deployment",
        "deployments",
        "apps",
        short=("deploy",),
        shown_in_all=True,
        status=APART,
        parts=("scale",),
        generation=NOTES,
    ),
    Kind(
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
    Kind(
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
    Kind(
        "DaemonSet",
        "daemonsets",
        "apps",
        short=("ds",),
        shown_in_all=True,
        status=APART,
        counts=("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
        generation=SPEC,
    ),
    Kind("ControllerRevision", "controllerrevisions", "apps", content=("data", "revision")),
    Kind(
        "Job",
        "jobs",
        "batch",
        shown_in_all=True,
        status=APART,
        selectable=("status.successful",),
        orphans=True,
        generation=SPEC,
    ),
    Kind("CronJob", "cronjobs", "batch", short=("cj",), shown_in_all=True, status=APART, generation=SPEC),
    Kind(
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "policy",
        short=("pdb",),
        status=APART,
        counts=("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
        generation=SPEC,
        blind=False,
    ),
    Kind("Workload", "workloads", _SCHEDULING, _GROUPS, blind=False),
    Kind("CompositePodGroup", "compositepodgroups", _SCHEDULING, ("v1alpha3",), status=APART, blind=False),
    Kind("PodGroup", "podgroups", _SCHEDULING, _GROUPS, status=APART, blind=False),
    Kind(
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
    Kind(
        "Event",
        "events",
        also=("events.k8s.io/v1",),
        short=("ev",),
        content=(
            *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count"),
            *("type", "eventTime", "series", "action", "related", "reportingComponent", "reportingInstance"),
        ),
        selectable=_EVENT_FIELDS,
    ),
    Kind("Lease", "leases", "coordination.k8s.io", blind=False),
    *_kept(),
    Kind(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        namespaced=_CLUSTER,
        short=("crd", "crds"),
        status=APART,
        generation=SPEC,
        blind=False,
    ),
    Kind("Role", "roles", _RIGHTS, content=("rules",)),
    Kind("RoleBinding", "rolebindings", _RIGHTS, content=("roleRef", "subjects")),
    Kind("ClusterRole", "clusterroles", _RIGHTS, namespaced=_CLUSTER, content=("rules", "aggregationRule")),
    Kind(
        "ClusterRoleBinding",
        "clusterrolebindings",
        _RIGHTS,
        namespaced=_CLUSTER,
        content=("roleRef", "subjects"),
    ),
    *_questions("authorization.k8s.io", "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"),
    Kind("LocalSubjectAccessReview", "localsubjectaccessreviews", "authorization.k8s.io", asked=True),
    *_questions("authentication.k8s.io", "SelfSubjectReview TokenReview"),
)

BY_RESOURCE: Mapping[str, Kind] = {kind.resource: kind for kind in KINDS}
BY_NAME: Mapping[str, Kind] = {kind.kind: kind for kind in KINDS}


def peek(body: Json, name: str) -> Json:
    """The part of an object under a name, to be read; empty if there is none that can be."""
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def section(body: Json, name: str) -> Json:
    """The part of an object under a name, to be written into; made if there is none that can be."""
    found = body.get(name)
    if isinstance(found, dict):
        return found
    made: Json = {}
    body[name] = made
    return made
