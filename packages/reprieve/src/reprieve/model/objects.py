"""The Kubernetes objects, as far as placement and preemption read them.

These records mirror the API, field by field: quantities and selectors are still text here. Fields that are
not read are not declared, so decoding skips them.
"""

from datetime import datetime
from typing import Annotated

import msgspec

Quantity = str | int | float
ObjectKey = tuple[str, str]  # namespace, name; the kind is known where it is used
# The API's own ranges; values beyond them would not fit the columns either.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Time = Annotated[datetime, msgspec.Meta(tz=True)]  # times without a zone cannot be compared


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """A decoded object: immutable, and untracked by the garbage collector, since it has no cycles."""


class Ref(Record, frozen=True):
    """A reference to an object. Cluster-scoped objects have an empty namespace."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        scope = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {scope}{self.name}".strip()


class Problem(Record, frozen=True):
    """What is wrong with one field of an object, as a sentence."""

    ref: Ref
    path: str
    expected: str

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.ref), self.path, self.expected) if part)


class OwnerReference(Record, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Record, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(Record, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0
    last_transition_time: Time | None = None


class LabelSelectorRequirement(Record, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Record, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorTerm(Record, frozen=True):
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_fields: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelector(Record, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class Named(Record, frozen=True):
    name: str = ""


class Ignored(Record, frozen=True):
    """A field whose presence matters, but not its content."""


class ResourceRequirements(Record, frozen=True):
    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None
    # Decoded only to reject pods that use it: a field that restricts placement must not be ignored.
    claims: tuple[Ignored, ...] = ()


# --- nodes ----------------------------------------------------------------------------------------


class Taint(Record, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class PodPreemptionPolicy(Record, frozen=True):
    disable_resize_preemption: tuple[str, ...] = ()


class NodeSpec(Record, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    pod_preemption_policy: PodPreemptionPolicy = PodPreemptionPolicy()


class ContainerImage(Record, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeStatus(Record, frozen=True):
    allocatable: dict[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# --- volumes of pods that restrict where they can run: claims, CSI volumes, in-tree disks ---------


class ClaimSource(Record, frozen=True):
    claim_name: str = ""


class GcePersistentDisk(Record, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AwsElasticBlockStore(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")
    read_only: bool = False


class AzureDisk(Record, frozen=True):
    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str = "Shared"


class Cinder(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class PortworxVolume(Record, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class CloudDisk(Record, frozen=True):
    """A disk in in-tree fields, not through a CSI driver; at most one of these is set."""

    gce_persistent_disk: GcePersistentDisk | None = None
    aws_elastic_block_store: AwsElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None


class Iscsi(Record, frozen=True):
    iqn: str = ""
    lun: Int32 = 0
    target_portal: str = ""
    read_only: bool = False


class Rbd(Record, frozen=True):
    monitors: tuple[str, ...] = ()
    pool: str = "rbd"
    image: str = ""
    read_only: bool = False


class CsiSource(Record, frozen=True):
    driver: str = ""


class ImageSource(Record, frozen=True):
    reference: str = ""


class Volume(CloudDisk, frozen=True):
    name: str = ""
    image: ImageSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Ignored | None = None
    iscsi: Iscsi | None = None
    rbd: Rbd | None = None
    csi: CsiSource | None = None


# --- pods -----------------------------------------------------------------------------------------


class ContainerPort(Record, frozen=True):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class ContainerRestartRule(Record, frozen=True):
    action: str = ""


class VolumeMount(Record, frozen=True):
    bind_mount_options: tuple[str, ...] = ()


class Container(Record, frozen=True):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class PreferredSchedulingTerm(Record, frozen=True):
    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Record, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Record, frozen=True):
    label_selector: LabelSelector | None = None
    topology_key: str = ""
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Record, frozen=True):
    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Record, frozen=True):
    """Also the type of podAntiAffinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Record, frozen=True):
    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class Toleration(Record, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Record, frozen=True):
    max_skew: Int32 = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class SchedulingGroup(Record, frozen=True):
    """Which PodGroup a pod belongs to."""

    pod_group_name: str = ""


