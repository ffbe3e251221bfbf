"""The persistent volume controller: binds claims, provisions volumes, and reclaims released ones.

With WaitForFirstConsumer the scheduler reserves a volume and the controller completes the binding, or the
scheduler selects a node and the controller provisions a volume there. The topology keys that the CSINode of
the node reports decide from where that volume is reachable. Other claims get the smallest volume that fits,
or a new one, at once.
"""

from collections.abc import Iterator, Mapping

import msgspec

from reprieve.model.json import Json
from reprieve.model.objects import Quantity
from reprieve.model.resources import milli
from reprieve.model.volumes import storage_class_of
from reprieve_minicluster.controllers.api_writes import Create, Delete, Update, UpdateStatus, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import (
    ClaimFacts,
    CSINodeFacts,
    NodeFacts,
    StorageClassFacts,
    Thing,
    VolumeFacts,
)
from reprieve_minicluster.controllers.owners import matches
from reprieve_minicluster.errors import conflict
from reprieve_minicluster.kinds import peek, section
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.scheduler_calls import BOUND_BY_CONTROLLER, SELECTED_NODE

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case ClaimFacts():
            yield key_of(thing)
            if thing.spec.volume_name:
                yield Key(VolumeFacts.resource, "", thing.spec.volume_name)
            for volume in _reserved_for(cache, thing):
                yield key_of(volume)
        case VolumeFacts():
            yield key_of(thing)
            if thing.spec.claim_ref is not None:
                yield Key(ClaimFacts.resource, thing.spec.claim_ref.namespace, thing.spec.claim_ref.name)
            else:
                yield from _waiting(cache)
        case StorageClassFacts():
            yield from _waiting(cache)
        case NodeFacts():
            for claim in cache.of(ClaimFacts):
                if not claim.spec.volume_name and SELECTED_NODE in claim.metadata.annotations:
                    yield key_of(claim)


def _waiting(cache: ControllerCache) -> Iterator[Key]:
    return (key_of(claim) for claim in cache.of(ClaimFacts) if not claim.spec.volume_name)


def _is_reserved(volume: VolumeFacts, claim: ClaimFacts) -> bool:
    ref, meta = volume.spec.claim_ref, claim.metadata
    if ref is None or (ref.namespace, ref.name) != (meta.namespace, meta.name):
        return False
    return ref.uid in ("", meta.uid)


def _reserved_for(cache: ControllerCache, claim: ClaimFacts) -> list[VolumeFacts]:
    found = [volume for volume in cache.of(VolumeFacts) if _is_reserved(volume, claim)]
    return sorted(found, key=lambda volume: volume.metadata.name)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    if key.resource == VolumeFacts.resource:
        volume = cache.find(VolumeFacts, key)
        if volume is not None:
            yield from _maintained(key, volume, _phase(cache, volume))
        return
    claim = cache.find(ClaimFacts, key)
    if claim is not None and claim.metadata.deletion_timestamp is None:
        yield from _serve(cache, claim)


def _maintained(key: Key, volume: VolumeFacts, phase: str) -> Iterator[Write]:
    """Set the phase. A provisioned volume is deleted after release if its reclaim policy is Delete."""
    uid = volume.metadata.uid
    ours = PROVISIONED_BY in volume.metadata.annotations
    yield UpdateStatus(key, uid, {"phase": phase})
    if phase == "Released" and ours and volume.spec.persistent_volume_reclaim_policy == "Delete":
        yield Delete(key, uid)


def _phase(cache: ControllerCache, volume: VolumeFacts) -> str:
    ref = volume.spec.claim_ref
    if ref is None:
        return "Available"
    claim = cache.of(ClaimFacts).get(ref.namespace, ref.name)
    if claim is None or not _is_reserved(volume, claim):
        return "Released" if ref.uid else "Available"
    return "Bound" if claim.spec.volume_name == volume.metadata.name else "Available"


