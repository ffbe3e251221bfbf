"""The Kubernetes objects, as far as placement and preemption read them.

These records mirror the API, field by field: quantities and selectors are still text here. Fields that are
not read are not declared, so decoding skips them.
"""

from reprieve.model.objects.meta import (
    Condition,
    Count,
    Ignored,
    Int32,
    Int64,
    LabelSelector,
    LabelSelectorRequirement,
    Named,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    Problem,
    Quantity,
    Record,
    Ref,
    ResourceRequirements,
    Time,
)
from reprieve.model.objects.node import ContainerImage, Node, NodeSpec, NodeStatus, PodPreemptionPolicy, Taint
from reprieve.model.objects.owners import (
    Namespace,
    OwnerSpec,
    ReplicaSet,
    ReplicationController,
    Service,
    ServiceSpec,
    StatefulSet,
)
from reprieve.model.objects.pod import (
    Affinity,
    ClaimedResources,
    Container,
    ContainerPort,
    ContainerRestartRule,
    ContainerStatus,
    MappedResource,
    NodeAffinity,
    OverheadResource,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    SchedulingGroup,
    Toleration,
    TopologySpreadConstraint,
    VolumeMount,
    WeightedPodAffinityTerm,
)
from reprieve.model.objects.pod_volumes import (
    AwsElasticBlockStore,
    AzureDisk,
    Cinder,
    ClaimSource,
    CloudDisk,
    CsiSource,
    GcePersistentDisk,
    ImageSource,
    Iscsi,
    PortworxVolume,
    Rbd,
    Volume,
)
from reprieve.model.objects.policy import (
    DisruptionBudgetSpec,
    DisruptionBudgetStatus,
    PodDisruptionBudget,
)
from reprieve.model.objects.scheduling import (
    CompositePodGroup,
    CompositePodGroupTemplate,
    GangPolicy,
    GroupStatus,
    PodGroup,
    PodGroupSpec,
    PodGroupTemplate,
    PriorityClass,
    Workload,
    WorkloadRef,
)
from reprieve.model.objects.storage import (
    AttachedSource,
    CSIDriver,
    CsiDriverSpec,
    CSINode,
    CsiNodeDriver,
    CsiNodeSpec,
    CSIStorageCapacity,
    CsiVolume,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    PhaseStatus,
    StorageClass,
    TopologyLabelRequirement,
    TopologySelectorTerm,
    VolumeAttachment,
    VolumeAttachmentSpec,
    VolumeNodeAffinity,
    VolumeNodeResources,
)

__all__ = [
    "POD_GROUP_LABEL",
    "Affinity",
    "AttachedSource",
    "AwsElasticBlockStore",
    "AzureDisk",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "Cinder",
    "ClaimSource",
    "ClaimedResources",
    "CloudDisk",
    "CompositePodGroup",
    "CompositePodGroupTemplate",
    "Condition",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "ContainerRestartRule",
    "ContainerStatus",
    "Count",
    "CsiDriverSpec",
    "CsiNodeDriver",
    "CsiNodeSpec",
    "CsiSource",
    "CsiVolume",
    "DisruptionBudgetSpec",
    "DisruptionBudgetStatus",
    "GangPolicy",
    "GcePersistentDisk",
    "GroupStatus",
    "Ignored",
    "ImageSource",
    "Int32",
    "Int64",
    "Iscsi",
    "KubernetesObject",
    "LabelSelector",
    "LabelSelectorRequirement",
    "MappedResource",
    "Named",
    "Namespace",
    "Node",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "ObjectMeta",
    "ObjectReference",
    "OverheadResource",
    "OwnerReference",
    "OwnerSpec",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeSpec",
    "PhaseStatus",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodDisruptionBudget",
    "PodGroup",
    "PodGroupSpec",
    "PodGroupTemplate",
    "PodPreemptionPolicy",
    "PodSpec",
    "PodStatus",
    "PortworxVolume",
    "PreferredSchedulingTerm",
    "PriorityClass",
    "Problem",
    "Quantity",
    "Rbd",
    "Record",
    "Ref",
    "ReplicaSet",
    "ReplicationController",
    "ResourceRequirements",
    "SchedulingGroup",
    "Service",
    "ServiceSpec",
    "StatefulSet",
    "StorageClass",
    "Taint",
    "Time",
    "Toleration",
    "TopologyLabelRequirement",
    "TopologySelectorTerm",
    "TopologySpreadConstraint",
    "Volume",
    "VolumeAttachment",
    "VolumeAttachmentSpec",
    "VolumeMount",
    "VolumeNodeAffinity",
    "VolumeNodeResources",
    "WeightedPodAffinityTerm",
    "Workload",
    "WorkloadRef",
    "group_of",
    "ref_of",
    "runs",
]

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
