"""Volumes, claims, storage classes and CSI objects."""

from functools import partial

from reprieve.cluster.admission.admission_plugins import DEFAULT_CLASS
from reprieve.cluster.api.values import storage_class_in
from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    TableColumn,
    at,
    items_at,
    size,
    text,
    text_at,
)
from reprieve_minicluster.kinds.kind import APART, ResourceKind, RoleAccess

_GROUP = "storage.k8s.io"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _access(body: Json, now: float) -> str:
    modes = at(body, "spec.accessModes")
    return ",".join(_MODES.get(str(m), str(m)) for m in modes) if isinstance(modes, list) else NONE


def _claim(body: Json, now: float) -> str:
    reference = at(body, "spec.claimRef")
    if not isinstance(reference, dict):
        return ""
    return f"{text_at(reference, 'namespace', '')}/{text_at(reference, 'name', '')}"


def _phase(body: Json, now: float) -> str:
    """Terminating for a deleted volume or claim that is still in use, or else the phase."""
    if at(body, "metadata.deletionTimestamp") is not None:
        return "Terminating"
    return text_at(body, "status.phase", UNKNOWN)


_ACCESS = TableColumn("Access Modes", _access)
_STATUS = TableColumn("Status", _phase)
_CLASS = TableColumn("StorageClass", lambda body, now: storage_class_in(body))


def _class_name(body: Json, now: float) -> str:
    annotations = at(body, "metadata.annotations")
    marked = isinstance(annotations, dict) and annotations.get(DEFAULT_CLASS) == "true"
    return f"{text_at(body, 'metadata.name')}{' (default)' if marked else ''}"


def _tokens(body: Json, now: float) -> str:
    return ",".join(text_at(t, "audience", "") for t in items_at(body, "spec.tokenRequests")) or "<unset>"


def _modes(body: Json, now: float) -> str:
    modes = at(body, "spec.volumeLifecycleModes")
    return ",".join(map(str, modes)) if isinstance(modes, list) and modes else "Persistent"


_stored = partial(ResourceKind, namespaced=False)
KINDS = (
    _stored(
        "StorageClass",
        "storageclasses",
        _GROUP,
        description="How volumes are provisioned for the claims that name it, and when they are bound.",
        short=("sc",),
        columns=(
            TableColumn("Name", _class_name, format="name"),
            text("Provisioner", "provisioner"),
            text("ReclaimPolicy", "reclaimPolicy", "Delete"),
            text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
            text("AllowVolumeExpansion", "allowVolumeExpansion", "false"),
            AGE,
        ),
    ),
    _stored(
        "CSIDriver",
        "csidrivers",
        _GROUP,
        description="How volumes of a CSI driver are attached and mounted.",
        blind=False,
        columns=(
            NAME,
            text("AttachRequired", "spec.attachRequired", "true"),
            text("PodInfoOnMount", "spec.podInfoOnMount", "false"),
            text("StorageCapacity", "spec.storageCapacity", "false"),
            TableColumn("TokenRequests", _tokens),
            text("RequiresRepublish", "spec.requiresRepublish", "false"),
            TableColumn("Modes", _modes),
            AGE,
        ),
    ),
    _stored(
        "CSINode",
        "csinodes",
        _GROUP,
        description="The CSI drivers of a node, and how many volumes each can attach there.",
        blind=False,
        merge_keys={"spec.drivers": "name"},
        columns=(NAME, size("Drivers", "spec.drivers"), AGE),
    ),
    ResourceKind(
        "CSIStorageCapacity",
        "csistoragecapacities",
        _GROUP,
        description="How much storage a CSI driver can still provision in a topology segment.",
        blind=False,
        columns=(NAME, text("StorageClassName", "storageClassName"), text("Capacity", "capacity"), AGE),
    ),
    _stored(
        "VolumeAttachment",
        "volumeattachments",
        _GROUP,
        description="The intent to attach a volume to a node, and its result.",
        status=APART,
        columns=(
            NAME,
            text("Attacher", "spec.attacher"),
            text("PV", "spec.source.persistentVolumeName", ""),
            text("Node", "spec.nodeName"),
            text("Attached", "status.attached", "false"),
            AGE,
        ),
    ),
    ResourceKind(
        "PersistentVolume",
        "persistentvolumes",
        description="A piece of storage in the cluster.",
        namespaced=False,
        short=("pv",),
        status=APART,
        first_phase="Pending",
        columns=(
            NAME,
            text("Capacity", "spec.capacity.storage"),
            _ACCESS,
            text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "Retain"),
            _STATUS,
            TableColumn("Claim", _claim),
            _CLASS,
            AGE,
        ),
    ),
    ResourceKind(
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        description="A user's request for a persistent volume.",
        short=("pvc",),
        status=APART,
        first_phase="Pending",
        access=RoleAccess.EDIT,
        columns=(
            NAME,
            _STATUS,
            text("Volume", "spec.volumeName", ""),
            text("Capacity", "status.capacity.storage", ""),
            _ACCESS,
            _CLASS,
            AGE,
        ),
    ),
    _stored(
        "VolumeAttributesClass",
        "volumeattributesclasses",
        _GROUP,
        description="Attributes of volumes that can be modified while they are in use.",
        short=("vac",),
        columns=(NAME, text("DriverName", "driverName"), AGE),
    ),
)
