"""A pod's volumes read plainly: node by node, claim by claim, from the objects themselves."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from reprieve.model.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    KubernetesObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    Volume,
    VolumeAttachment,
)
from reprieve.placement.constraints.volumes import Bindings
from reprieve.placement.rejection_codes import Code, Reason
from tests.reference.plain.cluster import Cluster, Refusals
from tests.reference.plain.disks import ZONE_KEYS, can_reach, driver_and_handle, plugin_driver
from tests.reference.plain.quantities import exact
from tests.reference.plain.selectors import selects

Kind = TypeVar("Kind", bound=KubernetesObject)
Found = tuple[str, str]  # driver and handle
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def every(cluster: Cluster, kind: type[Kind]) -> Iterator[Kind]:
    return (thing for thing in cluster.objects if isinstance(thing, kind))


def named(cluster: Cluster, kind: type[Kind], name: str) -> Kind | None:
    return next((thing for thing in every(cluster, kind) if thing.metadata.name == name), None)


def claim_names(pod: Pod) -> dict[str, bool]:
    """The claims a pod mounts, and whether each is made for it alone."""
    names: dict[str, bool] = {}
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.setdefault(volume.persistent_volume_claim.claim_name, False)
        elif volume.ephemeral is not None:
            names[f"{pod.metadata.name}-{volume.name}"] = True
    return names


def claim_of(cluster: Cluster, pod: Pod, name: str) -> PersistentVolumeClaim | None:
    for claim in every(cluster, PersistentVolumeClaim):
        if (claim.metadata.namespace, claim.metadata.name) == (pod.metadata.namespace, name):
            return claim
    return None


def claims_of(cluster: Cluster, pod: Pod) -> list[PersistentVolumeClaim]:
    found = (claim_of(cluster, pod, name) for name in claim_names(pod))
    return [claim for claim in found if claim is not None]


def class_name(thing: PersistentVolumeClaim | PersistentVolume) -> str:
    return thing.metadata.annotations.get(BETA_CLASS, thing.spec.storage_class_name or "")


def is_bound(claim: PersistentVolumeClaim) -> bool:
    return claim.spec.volume_name != "" and "pv.kubernetes.io/bind-completed" in claim.metadata.annotations


def waits(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    storage_class = named(cluster, StorageClass, class_name(claim))
    late = storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"
    return late and claim.spec.volume_name == ""


# --- claims as such ------------------------------------------------------------------------------


def claims(cluster: Cluster, node: Node) -> Refusals:
    pod = cluster.newcomer
    return {
        (reason, False)
        for name, ephemeral in claim_names(pod).items()
        for reason in claim_trouble(cluster, pod, name, ephemeral)
    }


def claim_trouble(cluster: Cluster, pod: Pod, name: str, ephemeral: bool) -> list[Reason]:
    claim = claim_of(cluster, pod, name)
    if claim is None:
        return [Reason(Code.CLAIM_NOT_FOUND, name)]
    if claim.status.phase == "Lost":
        return [Reason(Code.CLAIM_LOST, name)]
    if claim.metadata.deletion_timestamp is not None:
        return [Reason(Code.CLAIM_DELETED, name)]
    owners = [owner.uid for owner in claim.metadata.owner_references if owner.controller]
    if ephemeral and owners != [pod.metadata.uid]:
        return [Reason(Code.CLAIM_OF_ANOTHER, name)]
    if is_bound(claim):
        missing = named(cluster, PersistentVolume, claim.spec.volume_name) is None
        return [Reason(Code.VOLUME_NOT_FOUND, claim.spec.volume_name)] if missing else []
    unbound = Reason(Code.CLAIM_UNBOUND, f"{name} is not bound ({why_unbound(cluster, claim)})")
    return [] if waits(cluster, claim) else [unbound]


def why_unbound(cluster: Cluster, claim: PersistentVolumeClaim) -> str:
    storage_class = class_name(claim)
    if claim.spec.volume_name != "":
        return f"waiting for PersistentVolume {claim.spec.volume_name}"
    if storage_class == "":
        return "Immediate binding, no StorageClass"
    if named(cluster, StorageClass, storage_class) is None:
        return f"StorageClass {storage_class} does not exist"
    return f"Immediate binding, StorageClass {storage_class}"


# --- pods in the way -----------------------------------------------------------------------------


def exclusive(cluster: Cluster, node: Node) -> Refusals:
    pod = cluster.newcomer
    refusals: Refusals = set()
    others = [volume for other in cluster.pods_on(node) for volume in other.spec.volumes]
    if any(clash(mine, other) for mine in pod.spec.volumes for other in others):
        refusals.add((Reason(Code.DISK_CONFLICT), True))
    for name, ephemeral in claim_names(pod).items():
        claim = claim_of(cluster, pod, name)
        alone = claim is not None and "ReadWriteOncePod" in claim.spec.access_modes
        if alone and not ephemeral and is_in_use(cluster, pod.metadata.namespace, name):
            refusals.add((Reason(Code.CLAIM_IN_USE, name), True))
    return refusals


def is_in_use(cluster: Cluster, namespace: str, name: str) -> bool:
    running = (pod for node in cluster.nodes for pod in cluster.pods_on(node))
    return any(pod.metadata.namespace == namespace and name in claim_names(pod) for pod in running)


def clash(mine: Volume, other: Volume) -> bool:
    if mine.gce_persistent_disk and other.gce_persistent_disk:
        a, b = mine.gce_persistent_disk, other.gce_persistent_disk
        return a.pd_name == b.pd_name and not (a.read_only and b.read_only)
    if mine.aws_elastic_block_store and other.aws_elastic_block_store:
        return mine.aws_elastic_block_store.volume_id == other.aws_elastic_block_store.volume_id
    if mine.iscsi and other.iscsi:
        return mine.iscsi.iqn == other.iscsi.iqn and not (mine.iscsi.read_only and other.iscsi.read_only)
    if mine.rbd and other.rbd:
        same = (mine.rbd.pool, mine.rbd.image) == (other.rbd.pool, other.rbd.image)
        meet = set(mine.rbd.monitors) & set(other.rbd.monitors)
        return same and bool(meet) and not (mine.rbd.read_only and other.rbd.read_only)
    return False


# --- limits --------------------------------------------------------------------------------------


def limits(cluster: Cluster, node: Node) -> Refusals:
    csi = named(cluster, CSINode, node.metadata.name)
    counts = {d.name: d.allocatable.count for d in csi.spec.drivers} if csi is not None else {}
    wanted = attachable(cluster, cluster.newcomer, csi)
    used = {volume for pod in cluster.pods_on(node) for volume in attachable(cluster, pod, csi)}
    attached = used | set(left_attached(cluster, node))
    refusals: Refusals = set()
    for driver in {driver for driver, _ in wanted}:
        spec = named(cluster, CSIDriver, driver)
        if spec is not None and spec.spec.prevent_pod_scheduling_if_missing and driver not in counts:
            refusals.add((Reason(Code.DRIVER_MISSING, driver), False))
        new = {volume for volume in wanted - used if volume[0] == driver}
        present = {volume for volume in attached if volume[0] == driver}
        limit = counts.get(driver)
        if new and limit is not None and len(present) + len(new) > limit:
            refusals.add((Reason(Code.VOLUME_LIMIT, driver), True))
    return refusals


def attachable(cluster: Cluster, pod: Pod, csi: CSINode | None) -> set[Found]:
    found = [driver_and_handle(volume, {}) for volume in pod.spec.volumes] if csi is not None else []
    found += [attached_for(cluster, claim, csi) for claim in claims_of(cluster, pod)]
    return {volume for volume in found if volume is not None}


def attached_for(cluster: Cluster, claim: PersistentVolumeClaim, csi: CSINode | None) -> Found | None:
    volume = named(cluster, PersistentVolume, claim.spec.volume_name)
    if volume is None:
        return made_for(cluster, claim, csi)
    if volume.spec.csi is not None:
        return volume.spec.csi.driver, volume.spec.csi.volume_handle
    return driver_and_handle(volume.spec, volume.metadata.labels) if csi is not None else None


def made_for(cluster: Cluster, claim: PersistentVolumeClaim, csi: CSINode | None) -> Found | None:
    """A volume yet to be made counts as one of its own."""
    storage_class = named(cluster, StorageClass, class_name(claim))
    handle = f"to be made for {claim.metadata.namespace}/{claim.metadata.name}"
    if storage_class is None:
        return None
    moved_to = plugin_driver(storage_class.provisioner)
    if moved_to is None:
        return storage_class.provisioner, handle
    return (moved_to, handle) if csi is not None and moved_to else None


def left_attached(cluster: Cluster, node: Node) -> Iterator[Found]:
    for attachment in every(cluster, VolumeAttachment):
        volume = named(cluster, PersistentVolume, attachment.spec.source.persistent_volume_name)
        here = attachment.spec.node_name == node.metadata.name
        if here and volume is not None and volume.spec.csi is not None:
            yield attachment.spec.attacher, volume.spec.csi.volume_handle


# --- zones ---------------------------------------------------------------------------------------


def zones(cluster: Cluster, node: Node) -> Refusals:
    refusals: Refusals = set()
    if not any(key in node.metadata.labels for key in ZONE_KEYS):
        return refusals
    for name, ephemeral in claim_names(cluster.newcomer).items():
        claim = claim_of(cluster, cluster.newcomer, name)
        if claim is None or ephemeral:
            continue
        volume = named(cluster, PersistentVolume, claim.spec.volume_name)
        if volume is not None and is_elsewhere(volume, node):
            refusals.add((Reason(Code.VOLUME_ZONE, volume.metadata.name), False))
    return refusals


def is_elsewhere(volume: PersistentVolume, node: Node) -> bool:
    labels = node.metadata.labels
    for key, successor in ZONE_KEYS.items():
        names = [part.strip() for part in volume.metadata.labels.get(key, "").split("__")]
        if "" not in names and labels.get(key, labels.get(successor)) not in names:
            return True
    return False


# --- binding -------------------------------------------------------------------------------------


def binding(cluster: Cluster, node: Node) -> Refusals:
    refusals = claims(cluster, node)
    if refusals:
        return refusals
    csi = named(cluster, CSINode, node.metadata.name)
    for claim in claims_of(cluster, cluster.newcomer):
        volume = named(cluster, PersistentVolume, claim.spec.volume_name)
        if volume is not None and not can_reach(volume, node, csi):
            refusals.add((Reason(Code.VOLUME_NODE_AFFINITY, volume.metadata.name), False))
    for claim, source in sources(cluster, node):
        if isinstance(source, Code):
            refusals.add((Reason(source, claim.metadata.name), False))
    return refusals


def bindings(cluster: Cluster, node: Node) -> Bindings:
    found = [((c.metadata.namespace, c.metadata.name), source) for c, source in sources(cluster, node)]
    bound = tuple((key, pv.metadata.name) for key, pv in found if isinstance(pv, PersistentVolume))
    return Bindings(bound, tuple(key for key, source in found if source is None))


Source = PersistentVolume | Code | None  # a volume that exists, why there is none, or None: it is made


def sources(cluster: Cluster, node: Node) -> list[tuple[PersistentVolumeClaim, Source]]:
    """Where each claim that waited gets its volume from; the smallest claim chooses first."""
    waiting = [claim for claim in claims_of(cluster, cluster.newcomer) if not is_bound(claim)]
    taken: list[str] = []
    found: list[tuple[PersistentVolumeClaim, Source]] = []
    for claim in sorted(waiting, key=requested):
        free = [v for v in every(cluster, PersistentVolume) if v.metadata.name not in taken]
        volume = existing(claim, free, node)
        if volume is not None:
            taken.append(volume.metadata.name)
        found.append((claim, volume if volume is not None else made(cluster, claim, node)))
    return found


def requested(claim: PersistentVolumeClaim) -> float:
    return float(exact(str((claim.spec.resources.requests or {}).get("storage", "0"))))


def capacity(volume: PersistentVolume) -> float:
    return float(exact(str(volume.spec.capacity.get("storage", "0"))))


def existing(
    claim: PersistentVolumeClaim, volumes: Sequence[PersistentVolume], node: Node
) -> PersistentVolume | None:
    if "volume.kubernetes.io/selected-node" in claim.metadata.annotations:
        return None
    fitting = sorted(
        (volume for volume in volumes if fits(claim, volume)),
        key=lambda volume: (capacity(volume), volume.metadata.name),
    )
    for volume in fitting:
        if is_for(volume, claim):
            return volume if can_reach(volume, node, None) else None
    for volume in fitting:
        if volume.spec.claim_ref is None and suits(claim, volume) and can_reach(volume, node, None):
            return volume
    return None


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    ref, meta = volume.spec.claim_ref, claim.metadata
    if ref is None or (ref.namespace, ref.name) != (meta.namespace, meta.name):
        return False
    return ref.uid in ("", meta.uid)


def fits(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    return (
        class_name(volume) == class_name(claim)
        and volume.metadata.deletion_timestamp is None
        and capacity(volume) >= requested(claim)
        and volume.spec.volume_mode == claim.spec.volume_mode
        and (volume.spec.volume_attributes_class_name or "")
        == (claim.spec.volume_attributes_class_name or "")
    )


def suits(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    selector = claim.spec.selector
    return (
        volume.status.phase == "Available"
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
        and (selector is None or selects(selector, volume.metadata.labels))
    )


def made(cluster: Cluster, claim: PersistentVolumeClaim, node: Node) -> Code | None:
    """Why no volume can be made there; None if one can."""
    storage_class = named(cluster, StorageClass, class_name(claim))
    assert storage_class is not None
    selected = claim.metadata.annotations.get("volume.kubernetes.io/selected-node", node.metadata.name)
    if storage_class.provisioner == "kubernetes.io/no-provisioner" or selected != node.metadata.name:
        return Code.NO_VOLUME_TO_BIND
    allowed = storage_class.allowed_topologies
    if allowed and not any(
        all(node.metadata.labels.get(e.key) in e.values for e in term.match_label_expressions)
        for term in allowed
        if term.match_label_expressions
    ):
        return Code.NO_VOLUME_TO_BIND
    return None if has_room(cluster, claim, storage_class, node) else Code.STORAGE_CAPACITY


def has_room(cluster: Cluster, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node) -> bool:
    driver = named(cluster, CSIDriver, storage_class.provisioner)
    sized = "storage" in (claim.spec.resources.requests or {})
    if driver is None or not driver.spec.storage_capacity or not sized:
        return True
    for room in every(cluster, CSIStorageCapacity):
        largest = room.capacity if room.maximum_volume_size is None else room.maximum_volume_size
        mine = room.storage_class_name == storage_class.metadata.name
        near = selects(room.node_topology, node.metadata.labels)
        if mine and near and largest is not None and exact(str(largest)) >= requested(claim):
            return True
    return False
