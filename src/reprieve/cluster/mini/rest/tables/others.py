"""How everything else is shown."""

from collections.abc import Callable

from reprieve.cluster.mini.rest.tables.cells import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Column,
    age,
    at,
    items_at,
    since,
    size,
    text,
    text_at,
)
from reprieve.model.json import Json

NAMESPACE = (NAME, text("Status", "status.phase", UNKNOWN), AGE)
CONFIG_MAP = (NAME, size("Data", "data", "binaryData"), AGE)
SECRET = (NAME, text("Type", "type", "Opaque"), size("Data", "data"), AGE)
SERVICE_ACCOUNT = (NAME, size("Secrets", "secrets"), AGE)
LEASE = (NAME, text("Holder", "spec.holderIdentity"), AGE)


def _ports(body: Json, now: float) -> str:
    ports = items_at(body, "spec.ports")
    return ",".join(f"{text_at(p, 'port')}/{text_at(p, 'protocol', 'TCP')}" for p in ports) or NONE


SERVICE = (
    NAME,
    text("Type", "spec.type", "ClusterIP"),
    text("Cluster-IP", "spec.clusterIP"),
    Column("Port(s)", _ports),
    AGE,
)


# --- quotas ---------------------------------------------------------------------------------------


def _quota(limits: bool) -> Callable[[Json, float], str]:
    def read(body: Json, now: float) -> str:
        hard, used = at(body, "status.hard"), at(body, "status.used")
        if not isinstance(hard, dict) or not isinstance(used, dict):
            return ""
        names = sorted(name for name in hard if name.startswith("limits.") == limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return read


QUOTA = (NAME, Column("Request", _quota(False)), Column("Limit", _quota(True)), AGE)


# --- rights ----------------------------------------------------------------------------------------


def _role(body: Json, now: float) -> str:
    return f"{text_at(body, 'roleRef.kind', '')}/{text_at(body, 'roleRef.name', '')}"


def _bound(*kinds: str) -> Callable[[Json, float], str]:
    def names(body: Json, now: float) -> str:
        subjects = [s for s in items_at(body, "subjects") if text_at(s, "kind") in kinds]
        full = ((text_at(s, "namespace", ""), text_at(s, "name")) for s in subjects)
        return ", ".join("/".join(filter(None, name)) for name in full)

    return names


DEFINITION = (NAME, text("Kind", "spec.names.kind"), text("Scope", "spec.scope"), AGE)
ROLE = (NAME, size("Rules", "rules"), AGE)
BINDING = (
    NAME,
    Column("Role", _role),
    AGE,
    Column("Users", _bound("User"), wide=True),
    Column("Groups", _bound("Group"), wide=True),
    Column("ServiceAccounts", _bound("ServiceAccount"), wide=True),
)


# --- volumes ---------------------------------------------------------------------------------------

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
    """What is deleted, and still needed, says so."""
    if at(body, "metadata.deletionTimestamp") is not None:
        return "Terminating"
    return text_at(body, "status.phase", UNKNOWN)


_ACCESS = Column("Access Modes", _access)
_STATUS = Column("Status", _phase)
_CLASS = text("StorageClass", "spec.storageClassName", "")
VOLUME = (
    NAME,
    text("Capacity", "spec.capacity.storage"),
    _ACCESS,
    text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "Retain"),
    _STATUS,
    Column("Claim", _claim),
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
STORAGE_CLASS = (
    NAME,
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
    Column("TokenRequests", _tokens),
    text("RequiresRepublish", "spec.requiresRepublish", "false"),
    Column("Modes", _modes),
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
LIMIT_RANGE = (NAME, text("Created At", "metadata.creationTimestamp"))


# --- events ----------------------------------------------------------------------------------------


def _last_seen(body: Json, now: float) -> str:
    paths = ("series.lastObservedTime", "lastTimestamp", "eventTime", "metadata.creationTimestamp")
    return next((age(at(body, p), now) for p in paths if at(body, p)), UNKNOWN)


def _object(body: Json, now: float) -> str:
    kind, name = text_at(body, "involvedObject.kind"), text_at(body, "involvedObject.name")
    return f"{kind.lower()}/{name}"


EVENT = (
    Column("Last Seen", _last_seen),
    text("Type", "type"),
    text("Reason", "reason"),
    Column("Object", _object),
    text("Message", "message", ""),
    text("Source", "reportingComponent", wide=True),
    since("First Seen", "metadata.creationTimestamp", wide=True),
    Column("Name", NAME.read, wide=True, format="name"),
)
