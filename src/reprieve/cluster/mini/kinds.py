"""Which kinds of object the mini cluster keeps, and how they differ. Adding one is a line of the table."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

Json = dict[str, Any]


class Status(Enum):
    """How the status of a kind is written."""

    NONE = "there is none"
    APART = "a write of the object leaves it alone, a write of the status touches nothing else"
    REGISTERED = "as APART, but whoever creates the object brings its first status along"


@dataclass(frozen=True, slots=True)
class Kind:
    """``versions`` are the spellings that clients may use; the first one is the preferred one.

    ``drains``: an object of the kind that is in use goes only when a kubelet says so.
    """

    kind: str
    plural: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    namespaced: bool = True
    status: Status = Status.NONE
    first_phase: str = ""
    drains: bool = False

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.versions[0]}" if self.group else self.versions[0]


APART, REGISTERED = Status.APART, Status.REGISTERED
_SCHEDULING = "scheduling.k8s.io"
_GROUPS = ("v1beta1", "v1alpha3", "v1alpha2")

KINDS = (
    Kind("Namespace", "namespaces", namespaced=False, status=APART, first_phase="Active"),
    Kind("Node", "nodes", namespaced=False, status=REGISTERED),
    Kind("PriorityClass", "priorityclasses", _SCHEDULING, namespaced=False),
    Kind("StorageClass", "storageclasses", "storage.k8s.io", namespaced=False),
    Kind("CSIDriver", "csidrivers", "storage.k8s.io", namespaced=False),
    Kind("CSINode", "csinodes", "storage.k8s.io", namespaced=False),
    Kind("CSIStorageCapacity", "csistoragecapacities", "storage.k8s.io"),
    Kind("PersistentVolume", "persistentvolumes", namespaced=False, status=APART, first_phase="Pending"),
    Kind("PersistentVolumeClaim", "persistentvolumeclaims", status=APART, first_phase="Pending"),
    Kind("Service", "services", status=APART),
    Kind("ServiceAccount", "serviceaccounts"),
    Kind("ConfigMap", "configmaps"),
    Kind("Secret", "secrets"),
    Kind("ReplicationController", "replicationcontrollers", status=APART),
    Kind("Deployment", "deployments", "apps", status=APART),
    Kind("ReplicaSet", "replicasets", "apps", status=APART),
    Kind("StatefulSet", "statefulsets", "apps", status=APART),
    Kind("Job", "jobs", "batch", status=APART),
    Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy", status=APART),
    Kind("Workload", "workloads", _SCHEDULING, _GROUPS),
    Kind("CompositePodGroup", "compositepodgroups", _SCHEDULING, ("v1alpha3",), status=APART),
    Kind("PodGroup", "podgroups", _SCHEDULING, _GROUPS, status=APART),
    Kind("Pod", "pods", status=APART, first_phase="Pending", drains=True),
    Kind("Event", "events"),
    Kind("Lease", "leases", "coordination.k8s.io"),
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