def _serve(cache: ControllerCache, claim: ClaimFacts) -> Iterator[Write]:
    if claim.spec.volume_name:
        yield from _complete(cache, claim)
        return
    reserved = _reserved_for(cache, claim)
    if reserved:
        yield _bind(claim, reserved[0])
    elif SELECTED_NODE in claim.metadata.annotations:
        yield from _provision_for_node(cache, claim)
    elif not _is_delayed(cache, claim):
        found = _smallest(cache, claim)
        yield from [_reserve(found, claim)] if found is not None else _provision(cache, claim)


def _class_of(cache: ControllerCache, claim: ClaimFacts) -> StorageClassFacts | None:
    return cache.of(StorageClassFacts).get("", _class_name(claim))


def _class_name(thing: ClaimFacts | VolumeFacts) -> str:
    return storage_class_of(thing.metadata, thing.spec.storage_class_name)


def _is_delayed(cache: ControllerCache, claim: ClaimFacts) -> bool:
    storage_class = _class_of(cache, claim)
    return storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"


def _smallest(cache: ControllerCache, claim: ClaimFacts) -> VolumeFacts | None:
    """The smallest available volume that fits a claim."""
    fitting = (volume for volume in cache.of(VolumeFacts) if _fits(volume, claim))
    return min(fitting, key=lambda volume: (_size(volume.spec.capacity), volume.metadata.name), default=None)


def _fits(volume: VolumeFacts, claim: ClaimFacts) -> bool:
    has, asks = volume.spec, claim.spec
    return (
        has.claim_ref is None
        and volume.status.phase == "Available"
        and volume.metadata.deletion_timestamp is None
        and _class_name(volume) == _class_name(claim)
        and has.volume_mode == asks.volume_mode
        and (has.volume_attributes_class_name or "") == (asks.volume_attributes_class_name or "")
        and set(asks.access_modes) <= set(has.access_modes)
        and _size(has.capacity) >= _size(asks.resources.requests or {})
        and (asks.selector is None or matches(msgspec.to_builtins(asks.selector), volume.metadata.labels))
    )


def _size(amounts: Mapping[str, Quantity]) -> int:
    return milli(amounts.get("storage", 0)) or 0


def _complete(cache: ControllerCache, claim: ClaimFacts) -> Iterator[Write]:
    """Claim and volume must name each other before the claim is Bound."""
    volume = cache.of(VolumeFacts).get("", claim.spec.volume_name)
    if volume is None:
        if BIND_COMPLETED in claim.metadata.annotations:
            yield UpdateStatus(key_of(claim), claim.metadata.uid, {"phase": "Lost"})
        return
    if _is_reserved(volume, claim) and volume.spec.claim_ref is not None and volume.spec.claim_ref.uid:
        if _may_grow(cache, volume, claim):
            yield _grown(volume, claim)
            return
        if BIND_COMPLETED not in claim.metadata.annotations:  # a user has named the volume
            yield Update.of(claim, _mark_complete)
        capacity = msgspec.to_builtins(volume.spec.capacity)
        modes = list(volume.spec.access_modes)
        fields = {"phase": "Bound", "capacity": capacity, "accessModes": modes}
        yield UpdateStatus(key_of(claim), claim.metadata.uid, fields)
    elif volume.spec.claim_ref is None or _is_reserved(volume, claim):
        yield _reserve(volume, claim)


def _mark_complete(body: Json) -> None:
    """Schedulers wait for this mark, whatever the phase is."""
    section(body["metadata"], "annotations")[BIND_COMPLETED] = "yes"


def _may_grow(cache: ControllerCache, volume: VolumeFacts, claim: ClaimFacts) -> bool:
    storage_class = _class_of(cache, claim)
    wanted = _size(claim.spec.resources.requests or {})
    allowed = storage_class is not None and storage_class.allow_volume_expansion
    return allowed and wanted > _size(volume.spec.capacity)


