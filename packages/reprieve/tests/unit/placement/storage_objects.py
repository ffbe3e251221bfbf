"""Short ways to write storage objects down, and to ask what a rule makes of them."""

from typing import Any, TypeVar

import msgspec

from reprieve.model import objects as kubernetes
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.model.snapshot import build
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.rejection_codes import Code

Kind = TypeVar("Kind", bound=KubernetesObject)
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
CSI, LATE = "csi.example.com", "WaitForFirstConsumer"


def made(kind: type[Kind], name: str, metadata: Json | None = None, **fields: Any) -> Kind:
    return msgspec.convert({"metadata": {"name": name} | (metadata or {}), **fields}, kind)


def node(name: str, zone: str = "", **labels: str) -> kubernetes.Node:
    known = {HOST: name} | ({ZONE: zone} if zone else {}) | labels
    return made(kubernetes.Node, name, {"labels": known})


A, B = node("a", "za"), node("b", "zb")


def mount(*claims: str) -> list[Json]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def pod(*volumes: Json, name: str = "pod", on: str = "") -> Pod:
    meta = {"namespace": "default", "uid": f"uid-{name}"}
    named = [{"name": f"v{i}"} | volume for i, volume in enumerate(volumes)]
    return made(Pod, name, meta, spec={"nodeName": on, "volumes": named})


def storage_class(name: str = "late", provisioner: str = CSI, **fields: Any) -> kubernetes.StorageClass:
    return made(
        kubernetes.StorageClass, name, provisioner=provisioner, **({"volumeBindingMode": LATE} | fields)
    )


LOCAL = storage_class("local", "kubernetes.io/no-provisioner")


def claim(
    name: str,
    of: str = "late",
    size: str = "1Gi",
    metadata: Json | None = None,
    phase: str = "Pending",
    **spec: Any,
) -> kubernetes.PersistentVolumeClaim:
    spec = {"storageClassName": of, "resources": {"requests": {"storage": size}}} | spec
    meta = {"namespace": "default", "uid": f"uid-{name}"} | (metadata or {})
    return made(kubernetes.PersistentVolumeClaim, name, meta, spec=spec, status={"phase": phase})


def bound(name: str, to: str, **spec: Any) -> kubernetes.PersistentVolumeClaim:
    notes = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return claim(name, metadata=notes, phase="Bound", volumeName=to, **spec)


def volume(
    name: str,
    of: str = "late",
    size: str = "1Gi",
    metadata: Json | None = None,
    phase: str = "Available",
    **spec: Any,
) -> kubernetes.PersistentVolume:
    spec = {"storageClassName": of, "capacity": {"storage": size}} | spec
    return made(kubernetes.PersistentVolume, name, metadata, spec=spec, status={"phase": phase})


def on_host(*names: str) -> Json:
    expression = {"key": HOST, "operator": "In", "values": list(names)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def csi_node(name: str, migrated: str = "", **limits: int | None) -> kubernetes.CSINode:
    """``csi``, ``gce`` and ``ebs`` are drivers, with the number of volumes they can attach."""
    names = {"csi": CSI, "gce": "pd.csi.storage.gke.io", "ebs": "ebs.csi.aws.com"}
    drivers = [{"name": names[d], "allocatable": {"count": limit}} for d, limit in limits.items()]
    notes = {"annotations": {"storage.alpha.kubernetes.io/migrated-plugins": migrated}} if migrated else {}
    return made(kubernetes.CSINode, name, notes, spec={"drivers": drivers})


def ask(asking: Pod, *objects: KubernetesObject) -> Ask:
    """On the two nodes a and b, unless nodes are among the objects."""
    nodes = [] if any(isinstance(thing, kubernetes.Node) for thing in objects) else [A, B]
    view = build([*nodes, *objects, asking]).snapshot
    return Ask(view, view.pods.rows[asking.metadata.namespace, asking.metadata.name])


def refused(constraint: Constraint, asked: Ask) -> dict[str, list[tuple[Code, str, bool]]]:
    """For each node that is refused: code, detail and whether it is curable."""
    found = list(constraint(asked))
    by_node = {
        name: [(r.reason.code, r.reason.detail, r.curable) for r in found if r.rows[row]]
        for row, name in enumerate(asked.view.nodes.names)
    }
    return {name: reasons for name, reasons in by_node.items() if reasons}
