"""Storage objects, compiled once: what a claim requires, what a volume offers, what a class can provision.

Quantities and selectors are parsed here and nowhere else. A malformed object is reported; its volume matches
no claim, or is reachable from no node.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reprieve.model.csi_migration import (
    BETA_REGION,
    BETA_ZONE,
    IN_TREE_PLUGINS,
    REGION,
    UNCOUNTED_PROVISIONERS,
    ZONE,
    Attachment,
    MigratedDisk,
    migrated_affinity,
    migrated_disk,
    zones_in,
)
from reprieve.model.objects import (
    CSINode,
    CsiNodeDriver,
    CSIStorageCapacity,
    NodeSelector,
    ObjectKey,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Quantity,
    StorageClass,
    TopologySelectorTerm,
)
from reprieve.model.resources import Problems, milli, read_amounts
from reprieve.model.selectors import (
    ANYWHERE,
    EVERYTHING,
    NOTHING,
    NodeQuery,
    NodeTerm,
    Operator,
    Requirement,
    Selector,
    compile_node_selector,
    compile_selector,
)

BOUND_MARK = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
OLDER_CLASS = "volume.beta.kubernetes.io/storage-class"  # a deprecated annotation that wins over the field
_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_ZONE_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)

NOWHERE_REACHED = NodeQuery(terms=())


def storage_class_of(meta: ObjectMeta, name: str | None) -> str:
    """The class of a claim or a volume; ``name``: what its spec says."""
    return meta.annotations.get(OLDER_CLASS, name or "")


# --- volumes -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Offer:
    """The properties of a free volume, apart from size, that a claim is matched against."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ZoneRule:
    """A zone or region label of a volume: nodes must have one of the values."""

    key: str
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class CompiledVolume:
    name: str
    uid: str
    class_name: str
    size: int | None  # thousandths of a byte; None if it is malformed
    offer: Offer
    claimed_by: ObjectKey | None
    claimed_by_uid: str
    available: bool
    deleting: bool
    nodes: NodeQuery
    plugin: str  # its in-tree plugin, or empty
    migrated_nodes: NodeQuery  # replaces ``nodes`` on nodes where that plugin is migrated
    attachment: Attachment | None
    zones: tuple[ZoneRule, ...]

    @property
    def is_free(self) -> bool:
        """Whether a claim that matches can be bound to it."""
        return self.available and not self.deleting and self.claimed_by is None and self.size is not None

    def can_serve(self, claim: "CompiledClaim") -> bool:
        """What even a volume that is reserved for the claim must fulfil."""
        return (
            self.class_name == claim.class_name
            and not self.deleting
            and self.size is not None
            and self.size >= claim.size
            and self.offer.mode == claim.requirements.mode
            and self.offer.attributes_class == claim.requirements.attributes_class
        )

    def is_held_for(self, claim: "CompiledClaim") -> bool:
        """Whether it is reserved for this very claim; a claim that was created again has another UID."""
        return self.claimed_by == claim.key and self.claimed_by_uid in ("", claim.uid)


def compile_volume(volume: PersistentVolume, problems: Problems) -> CompiledVolume:
    meta, spec = volume.metadata, volume.spec
    disk = migrated_disk(spec, meta.labels) if spec.csi is None else None
    claim = spec.claim_ref
    return CompiledVolume(
        name=meta.name,
        uid=meta.uid,
        class_name=storage_class_of(meta, spec.storage_class_name),
        size=_storage_amount(spec.capacity, "spec.capacity", problems),
        offer=Offer(
            mode=spec.volume_mode,
            attributes_class=spec.volume_attributes_class_name or "",
            access_modes=frozenset(spec.access_modes),
            labels=tuple(sorted(meta.labels.items())),
        ),
        claimed_by=(claim.namespace, claim.name) if claim is not None else None,
        claimed_by_uid=claim.uid if claim is not None else "",
        available=volume.status.phase == "Available",
        deleting=meta.deletion_timestamp is not None,
        nodes=_reached(spec.node_affinity.required, problems),
        plugin=disk.plugin.name if disk is not None else "",
        migrated_nodes=_reached_when_migrated(volume, disk, problems),
        attachment=_attachment(volume, disk),
        zones=_zone_rules(volume, problems),
    )


