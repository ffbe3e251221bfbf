"""Volumes and claims: completes the binding that a scheduler began, or makes the volume it asked for.

Serves claims whose class waits for the first consumer. A provisioned volume is reachable from where the
driver's topology keys, as the selected node reports them, say.
"""

from collections.abc import Iterator

import msgspec

from reprieve.cluster.mini.calls import BOUND_BY_CONTROLLER, SELECTED_NODE
from reprieve.cluster.mini.controllers.mirror import CLAIMS, VOLUMES, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import (
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from reprieve.cluster.mini.controllers.writes import Amend, Create, Remove, Report, Write
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import Json, section

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case PersistentVolumeClaim():
            yield key_in(CLAIMS, thing)
            if thing.spec.volume_name:
                yield Key(VOLUMES, "", thing.spec.volume_name)
            for volume in _reserved_for(mirror, thing):
                yield key_in(VOLUMES, volume)
        case PersistentVolume():
            yield key_in(VOLUMES, thing)
            if thing.spec.claim_ref is not None:
                yield Key(CLAIMS, thing.spec.claim_ref.namespace, thing.spec.claim_ref.name)
        case StorageClass() | Node():
            yield from (key_in(CLAIMS, claim) for claim in mirror.claims if _is_waiting(claim))


def _is_waiting(claim: PersistentVolumeClaim) -> bool:
    return not claim.spec.volume_name and SELECTED_NODE in claim.metadata.annotations


def _is_reserved(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    ref, meta = volume.spec.claim_ref, claim.metadata
    if ref is None or (ref.namespace, ref.name) != (meta.namespace, meta.name):
        return False
    return ref.uid in ("", meta.uid)


def _reserved_for(mirror: Mirror, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
    found = [volume for volume in mirror.volumes if _is_reserved(volume, claim)]
    return sorted(found, key=lambda volume: volume.metadata.name)


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    name = Name(key.namespace, key.name)
    if key.resource == VOLUMES:
        volume = mirror.volumes.get(name)
        if volume is not None:
            yield _kept(key, volume, _phase(mirror, volume))
        return
    claim = mirror.claims.get(name)
    if claim is not None and claim.metadata.deletion_timestamp is None:
        yield from _serve(mirror, claim)


def _kept(key: Key, volume: PersistentVolume, phase: str) -> Write:
    """A volume that was made for a claim goes with it; any other one stays, for somebody to look after."""
    uid = volume.metadata.uid
    if phase == "Released" and PROVISIONED_BY in volume.metadata.annotations:
        return Remove(key, uid)
    return Report(key, uid, {"phase": phase})


def _phase(mirror: Mirror, volume: PersistentVolume) -> str:
    ref = volume.spec.claim_ref
    if ref is None:
        return "Available"
    claim = mirror.claims.get(Name(ref.namespace, ref.name))
    if claim is None or not _is_reserved(volume, claim):
        return "Released" if ref.uid else "Available"
    return "Bound" if claim.spec.volume_name == volume.metadata.name else "Available"


def _serve(mirror: Mirror, claim: PersistentVolumeClaim) -> Iterator[Write]:
    if claim.spec.volume_name:
        yield from _complete(mirror, claim)
        return
    reserved = _reserved_for(mirror, claim)
    if reserved:
        yield _bind(claim, reserved[0])
    elif SELECTED_NODE in claim.metadata.annotations:
        yield from _provision(mirror, claim)


def _complete(mirror: Mirror, claim: PersistentVolumeClaim) -> Iterator[Write]:
    """Both sides must name each other before the claim counts as bound."""
    volume = mirror.volumes.get(Name("", claim.spec.volume_name))
    if volume is None:
        return
    if _is_reserved(volume, claim) and volume.spec.claim_ref is not None and volume.spec.claim_ref.uid:
        capacity = msgspec.to_builtins(volume.spec.capacity)
        modes = list(volume.spec.access_modes)
        fields = {"phase": "Bound", "capacity": capacity, "accessModes": modes}
        yield Report(key_in(CLAIMS, claim), claim.metadata.uid, fields)
    elif volume.spec.claim_ref is None or _is_reserved(volume, claim):
        yield _reserve(volume, claim)


def _bind(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Write:
    def change(body: Json) -> None:
        section(body, "spec")["volumeName"] = volume.metadata.name
        annotations = section(body["metadata"], "annotations")
        annotations[BIND_COMPLETED] = "yes"
        annotations[BOUND_BY_CONTROLLER] = "yes"

    return Amend(key_in(CLAIMS, claim), claim.metadata.uid, change)


def _reserve(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Write:
    def change(body: Json) -> None:
        section(body, "spec")["claimRef"] = _claim_ref(claim)

    return Amend(key_in(VOLUMES, volume), volume.metadata.uid, change)


def _claim_ref(claim: PersistentVolumeClaim) -> Json:
    meta = claim.metadata
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }


# --- provisioning --------------------------------------------------------------------------------


def _provision(mirror: Mirror, claim: PersistentVolumeClaim) -> Iterator[Write]:
    storage_class = mirror.storage_classes.get(Name("", claim.spec.storage_class_name or ""))
    if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
        return
    node = mirror.nodes.get(Name("", claim.metadata.annotations[SELECTED_NODE]))
    if node is None:
        yield Amend(key_in(CLAIMS, claim), claim.metadata.uid, _deselect)
    else:
        yield Create(VOLUMES, _volume(mirror, claim, storage_class, node))


def _deselect(body: Json) -> None:
    """The node is gone: the scheduler must choose another."""
    section(body["metadata"], "annotations").pop(SELECTED_NODE, None)


def _volume(mirror: Mirror, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node) -> Json:
    name = f"pvc-{claim.metadata.uid}"
    driver = storage_class.provisioner
    requests = claim.spec.resources.requests or {}
    spec: Json = {
        "capacity": {"storage": requests.get("storage", "0")},
        "accessModes": list(claim.spec.access_modes),
        "volumeMode": claim.spec.volume_mode,
        "storageClassName": claim.spec.storage_class_name,
        "persistentVolumeReclaimPolicy": "Delete",
        "claimRef": _claim_ref(claim),
        "csi": {"driver": driver, "volumeHandle": name},
    }
    if terms := _reachable_from(mirror, driver, node):
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": terms}]}}
    return {"metadata": {"name": name, "annotations": {PROVISIONED_BY: driver}}, "spec": spec}


def _reachable_from(mirror: Mirror, driver: str, node: Node) -> list[Json]:
    csi = mirror.csi_nodes.get(Name("", node.metadata.name))
    drivers = csi.spec.drivers if csi is not None else ()
    keys = next((d.topology_keys for d in drivers if d.name == driver), ())
    labels = node.metadata.labels
    return [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys if key in labels]
