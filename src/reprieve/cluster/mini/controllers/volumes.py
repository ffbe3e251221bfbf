"""Volumes and claims: who gets which volume, which are made, and what becomes of those that are free again.

Where the class waits for the first consumer, a scheduler begins and this completes, or makes what it asked
for: such a volume is reachable from where the driver's topology keys, as the selected node reports them, say.
Other claims get the smallest volume that fits, or a new one, at once.
"""

from collections.abc import Iterator, Mapping

import msgspec

from reprieve.cluster.mini.calls import BOUND_BY_CONTROLLER, SELECTED_NODE
from reprieve.cluster.mini.controllers.adoption import matches
from reprieve.cluster.mini.controllers.mirror import CLAIMS, VOLUMES, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import (
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from reprieve.cluster.mini.controllers.writes import Amend, Create, Remove, Report, Write
from reprieve.cluster.mini.errors import conflict
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import peek, section
from reprieve.model.json import Json
from reprieve.model.objects import Quantity
from reprieve.model.resources import milli

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
            else:
                yield from _waiting(mirror)
        case StorageClass():
            yield from _waiting(mirror)
        case Node():
            for claim in mirror.claims:
                if not claim.spec.volume_name and SELECTED_NODE in claim.metadata.annotations:
                    yield key_in(CLAIMS, claim)


def _waiting(mirror: Mirror) -> Iterator[Key]:
    return (key_in(CLAIMS, claim) for claim in mirror.claims if not claim.spec.volume_name)


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
            yield from _kept(key, volume, _phase(mirror, volume))
        return
    claim = mirror.claims.get(name)
    if claim is not None and claim.metadata.deletion_timestamp is None:
        yield from _serve(mirror, claim)


def _kept(key: Key, volume: PersistentVolume, phase: str) -> Iterator[Write]:
    """A volume that was made for a claim goes with it, if it is to; others stay, to be looked after."""
    uid = volume.metadata.uid
    ours = PROVISIONED_BY in volume.metadata.annotations
    yield Report(key, uid, {"phase": phase})
    if phase == "Released" and ours and volume.spec.persistent_volume_reclaim_policy == "Delete":
        yield Remove(key, uid)


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
        yield from _provision_for_node(mirror, claim)
    elif not _is_delayed(mirror, claim):
        found = _smallest(mirror, claim)
        yield from [_reserve(found, claim)] if found is not None else _provision(mirror, claim)


def _class_of(mirror: Mirror, claim: PersistentVolumeClaim) -> StorageClass | None:
    return mirror.storage_classes.get(Name("", claim.spec.storage_class_name or ""))


def _is_delayed(mirror: Mirror, claim: PersistentVolumeClaim) -> bool:
    storage_class = _class_of(mirror, claim)
    return storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"


def _smallest(mirror: Mirror, claim: PersistentVolumeClaim) -> PersistentVolume | None:
    """Of the volumes that nobody has and that fit."""
    fitting = (volume for volume in mirror.volumes if _fits(volume, claim))
    return min(fitting, key=lambda volume: (_size(volume.spec.capacity), volume.metadata.name), default=None)


def _fits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    has, asks = volume.spec, claim.spec
    return (
        has.claim_ref is None
        and volume.status.phase == "Available"
        and volume.metadata.deletion_timestamp is None
        and has.storage_class_name == (asks.storage_class_name or "")
        and has.volume_mode == asks.volume_mode
        and (has.volume_attributes_class_name or "") == (asks.volume_attributes_class_name or "")
        and set(asks.access_modes) <= set(has.access_modes)
        and _size(has.capacity) >= _size(asks.resources.requests or {})
        and (asks.selector is None or matches(msgspec.to_builtins(asks.selector), volume.metadata.labels))
    )


def _size(amounts: Mapping[str, Quantity]) -> int:
    return milli(amounts.get("storage", 0)) or 0


def _complete(mirror: Mirror, claim: PersistentVolumeClaim) -> Iterator[Write]:
    """Both sides must name each other before the claim counts as bound."""
    volume = mirror.volumes.get(Name("", claim.spec.volume_name))
    if volume is None:
        if BIND_COMPLETED in claim.metadata.annotations:
            yield Report(key_in(CLAIMS, claim), claim.metadata.uid, {"phase": "Lost"})
        return
    if _is_reserved(volume, claim) and volume.spec.claim_ref is not None and volume.spec.claim_ref.uid:
        if _may_grow(mirror, volume, claim):
            yield _grown(volume, claim)
            return
        capacity = msgspec.to_builtins(volume.spec.capacity)
        modes = list(volume.spec.access_modes)
        fields = {"phase": "Bound", "capacity": capacity, "accessModes": modes}
        yield Report(key_in(CLAIMS, claim), claim.metadata.uid, fields)
    elif volume.spec.claim_ref is None or _is_reserved(volume, claim):
        yield _reserve(volume, claim)


def _may_grow(mirror: Mirror, volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    storage_class = _class_of(mirror, claim)
    wanted = _size(claim.spec.resources.requests or {})
    allowed = storage_class is not None and storage_class.allow_volume_expansion
    return allowed and wanted > _size(volume.spec.capacity)


def _grown(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Write:
    def change(body: Json) -> None:
        section(section(body, "spec"), "capacity")["storage"] = (claim.spec.resources.requests or {})[
            "storage"
        ]

    return Amend(key_in(VOLUMES, volume), volume.metadata.uid, change)


def _bind(claim: PersistentVolumeClaim, volume: PersistentVolume) -> Write:
    def change(body: Json) -> None:
        section(body, "spec")["volumeName"] = volume.metadata.name
        annotations = section(body["metadata"], "annotations")
        annotations[BIND_COMPLETED] = "yes"
        annotations[BOUND_BY_CONTROLLER] = "yes"

    return Amend(key_in(CLAIMS, claim), claim.metadata.uid, change)


def _reserve(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Write:
    def change(body: Json) -> None:
        """Somebody may have been faster."""
        there = peek(peek(body, "spec"), "claimRef").get("uid")
        if there not in (None, "", claim.metadata.uid):
            raise conflict(volume.metadata.name, "it has been given to another claim")
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
    """Anywhere, as far as its class allows."""
    storage_class = _class_of(mirror, claim)
    if storage_class is not None and _can_provision(storage_class):
        yield Create(VOLUMES, _volume(claim, storage_class, _allowed(storage_class)))


def _can_provision(storage_class: StorageClass) -> bool:
    return storage_class.provisioner not in ("", NO_PROVISIONER)


def _allowed(storage_class: StorageClass) -> list[Json]:
    return [
        {
            "matchExpressions": [
                {"key": wanted.key, "operator": "In", "values": list(wanted.values)}
                for wanted in term.match_label_expressions
            ]
        }
        for term in storage_class.allowed_topologies
    ]


def _provision_for_node(mirror: Mirror, claim: PersistentVolumeClaim) -> Iterator[Write]:
    storage_class = _class_of(mirror, claim)
    if storage_class is None or not _can_provision(storage_class):
        return
    node = mirror.nodes.get(Name("", claim.metadata.annotations[SELECTED_NODE]))
    if node is None:
        yield Amend(key_in(CLAIMS, claim), claim.metadata.uid, _deselect)
    else:
        reachable = _reachable_from(mirror, storage_class.provisioner, node)
        terms: list[Json] = [{"matchExpressions": reachable}] if reachable else []
        yield Create(VOLUMES, _volume(claim, storage_class, terms))


def _deselect(body: Json) -> None:
    """The node is gone: the scheduler must choose another."""
    section(body["metadata"], "annotations").pop(SELECTED_NODE, None)


def _volume(claim: PersistentVolumeClaim, storage_class: StorageClass, terms: list[Json]) -> Json:
    name = f"pvc-{claim.metadata.uid}"
    driver = storage_class.provisioner
    requests = claim.spec.resources.requests or {}
    spec: Json = {
        "capacity": {"storage": requests.get("storage", "0")},
        "accessModes": list(claim.spec.access_modes),
        "volumeMode": claim.spec.volume_mode,
        "storageClassName": claim.spec.storage_class_name,
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy,
        "claimRef": _claim_ref(claim),
        "csi": {"driver": driver, "volumeHandle": name},
    }
    if storage_class.mount_options:
        spec["mountOptions"] = list(storage_class.mount_options)
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"metadata": {"name": name, "annotations": {PROVISIONED_BY: driver}}, "spec": spec}


def _reachable_from(mirror: Mirror, driver: str, node: Node) -> list[Json]:
    csi = mirror.csi_nodes.get(Name("", node.metadata.name))
    drivers = csi.spec.drivers if csi is not None else ()
    keys = next((d.topology_keys for d in drivers if d.name == driver), ())
    labels = node.metadata.labels
    return [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys if key in labels]