def _storage_amount(amounts: Mapping[str, Quantity] | None, path: str, problems: Problems) -> int | None:
    """In thousandths; 0 if absent, None if malformed."""
    if not amounts or "storage" not in amounts:
        return 0
    return read_amounts({"storage": amounts["storage"]}, path, problems).get("storage")


def _reached(affinity: NodeSelector | None, problems: Problems) -> NodeQuery:
    """Only label expressions count, never matchFields, as in Kubernetes."""
    terms = compile_node_selector(affinity, "spec.nodeAffinity.required", problems)
    return ANYWHERE if terms is None else NodeQuery(terms=tuple(NodeTerm(term.labels) for term in terms))


def _reached_when_migrated(
    volume: PersistentVolume, disk: MigratedDisk | None, problems: Problems
) -> NodeQuery:
    if disk is None:
        return ANYWHERE
    return (
        _reached(migrated_affinity(volume, disk.plugin), problems)
        if disk.handle is not None
        else NOWHERE_REACHED
    )


def _attachment(volume: PersistentVolume, disk: MigratedDisk | None) -> Attachment | None:
    csi = volume.spec.csi
    if csi is None:
        return disk.attachment if disk is not None else None
    return Attachment(csi.driver, csi.volume_handle) if csi.driver and csi.volume_handle else None


def _zone_rules(volume: PersistentVolume, problems: Problems) -> tuple[ZoneRule, ...]:
    """A malformed label is reported and ignored: the volume's node affinity still holds."""
    rules = []
    for key in _ZONE_LABELS:
        label = volume.metadata.labels.get(key)
        if label is None:
            continue
        if values := zones_in(label):
            rules.append(ZoneRule(key, values))
        else:
            problems.add(f"metadata.labels[{key}]", f"expected names separated by '__', got {label!r}")
    return tuple(rules)