def _grown(volume: VolumeFacts, claim: ClaimFacts) -> Write:
    def change(body: Json) -> None:
        section(section(body, "spec"), "capacity")["storage"] = (claim.spec.resources.requests or {})[
            "storage"
        ]

    return Update.of(volume, change)


def _bind(claim: ClaimFacts, volume: VolumeFacts) -> Write:
    def change(body: Json) -> None:
        section(body, "spec")["volumeName"] = volume.metadata.name
        _mark_complete(body)
        section(body["metadata"], "annotations")[BOUND_BY_CONTROLLER] = "yes"

    return Update.of(claim, change)


def _reserve(volume: VolumeFacts, claim: ClaimFacts) -> Write:
    def change(body: Json) -> None:
        """Checked at the write: the cache may be behind another reservation."""
        there = peek(peek(body, "spec"), "claimRef").get("uid")
        if there not in (None, "", claim.metadata.uid):
            raise conflict(volume.metadata.name, "it is already reserved for another claim")
        section(body, "spec")["claimRef"] = _claim_ref(claim)

    return Update.of(volume, change)


def _claim_ref(claim: ClaimFacts) -> Json:
    meta = claim.metadata
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }


# --- provisioning --------------------------------------------------------------------------------


def _provision(cache: ControllerCache, claim: ClaimFacts) -> Iterator[Write]:
    """Provision a volume in the topologies that its class allows."""
    storage_class = _class_of(cache, claim)
    if storage_class is not None and _can_provision(storage_class):
        yield Create(VolumeFacts.resource, _volume(claim, storage_class, _allowed(storage_class)))


def _can_provision(storage_class: StorageClassFacts) -> bool:
    return storage_class.provisioner not in ("", NO_PROVISIONER)


def _allowed(storage_class: StorageClassFacts) -> list[Json]:
    return [
        {
            "matchExpressions": [
                {"key": wanted.key, "operator": "In", "values": list(wanted.values)}
                for wanted in term.match_label_expressions
            ]
        }
        for term in storage_class.allowed_topologies
    ]


def _provision_for_node(cache: ControllerCache, claim: ClaimFacts) -> Iterator[Write]:
    storage_class = _class_of(cache, claim)
    if storage_class is None or not _can_provision(storage_class):
        return
    node = cache.of(NodeFacts).get("", claim.metadata.annotations[SELECTED_NODE])
    if node is None:
        yield Update.of(claim, _deselect)
    else:
        reachable = _reachable_from(cache, storage_class.provisioner, node)
        terms: list[Json] = [{"matchExpressions": reachable}] if reachable else []
        yield Create(VolumeFacts.resource, _volume(claim, storage_class, terms))


def _deselect(body: Json) -> None:
    """The node is gone: the scheduler must choose another."""
    section(body["metadata"], "annotations").pop(SELECTED_NODE, None)


def _volume(claim: ClaimFacts, storage_class: StorageClassFacts, terms: list[Json]) -> Json:
    name = f"pvc-{claim.metadata.uid}"
    driver = storage_class.provisioner
    requests = claim.spec.resources.requests or {}
    spec: Json = {
        "capacity": {"storage": requests.get("storage", "0")},
        "accessModes": list(claim.spec.access_modes),
        "volumeMode": claim.spec.volume_mode,
        "storageClassName": _class_name(claim),
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy,
        "claimRef": _claim_ref(claim),
        "csi": {"driver": driver, "volumeHandle": name},
    }
    if storage_class.mount_options:
        spec["mountOptions"] = list(storage_class.mount_options)
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"metadata": {"name": name, "annotations": {PROVISIONED_BY: driver}}, "spec": spec}


def _reachable_from(cache: ControllerCache, driver: str, node: NodeFacts) -> list[Json]:
    csi = cache.of(CSINodeFacts).get("", node.metadata.name)
    drivers = csi.spec.drivers if csi is not None else ()
    keys = next((d.topology_keys for d in drivers if d.name == driver), ())
    labels = node.metadata.labels
    return [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys if key in labels]
