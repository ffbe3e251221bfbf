"""Small objects for the cases in this directory, written as their JSON, and their later versions."""

from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.objects import (
    KubernetesObject,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from reprieve.scheduler.demand_key import DemandKey, DemandKind

T = TypeVar("T", bound=KubernetesObject)

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
WAITS = "WaitForFirstConsumer"


def target(thing: KubernetesObject) -> Target:
    meta = thing.metadata
    return Target(type(thing).__name__, meta.namespace, meta.name, meta.uid)


def a_key(name: str, kind: DemandKind = DemandKind.POD) -> DemandKey:
    return DemandKey(kind, "default", name)


def later(thing: T, **metadata: Any) -> T:
    """The next version of an object."""
    version = str(int(thing.metadata.resource_version) + 1)
    changed = msgspec.structs.replace(thing.metadata, resource_version=version, **metadata)
    return msgspec.structs.replace(thing, metadata=changed)


# --- pods and nodes ------------------------------------------------------------------------------


def a_pod(
    name: str = "p", cpu: str = "100m", priority: int = 0, on: str = "", uid: str = "", **fields: Any
) -> Pod:
    """A pod of ours, unless the fields of its spec say otherwise."""
    labels, claims = fields.pop("labels", {}), fields.pop("claims", ())
    spec: Json = {
        "schedulerName": "reprieve",
        "priority": priority,
        "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        "volumes": [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims],
        **({"nodeName": on} if on else {}),
        **fields,
    }
    meta = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": "100"}
    return msgspec.convert({"metadata": {**meta, "labels": labels}, "spec": spec}, Pod)


def bound(pod: Pod, node: str) -> Pod:
    return msgspec.structs.replace(later(pod), spec=msgspec.structs.replace(pod.spec, node_name=node))


def finished(pod: Pod) -> Pod:
    return msgspec.structs.replace(later(pod), status=msgspec.structs.replace(pod.status, phase="Succeeded"))


def leaving(thing: T) -> T:
    return later(thing, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))


def respecified(pod: Pod, **spec: Any) -> Pod:
    return msgspec.structs.replace(later(pod), spec=msgspec.structs.replace(pod.spec, **spec))


def wanting(pod: Pod, cpu: str, reason: str = "Deferred") -> Pod:
    """A pod that runs, and is to have so much; its node has put that off."""
    (container,) = pod.spec.containers
    has = {"cpu": container.resources.requests["cpu"]} if container.resources.requests else {}
    status = {
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
        "containerStatuses": [
            {"name": "c", "allocatedResources": has, "resources": {"requests": has}},
        ],
    }
    wants = msgspec.convert({"name": "c", "resources": {"requests": {"cpu": cpu}}}, type(container))
    return msgspec.structs.replace(
        respecified(pod, containers=(wants,)), status=msgspec.convert(status, type(pod.status))
    )


def granted(pod: Pod) -> Pod:
    """Its node has given it what it wants."""
    return msgspec.structs.replace(later(pod), status=type(pod.status)())


def a_node(name: str = "n1", cpu: str = "4", uid: str = "", **fields: Any) -> Node:
    labels = fields.pop("labels", {})
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    meta = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": "100", "labels": labels}
    return msgspec.convert(
        {"metadata": meta, "spec": fields, "status": {"allocatable": allocatable}},
        Node,
    )


def a_namespace(name: str, **labels: str) -> Namespace:
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "100", "labels": labels}
    return msgspec.convert({"metadata": meta}, Namespace)


# --- volumes -------------------------------------------------------------------------------------


def a_class(name: str = "lazy", provisioner: str = "csi.example.com") -> StorageClass:
    """Its claims wait for a pod."""
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "100"}
    return msgspec.convert(
        {"metadata": meta, "provisioner": provisioner, "volumeBindingMode": WAITS}, StorageClass
    )


def a_local_class() -> StorageClass:
    """Its volumes exist already: none is provisioned."""
    return a_class("local", "kubernetes.io/no-provisioner")


def a_claim(name: str, class_name: str = "lazy", size: str = "1Gi") -> PersistentVolumeClaim:
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "100"}
    spec = {
        "storageClassName": class_name,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
    }
    return msgspec.convert(
        {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}}, PersistentVolumeClaim
    )


def a_volume(name: str, class_name: str = "local", only_on: str = "", size: str = "1Gi") -> PersistentVolume:
    spec: Json = {
        "storageClassName": class_name,
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
    }
    if only_on:
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [only_on]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "100"}
    return msgspec.convert(
        {"metadata": meta, "spec": spec, "status": {"phase": "Available"}}, PersistentVolume
    )


def with_node_selected(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    return later(claim, annotations={**claim.metadata.annotations, SELECTED_NODE: node})


def claim_bound(claim: PersistentVolumeClaim, volume: str) -> PersistentVolumeClaim:
    spec = msgspec.structs.replace(claim.spec, volume_name=volume)
    status = msgspec.structs.replace(claim.status, phase="Bound")
    marked = later(claim, annotations={**claim.metadata.annotations, BIND_COMPLETED: "yes"})
    return msgspec.structs.replace(marked, spec=spec, status=status)