# --- claims --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClaimRequirements:
    """What a claim requires of a free volume, apart from size."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]
    selector: Selector

    def accepts(self, offer: Offer) -> bool:
        return (
            self.mode == offer.mode
            and self.attributes_class == offer.attributes_class
            and self.access_modes <= offer.access_modes
            and self.selector.matches(dict(offer.labels))
        )


@dataclass(frozen=True, slots=True)
class CompiledClaim:
    key: ObjectKey
    uid: str
    owner_uid: str  # the pod that owns it, for a generic ephemeral volume
    class_name: str
    volume_name: str
    bound: bool
    lost: bool
    deleting: bool
    for_one_pod: bool
    selected_node: str | None
    size: int  # thousandths of a byte
    requests_size: bool
    requirements: ClaimRequirements
    readable: bool


def compile_claim(claim: PersistentVolumeClaim, problems: Problems) -> CompiledClaim:
    meta, spec = claim.metadata, claim.spec
    size = _storage_amount(spec.resources.requests, "spec.resources.requests", problems)
    selector = _claim_selector(claim, problems)
    return CompiledClaim(
        key=(meta.namespace, meta.name),
        uid=meta.uid,
        owner_uid=next((owner.uid for owner in meta.owner_references if owner.controller), ""),
        class_name=storage_class_of(meta, spec.storage_class_name),
        volume_name=spec.volume_name,
        bound=is_bound(claim),
        lost=claim.status.phase == "Lost",
        deleting=meta.deletion_timestamp is not None,
        for_one_pod="ReadWriteOncePod" in spec.access_modes,
        selected_node=meta.annotations.get(SELECTED_NODE),
        size=size or 0,
        requests_size="storage" in (spec.resources.requests or {}),
        requirements=ClaimRequirements(
            mode=spec.volume_mode,
            attributes_class=spec.volume_attributes_class_name or "",
            access_modes=frozenset(spec.access_modes),
            selector=selector,
        ),
        readable=size is not None and selector != NOTHING,
    )


def is_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BOUND_MARK in claim.metadata.annotations


def _claim_selector(claim: PersistentVolumeClaim, problems: Problems) -> Selector:
    selector = claim.spec.selector
    return EVERYTHING if selector is None else compile_selector(selector, "spec.selector", problems)


# --- storage classes and capacities --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompiledClass:
    name: str
    provisioner: str  # empty if the class provisions no volumes
    waits: bool  # volumeBindingMode is WaitForFirstConsumer
    nodes: NodeQuery  # where volumes can be provisioned
    # The driver that will attach a volume that is not provisioned yet.
    driver: str
    driver_migrated: bool


def compile_class(storage_class: StorageClass, problems: Problems) -> CompiledClass:
    provisioner = storage_class.provisioner
    plugin = IN_TREE_PLUGINS.get(provisioner)
    uncounted = provisioner in UNCOUNTED_PROVISIONERS or provisioner == _NO_PROVISIONER
    driver = "" if uncounted else provisioner
    return CompiledClass(
        name=storage_class.metadata.name,
        provisioner="" if provisioner == _NO_PROVISIONER else provisioner,
        waits=storage_class.volume_binding_mode == "WaitForFirstConsumer",
        nodes=_allowed_topologies(storage_class, problems),
        driver=plugin.driver if plugin is not None else driver,
        driver_migrated=plugin is not None,
    )


def _allowed_topologies(storage_class: StorageClass, problems: Problems) -> NodeQuery:
    if not storage_class.allowed_topologies:
        return ANYWHERE
    terms = (
        _topology_term(term, f"allowedTopologies[{i}]", problems)
        for i, term in enumerate(storage_class.allowed_topologies)
    )
    return NodeQuery(terms=tuple(term for term in terms if term is not None))


def _topology_term(term: TopologySelectorTerm, path: str, problems: Problems) -> NodeTerm | None:
    """None for a term that selects nothing: an empty one, or one with a key without values."""
    expressions = term.match_label_expressions
    for i, expression in enumerate(expressions):
        if not expression.values:
            problems.add(f"{path}.matchLabelExpressions[{i}].values", "expected at least one value")
    if not expressions or not all(expression.values for expression in expressions):
        return None
    return NodeTerm(tuple(Requirement(e.key, Operator.IN, frozenset(e.values)) for e in expressions))


@dataclass(frozen=True, slots=True)
class CompiledCapacity:
    """A CSIStorageCapacity: the largest volume of a class that can be provisioned for some nodes."""

    class_name: str
    nodes: NodeQuery
    largest: int  # bytes


def compile_capacity(capacity: CSIStorageCapacity, problems: Problems) -> CompiledCapacity | None:
    """None if nothing can be provisioned: no size, no node, or a malformed object."""
    largest = _whole_bytes(capacity.maximum_volume_size, "maximumVolumeSize", problems)
    if capacity.maximum_volume_size is None:
        largest = _whole_bytes(capacity.capacity, "capacity", problems)
    selector = compile_selector(capacity.node_topology, "nodeTopology", problems)
    if largest is None or selector == NOTHING:
        return None
    return CompiledCapacity(capacity.storage_class_name, NodeQuery(selector.requirements), largest)


def _whole_bytes(quantity: Quantity | None, path: str, problems: Problems) -> int | None:
    if quantity is None:
        return None
    amount = milli(quantity)
    if amount is None or amount < 0:
        problems.add(path, f"expected a quantity of zero or more, got {quantity!r}")
        return None
    return whole(amount)


def whole(thousandths: int) -> int:
    """Rounded up, and within 64 bits."""
    return min(-(-thousandths // 1000), (1 << 63) - 1)


# --- nodes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CsiFacts:
    """A CSINode: the CSI drivers of a node, and its migrated plugins. Many nodes are equal."""

    migrated: frozenset[str] = frozenset()
    drivers: tuple[tuple[str, int | None], ...] = ()  # name, and its attach limit
    known: bool = True

    def has(self, driver: str) -> bool:
        return any(name == driver for name, _ in self.drivers)

    def limit(self, driver: str) -> int | None:
        return next((count for name, count in self.drivers if name == driver), None)


NO_FACTS = CsiFacts(known=False)


@dataclass(frozen=True, slots=True)
class CompiledCsiNode:
    name: str
    facts: CsiFacts


def csi_facts(node: CSINode | None) -> CsiFacts:
    if node is None:
        return NO_FACTS
    migrated = node.metadata.annotations.get(_MIGRATED_PLUGINS, "")
    return CsiFacts(
        migrated=frozenset(migrated.split(",")) if migrated else frozenset(),
        drivers=tuple((d.name, d.allocatable.count) for d in sorted(node.spec.drivers, key=_driver_name)),
    )


def _driver_name(driver: CsiNodeDriver) -> str:
    return driver.name