class PodSpec(Record, frozen=True):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: dict[str, Quantity] = {}
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduling_gates: tuple[Named, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    termination_grace_period_seconds: Int64 | None = None
    # Decoded only to reject pods that use them.
    resource_claims: tuple[Ignored, ...] = ()
    workload_ref: Ignored | None = None


class ContainerStatus(Record, frozen=True):
    name: str = ""
    allocated_resources: dict[str, Quantity] | None = None
    resources: ResourceRequirements | None = None


class MappedResource(Record, frozen=True):
    name: str = ""
    quantity: Quantity = 0


class OverheadResource(Record, frozen=True):
    name: str = ""
    per_pod: Quantity = 0
    per_container: Quantity = 0


class ClaimedResources(Record, frozen=True):
    """The node's own resources that a pod was given through a ResourceClaim."""

    containers: tuple[str, ...] = ()
    mapping: tuple[MappedResource, ...] = ()
    overhead: tuple[OverheadResource, ...] = ()


class PodStatus(Record, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: Time | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: dict[str, Quantity] | None = None
    resources: ResourceRequirements | None = None
    node_allocatable_resource_claim_statuses: tuple[ClaimedResources, ...] = ()


class Pod(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# --- groups, workloads, priority classes ----------------------------------------------------------


class GangPolicy(Record, frozen=True):
    """How many members must be placed together: pods, or the child groups of a composite group."""

    min_count: Count


class WorkloadRef(Record, frozen=True):
    workload_name: str = ""
    template_name: str = ""


class PodGroupSpec(Record, frozen=True):
    """One form for all API versions; ``gang`` is None for the basic policy."""

    gang: GangPolicy | None = None
    disrupted_whole: bool = False
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    topology_key: str = ""
    workload_ref: WorkloadRef | None = None
    parent: str = ""


class GroupStatus(Record, frozen=True):
    conditions: tuple[Condition, ...] = ()


class PodGroup(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: GroupStatus = GroupStatus()


class CompositePodGroup(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: GroupStatus = GroupStatus()


class PodGroupTemplate(Record, frozen=True):
    name: str = ""
    spec: PodGroupSpec = PodGroupSpec()


class CompositePodGroupTemplate(Record, frozen=True):
    name: str = ""
    spec: PodGroupSpec = PodGroupSpec()
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple["CompositePodGroupTemplate", ...] = ()


class Workload(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] = ()


class PriorityClass(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


# --- disruption budgets ---------------------------------------------------------------------------


class DisruptionBudgetSpec(Record, frozen=True):
    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class DisruptionBudgetStatus(Record, frozen=True):
    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, Time] = {}


class PodDisruptionBudget(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()


# --- storage --------------------------------------------------------------------------------------


class VolumeNodeAffinity(Record, frozen=True):
    required: NodeSelector | None = None


class ObjectReference(Record, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiVolume(Record, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class PersistentVolumeSpec(CloudDisk, frozen=True):
    capacity: dict[str, Quantity] = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity = VolumeNodeAffinity()
    claim_ref: ObjectReference | None = None
    csi: CsiVolume | None = None


class PhaseStatus(Record, frozen=True):
    phase: str = ""


class PersistentVolume(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PhaseStatus = PhaseStatus()


class PersistentVolumeClaimSpec(Record, frozen=True):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str | None = None
    resources: ResourceRequirements = ResourceRequirements()
    selector: LabelSelector | None = None


class PersistentVolumeClaim(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PhaseStatus = PhaseStatus()


class TopologyLabelRequirement(Record, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Record, frozen=True):
    match_label_expressions: tuple[TopologyLabelRequirement, ...] = ()


class StorageClass(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Record, frozen=True):
    count: Int32 | None = None


class CsiNodeDriver(Record, frozen=True):
    name: str = ""
    node_id: str = msgspec.field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources = VolumeNodeResources()


class CsiNodeSpec(Record, frozen=True):
    drivers: tuple[CsiNodeDriver, ...] = ()


class CSINode(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(Record, frozen=True):
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False


class CSIDriver(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiDriverSpec = CsiDriverSpec()


class CSIStorageCapacity(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class AttachedSource(Record, frozen=True):
    persistent_volume_name: str = ""


class VolumeAttachmentSpec(Record, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachedSource = AttachedSource()


class VolumeAttachment(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


# --- namespaces, services, and the controllers that own pods --------------------------------------


class Namespace(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class ServiceSpec(Record, frozen=True):
    selector: dict[str, str] = {}


class Service(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class OwnerSpec(Record, frozen=True):
    selector: LabelSelector | None = None


class ReplicaSet(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: OwnerSpec = OwnerSpec()


class StatefulSet(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: OwnerSpec = OwnerSpec()


class ReplicationController(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


# --- all of them --------------------------------------------------------------------------------

KubernetesObject = (
    Pod
    | Node
    | PodGroup
    | CompositePodGroup
    | Workload
    | PriorityClass
    | PodDisruptionBudget
    | PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
    | Namespace
    | Service
    | ReplicaSet
    | StatefulSet
    | ReplicationController
)


POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def group_of(pod: Pod) -> str:
    """The name of the pod's PodGroup, or empty.

    The label is for API servers without the field: they drop fields that they do not know.
    """
    group = pod.spec.scheduling_group
    if group is not None and group.pod_group_name:
        return group.pod_group_name
    return pod.metadata.labels.get(POD_GROUP_LABEL, "")


def ref_of(thing: KubernetesObject) -> Ref:
    meta = thing.metadata
    return Ref(kind=type(thing).__name__, namespace=meta.namespace, name=meta.name)


def runs(pod: Pod) -> bool:
    """Whether a pod uses or will use resources; finished pods do not count."""
    return pod.status.phase not in ("Succeeded", "Failed")
