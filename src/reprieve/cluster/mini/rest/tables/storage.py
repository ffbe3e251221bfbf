"""Columns of volumes, claims, storage classes and CSI objects."""

from reprieve.cluster.apiserver.admission_plugins import DEFAULT_CLASS
from reprieve.cluster.mini.rest.tables.cells import (
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
from reprieve.model.json import Json

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
_CLASS = text("StorageClass", "spec.storageClassName", "")
VOLUME = (
    NAME,
    text("Capacity", "spec.capacity.storage"),
    _ACCESS,
    text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "Retain"),
    _STATUS,
    TableColumn("Claim", _claim),
    _CLASS,
    AGE,
)
CLAIM = (
    NAME,
    _STATUS,
    text("Volume", "spec.volumeName", ""),
    text("Capacity", "status.capacity.storage", ""),
    _ACCESS,
    _CLASS,
    AGE,
)


def _class_name(body: Json, now: float) -> str:
    annotations = at(body, "metadata.annotations")
    marked = isinstance(annotations, dict) and annotations.get(DEFAULT_CLASS) == "true"
    return f"{text_at(body, 'metadata.name')}{' (default)' if marked else ''}"


STORAGE_CLASS = (
    TableColumn("Name", _class_name, format="name"),
    text("Provisioner", "provisioner"),
    text("ReclaimPolicy", "reclaimPolicy", "Delete"),
    text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
    text("AllowVolumeExpansion", "allowVolumeExpansion", "false"),
    AGE,
)
CSI_NODE = (NAME, size("Drivers", "spec.drivers"), AGE)
CAPACITY = (NAME, text("StorageClassName", "storageClassName"), text("Capacity", "capacity"), AGE)


def _tokens(body: Json, now: float) -> str:
    return ",".join(text_at(t, "audience", "") for t in items_at(body, "spec.tokenRequests")) or "<unset>"


def _modes(body: Json, now: float) -> str:
    modes = at(body, "spec.volumeLifecycleModes")
    return ",".join(map(str, modes)) if isinstance(modes, list) and modes else "Persistent"


CSI_DRIVER = (
    NAME,
    text("AttachRequired", "spec.attachRequired", "true"),
    text("PodInfoOnMount", "spec.podInfoOnMount", "false"),
    text("StorageCapacity", "spec.storageCapacity", "false"),
    TableColumn("TokenRequests", _tokens),
    text("RequiresRepublish", "spec.requiresRepublish", "false"),
    TableColumn("Modes", _modes),
    AGE,
)
ATTACHMENT = (
    NAME,
    text("Attacher", "spec.attacher"),
    text("PV", "spec.source.persistentVolumeName", ""),
    text("Node", "spec.nodeName"),
    text("Attached", "status.attached", "false"),
    AGE,
)
ATTRIBUTES_CLASS = (NAME, text("DriverName", "driverName"), AGE)
