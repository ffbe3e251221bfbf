"""All storage objects at one instant, by name, and columns of them over the nodes.

The columns are computed on first use and cached. They are in the order of one table of nodes, so a new table
of nodes needs a new ``Storage``. Which volume a claim gets is not decided here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reprieve.model.columns import Column, Ints, Mask, Relation, sealed
from reprieve.model.csi_migration import Attachment
from reprieve.model.objects import (
    CSIDriver,
    CsiDriverSpec,
    CSINode,
    CSIStorageCapacity,
    KubernetesObject,
    ObjectKey,
    PersistentVolume,
    PersistentVolumeClaim,
    Problem,
    StorageClass,
    VolumeAttachment,
    ref_of,
)
from reprieve.model.resources import Problems
from reprieve.model.selectors import NodeQuery
from reprieve.model.shape import Shape
from reprieve.model.volumes import (
    NO_FACTS,
    ClaimRequirements,
    CompiledCapacity,
    CompiledClaim,
    CompiledClass,
    CompiledCsiNode,
    CompiledVolume,
    CsiFacts,
    Offer,
    compile_capacity,
    compile_claim,
    compile_class,
    compile_volume,
    csi_facts,
)

Matching = Callable[[NodeQuery], Mask]

NO_CAPACITY = -1


@dataclass(frozen=True, slots=True, eq=False)
class FreeVolumes:
    """The free volumes of one class, smallest first, then by name; a volume is identified by its position."""

    volumes: tuple[CompiledVolume, ...]
    sizes: tuple[int, ...]
    offers: Column[Offer]
    reach: Column[NodeQuery]
    # Pairs: node ``reached_rows[i]`` reaches the volumes with reach ``reached_codes[i]``.
    reached_codes: Ints
    reached_rows: Ints
    _by_requirements: dict[ClaimRequirements, Ints] = field(default_factory=dict)

    @classmethod
    def of(cls, volumes: Iterable[CompiledVolume], matching: Matching) -> "FreeVolumes":
        ordered = sorted(volumes, key=lambda volume: (volume.size or 0, volume.name))
        reach = Column.of(volume.nodes for volume in ordered)
        reached = [np.flatnonzero(matching(query)) for query in reach.things]
        codes = np.repeat(np.arange(len(reached)), np.array([len(r) for r in reached], np.int64))
        return cls(
            volumes=tuple(ordered),
            sizes=tuple(volume.size or 0 for volume in ordered),
            offers=Column.of(volume.offer for volume in ordered),
            reach=reach,
            reached_codes=sealed(codes),
            reached_rows=sealed(np.concatenate([np.zeros(0, np.int64), *reached])),
        )

    def satisfying(self, requirements: ClaimRequirements) -> Ints:
        """The positions of the volumes that satisfy the requirements, in order; size does not count."""
        places = self._by_requirements.get(requirements)
        if places is None:
            accepted = np.flatnonzero(self.offers.where(requirements.accepts))
            places = self._by_requirements[requirements] = sealed(accepted)
        return places


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """Volumes, claims and what provisions them."""

    claims: Mapping[ObjectKey, CompiledClaim] = field(default_factory=dict)
    volumes: Mapping[str, CompiledVolume] = field(default_factory=dict)
    free: Mapping[str, Sequence[CompiledVolume]] = field(default_factory=dict)  # by class
    held: Mapping[ObjectKey, Sequence[CompiledVolume]] = field(default_factory=dict)  # reserved for a claim
    classes: Mapping[str, CompiledClass] = field(default_factory=dict)
    drivers: Mapping[str, CsiDriverSpec] = field(default_factory=dict)
    csi_nodes: Mapping[str, CsiFacts] = field(default_factory=dict)
    capacities: Mapping[str, Sequence[CompiledCapacity]] = field(default_factory=dict)  # by class
    attachments: Sequence[tuple[str, Attachment]] = ()  # node name, volume
    _csi: list[Column[CsiFacts]] = field(default_factory=list)
    _free_volumes: dict[str, FreeVolumes] = field(default_factory=dict)
    _largest: dict[str, Ints] = field(default_factory=dict)

    def attachment(self, key: ObjectKey) -> Attachment | None:
        """What a node attaches for a claim; without a volume yet, what its class will provision."""
        claim = self.claims.get(key)
        if claim is None:
            return None
        volume = self.volumes.get(claim.volume_name)
        if volume is not None:
            return volume.attachment
        storage_class = self.classes.get(claim.class_name)
        if storage_class is None or not storage_class.driver:
            return None
        handle = f"claim {claim.key[0]}/{claim.key[1]}"
        return Attachment(storage_class.driver, handle, migrated=storage_class.driver_migrated)

    def attachments_of(self, shape: Shape) -> Iterator[Attachment]:
        """The volumes that a node attaches for a pod, each once."""
        of_claims = (self.attachment((shape.namespace, name)) for name in shape.claims)
        found = [*shape.inline_volumes, *(volume for volume in of_claims if volume is not None)]
        return iter(dict.fromkeys(found))

    def csi(self, nodes: Iterable[str]) -> Column[CsiFacts]:
        """The CSI facts of each node."""
        if not self._csi:
            self._csi.append(Column.of(self.csi_nodes.get(name, NO_FACTS) for name in nodes))
        return self._csi[0]

    def free_volumes(self, class_name: str, matching: Matching) -> FreeVolumes:
        found = self._free_volumes.get(class_name)
        if found is None:
            found = self._free_volumes[class_name] = FreeVolumes.of(self.free.get(class_name, ()), matching)
        return found

    def reserving(
        self, bound: Sequence[tuple[ObjectKey, str]], made: Iterable[ObjectKey], node: str
    ) -> "Storage":
        """With free volumes reserved for claims, and volumes being provisioned for other claims on a node."""
        claims, volumes = dict(self.claims), dict(self.volumes)
        for key in made:
            claims[key] = replace(claims[key], selected_node=node)
        for key, name in bound:
            volumes[name] = replace(volumes[name], claimed_by=key, claimed_by_uid=claims[key].uid)
        free, held = _free_and_held(volumes.values())
        fewer = {volumes[name].class_name for _, name in bound}
        others = {name: found for name, found in self._free_volumes.items() if name not in fewer}
        return replace(self, claims=claims, volumes=volumes, free=free, held=held, _free_volumes=others)

    def largest(self, class_name: str, matching: Matching) -> Ints | None:
        """[node] the largest volume of a class that can be provisioned for it, in bytes; None if for none."""
        capacities = self.capacities.get(class_name)
        if not capacities:
            return None
        largest = self._largest.get(class_name)
        if largest is None:
            largest = self._largest[class_name] = _largest(capacities, matching)
        return largest


def _largest(capacities: Sequence[CompiledCapacity], matching: Matching) -> Ints:
    masks = [matching(capacity.nodes) for capacity in capacities]
    largest = np.full(len(masks[0]), NO_CAPACITY, np.int64)
    for capacity, mask in zip(capacities, masks, strict=True):
        largest[mask] = np.maximum(largest[mask], capacity.largest)
    return sealed(largest)


# --- volumes in use ------------------------------------------------------------------------------

# For each driver, the handles of the volumes in use. A row is that of a pod that uses the volume. For a
# volume that is attached to node n, with or without a pod, it is ~n: that is negative, and so no pod's row.
InUse = Mapping[str, Relation[str]]


def volumes_in_use(storage: Storage, pods: Iterable[tuple[int, Shape]], nodes: Mapping[str, int]) -> InUse:
    pairs: dict[str, list[tuple[int, str]]] = {}
    for row, shape in pods:
        if shape.claims or shape.inline_volumes:
            for volume in storage.attachments_of(shape):
                pairs.setdefault(volume.driver, []).append((row, volume.handle))
    for name, volume in storage.attachments:
        if name in nodes:
            pairs.setdefault(volume.driver, []).append((~nodes[name], volume.handle))
    return {driver: Relation.of(found) for driver, found in pairs.items()}


# --- building it from objects --------------------------------------------------------------------


KINDS = (
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    VolumeAttachment,
)


Compiled = (
    CompiledClaim
    | CompiledVolume
    | CompiledClass
    | CompiledCsiNode
    | CompiledCapacity
    | CSIDriver
    | VolumeAttachment
)


def build_storage(objects: Iterable[KubernetesObject], problems: list[Problem]) -> Storage:
    """The storage objects among the objects; malformed ones are added to the problems."""
    compiled = []
    for thing in objects:
        found = Problems(ref_of(thing))
        compiled.append(compile_storage(thing, found))
        problems.extend(found.all())
    return assembled(thing for thing in compiled if thing is not None)


def compile_storage(thing: KubernetesObject, problems: Problems) -> Compiled | None:
    """None for other kinds, and for objects without effect. This is the expensive part: results are kept."""
    match thing:
        case PersistentVolumeClaim():
            return compile_claim(thing, problems)
        case PersistentVolume():
            return compile_volume(thing, problems)
        case StorageClass():
            return compile_class(thing, problems)
        case CSIStorageCapacity():
            return compile_capacity(thing, problems)
        case CSINode():
            return CompiledCsiNode(thing.metadata.name, csi_facts(thing))
        case CSIDriver() | VolumeAttachment():
            return thing
    return None


def assembled(things: Iterable[Compiled]) -> Storage:
    claims: dict[ObjectKey, CompiledClaim] = {}
    volumes: dict[str, CompiledVolume] = {}
    classes: dict[str, CompiledClass] = {}
    drivers: dict[str, CsiDriverSpec] = {}
    csi_nodes: dict[str, CsiFacts] = {}
    capacities: dict[str, list[CompiledCapacity]] = {}
    attached: list[VolumeAttachment] = []
    for thing in things:
        match thing:
            case CompiledClaim():
                claims[thing.key] = thing
            case CompiledVolume():
                volumes[thing.name] = thing
            case CompiledClass():
                classes[thing.name] = thing
            case CompiledCsiNode():
                csi_nodes[thing.name] = thing.facts
            case CompiledCapacity():
                capacities.setdefault(thing.class_name, []).append(thing)
            case CSIDriver():
                drivers[thing.metadata.name] = thing.spec
            case VolumeAttachment():
                attached.append(thing)
    free, held = _free_and_held(volumes.values())
    attachments = _attachments(attached, volumes)
    return Storage(claims, volumes, free, held, classes, drivers, csi_nodes, capacities, attachments)


def _free_and_held(
    volumes: Iterable[CompiledVolume],
) -> tuple[dict[str, list[CompiledVolume]], dict[ObjectKey, list[CompiledVolume]]]:
    """The volumes that a claim could still be bound to."""
    free: dict[str, list[CompiledVolume]] = {}
    held: dict[ObjectKey, list[CompiledVolume]] = {}
    for volume in volumes:
        if volume.claimed_by is not None:
            held.setdefault(volume.claimed_by, []).append(volume)
        elif volume.is_free:
            free.setdefault(volume.class_name, []).append(volume)
    return free, held


def _attachments(
    attached: Iterable[VolumeAttachment], volumes: Mapping[str, CompiledVolume]
) -> list[tuple[str, Attachment]]:
    """With the driver that attached them. Volumes with in-tree fields are left out, as in Kubernetes."""
    found = []
    for thing in attached:
        spec = thing.spec
        volume = volumes.get(spec.source.persistent_volume_name)
        known = volume.attachment if volume is not None else None
        if spec.attacher and known is not None and not known.migrated:
            found.append((spec.node_name, Attachment(spec.attacher, known.handle)))
    return found
