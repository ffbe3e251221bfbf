"""PersistentVolumes, their claims, StorageClasses, and the CSI objects."""

import msgspec

from reprieve.model.objects.meta import (
    Int32,
    LabelSelector,
    NodeSelector,
    ObjectMeta,
    Quantity,
    Record,
    ResourceRequirements,
)
from reprieve.model.objects.pod_volumes import CloudDisk


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
