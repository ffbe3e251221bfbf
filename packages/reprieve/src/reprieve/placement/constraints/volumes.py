"""Constraints by volumes: claims, disks, attach limits, zones, node affinity and storage capacity.

``claims`` comes before all other constraints: what it finds holds for every node, so that no node has to be
checked. The others check nodes, in kube-scheduler's order.

An unbound claim gets the smallest free volume that matches it and that the node reaches; the claims of one
pod get different volumes. Without one, its class provisions a new volume, where it can and has capacity.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Column, Ints, Mask, Relation
from reprieve.model.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, Attachment
from reprieve.model.nodes import Nodes
from reprieve.model.objects import ObjectKey
from reprieve.model.snapshot import NOWHERE
from reprieve.model.storage import FreeVolumes
from reprieve.model.volumes import CompiledClaim, CompiledVolume, CsiFacts, ZoneRule, whole
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def claims(ask: Ask) -> Iterator[Rejection]:
    if not ask.shape.claims:
        return
    for reason in _reasons(ask):
        yield Rejection(np.ones(len(ask.view.nodes), np.bool_), reason, curable=False)


def claims_of(ask: Ask) -> Iterator[CompiledClaim]:
    """The pod's claims that exist, in the order of its volumes."""
    shape, known = ask.shape, ask.view.storage.claims
    for name in shape.claims:
        if (claim := known.get((shape.namespace, name))) is not None:
            yield claim


def _reasons(ask: Ask) -> Iterator[Reason]:
    shape, storage = ask.shape, ask.view.storage
    for name in shape.claims:
        claim = storage.claims.get((shape.namespace, name))
        if claim is None:
            yield Reason(Code.CLAIM_NOT_FOUND, name)
        elif claim.lost:
            yield Reason(Code.CLAIM_LOST, name)
        elif claim.deleting:
            yield Reason(Code.CLAIM_DELETED, name)
        elif name in shape.ephemeral_claims and claim.owner_uid != _uid(ask):
            yield Reason(Code.CLAIM_OF_ANOTHER, name)
        elif claim.bound and claim.volume_name not in storage.volumes:
            yield Reason(Code.VOLUME_NOT_FOUND, claim.volume_name)
        elif not claim.bound and not _may_wait(ask, claim):
            yield Reason(Code.CLAIM_UNBOUND, f"{name} is not bound ({_why_unbound(ask, claim)})")


def _uid(ask: Ask) -> str:
    return ask.view.pods.compiled[ask.pod].pod.metadata.uid


def _why_unbound(ask: Ask, claim: CompiledClaim) -> str:
    """Whatever the scheduler does, another component has to act first."""
    if claim.volume_name:
        return f"waiting for PersistentVolume {claim.volume_name}"
    if not claim.class_name:
        return "Immediate binding, no StorageClass"
    if claim.class_name not in ask.view.storage.classes:
        return f"StorageClass {claim.class_name} does not exist"
    return f"Immediate binding, StorageClass {claim.class_name}"


def _may_wait(ask: Ask, claim: CompiledClaim) -> bool:
    """Whether the scheduler binds the claim; the volume controller binds one that names its volume."""
    storage_class = ask.view.storage.classes.get(claim.class_name)
    return storage_class is not None and storage_class.waits and not claim.volume_name


def exclusive(ask: Ask) -> Iterator[Rejection]:
    """Disks that another pod on the node holds, and claims that are for one pod only."""
    shape, view = ask.shape, ask.view
    for disk in shape.disks:
        nodes = _nodes_of(ask, view.pods.holders().of_disk(disk))
        if nodes.size:
            taken = np.zeros(len(view.nodes), np.bool_)
            taken[nodes] = True
            yield Rejection(taken, Reason(Code.DISK_CONFLICT), curable=True)
    if not shape.claims:
        return
    for claim in claims_of(ask):
        name = claim.key[1]
        if not claim.for_one_pod or name in shape.ephemeral_claims:
            continue
        # The pod that uses the claim blocks it on all nodes, wherever it runs.
        if _nodes_of(ask, view.pods.claims.rows_with(claim.key)).size:
            everywhere = np.ones(len(view.nodes), np.bool_)
            yield Rejection(everywhere, Reason(Code.CLAIM_IN_USE, name), curable=True)


def _nodes_of(ask: Ask, pods: Ints) -> Ints:
    """The rows of the nodes that these pods (rows) are on, without the incoming pod."""
    nodes: Ints = ask.view.where[pods[pods != ask.pod]]
    return nodes[nodes >= 0]


_UNLIMITED = -1  # the limit of a node whose driver names none
_UNUSED: Relation[str] = Relation.of(())


def limits(ask: Ask) -> Iterator[Rejection]:
    """Nodes whose driver can attach no more volumes."""
    shape, storage = ask.shape, ask.view.storage
    if not shape.claims and not shape.inline_volumes:
        return
    wanted: dict[str, list[Attachment]] = {}
    for volume in storage.attachments_of(shape):
        wanted.setdefault(volume.driver, []).append(volume)
    facts = storage.csi(ask.view.nodes.names)
    for driver, volumes in wanted.items():
        spec = storage.drivers.get(driver)
        if spec is not None and spec.prevent_pod_scheduling_if_missing:
            # Not curable: evicting pods does not install a driver.
            yield Rejection(_lacking(facts, volumes), Reason(Code.DRIVER_MISSING, driver), curable=False)
        crowded = _crowded(ask, driver, [v.handle for v in volumes], _limits(facts, driver))
        if crowded.any():
            yield Rejection(crowded, Reason(Code.VOLUME_LIMIT, driver), curable=True)


def _lacking(facts: Column[CsiFacts], volumes: list[Attachment]) -> Mask:
    """[node] whether it lacks the driver. Migrated volumes need it only where there is a CSINode.

    A node without one attaches them in-tree.
    """
    driver = volumes[0].driver
    all_migrated = all(volume.migrated for volume in volumes)
    return facts.where(lambda fact: not fact.has(driver) and (fact.known or not all_migrated))


def _limits(facts: Column[CsiFacts], driver: str) -> Ints:
    """[node] how many volumes the driver can attach there."""
    found = (fact.limit(driver) for fact in facts.things)
    by_code = np.array([_UNLIMITED if limit is None else limit for limit in found], np.int64)
    return by_code[facts.codes]


def _crowded(ask: Ask, driver: str, handles: list[str], limit: Ints) -> Mask:
    """[node] whether the pod's volumes (handles) would be more there than the limit ([node]) allows.

    Counting distinct volumes is expensive. There are no more of them than uses by pods, so it is done only
    where the uses exceed the limit.
    """
    in_use: Relation[str] = ask.view.volumes_in_use.get(driver, _UNUSED)
    # [use] one volume of one pod, or of an attachment without one: see ``InUse``. Its node:
    nodes = _nodes_of_users(ask, in_use.rows)
    users = np.bincount(nodes[nodes >= 0], minlength=len(limit))
    suspects: Mask = (limit != _UNLIMITED) & (users + len(handles) > limit)
    if not suspects.any():
        return suspects
    pairs = np.flatnonzero((nodes >= 0) & suspects[nodes])  # from here on, [use] is one of these
    nodes, codes = nodes[pairs], in_use.codes[pairs]
    attached = _distinct(nodes, codes, len(limit))
    # A volume that a pod on the node already uses is attached once.
    wanted = [in_use.index[handle] for handle in handles if handle in in_use.index]
    shared = np.isin(codes, wanted) & (in_use.rows[pairs] >= 0)
    new = len(handles) - _distinct(nodes[shared], codes[shared], len(limit))
    crowded: Mask = suspects & (new > 0) & (attached + new > limit)
    return crowded


def _nodes_of_users(ask: Ask, rows: Ints) -> Ints:
    """[use] the node of each user, or NOWHERE; the incoming pod itself does not count.

    rows  [use]  the row of a pod, or ~row of a node where a volume is attached without a pod
    """
    nodes = ~rows
    pods = rows >= 0
    nodes[pods] = ask.view.where[rows[pods]]
    nodes[rows == ask.pod] = NOWHERE
    return nodes


def _distinct(nodes: Ints, volumes: Ints, size: int) -> Ints:
    """[node] the number of distinct volumes there, of ``size`` nodes.

    nodes, volumes  [use]  the same volume may be used on a node several times
    """
    # The last use of a volume counts it on that node. Most volumes are on one node, so that few uses are
    # left, those on other nodes; of these, each pair of node and volume counts once. A pair is one number.
    width = int(volumes.max(initial=0)) + 1
    last = np.zeros(width, np.int64)
    last[volumes] = np.arange(len(volumes))
    elsewhere = nodes != nodes[last[volumes]]
    further = np.unique(nodes[elsewhere] * width + volumes[elsewhere]) // width
    at_last = nodes[last[volumes] == np.arange(len(volumes))]
    return np.bincount(np.concatenate([at_last, further]), minlength=size)


_SUCCESSOR = {BETA_ZONE: ZONE, BETA_REGION: REGION}


def zones(ask: Ask) -> Iterator[Rejection]:
    if not ask.shape.claims:
        return
    for claim in claims_of(ask):
        volume = ask.view.storage.volumes.get(claim.volume_name)
        if volume is None or not volume.zones or claim.key[1] in ask.shape.ephemeral_claims:
            continue
        elsewhere = np.zeros(len(ask.view.nodes), np.bool_)
        for rule in volume.zones:
            elsewhere |= ~_meeting(ask.view.nodes, rule)
        elsewhere &= _zoned(ask.view.nodes)
        yield Rejection(elsewhere, Reason(Code.VOLUME_ZONE, volume.name), curable=False)


def _zoned(nodes: Nodes) -> Mask:
    """[node] whether it has a zone or region label; nodes without one reach every volume."""
    zoned = np.zeros(len(nodes), np.bool_)
    for key in (BETA_ZONE, BETA_REGION, ZONE, REGION):
        zoned |= nodes.label(key).codes != 0
    return zoned


def _meeting(nodes: Nodes, rule: ZoneRule) -> Mask:
    """[node] whether it is in a zone of the rule: by its label, or by the label that came after it."""
    column = nodes.label(rule.key)
    meeting = column.where_in(rule.values)
    if (successor := _SUCCESSOR.get(rule.key)) is not None:
        meeting |= (column.codes == 0) & nodes.label(successor).where_in(rule.values)
    return meeting


_NO_VOLUME = -1  # the node reaches none that is free


def binding(ask: Ask) -> Iterator[Rejection]:
    """Nodes that do not reach a bound volume, or where an unbound claim can get none."""
    if not ask.shape.claims:
        return
    if unusable := list(claims(ask)):
        yield from unusable
        return
    for claim in claims_of(ask):
        if claim.bound:
            volume = ask.view.storage.volumes[claim.volume_name]
            out_of_reach = ~_reaching(ask, volume)
            yield Rejection(out_of_reach, Reason(Code.VOLUME_NODE_AFFINITY, volume.name), curable=False)
    for supply in _supplies(ask):
        name = supply.claim.key[1]
        yield Rejection(supply.missing, Reason(Code.NO_VOLUME_TO_BIND, name), curable=False)
        yield Rejection(supply.cramped, Reason(Code.STORAGE_CAPACITY, name), curable=False)


def _reaching(ask: Ask, volume: CompiledVolume) -> Mask:
    """[node] whether it reaches the volume; where the plugin moved to a driver, by that one's labels."""
    nodes = ask.view.nodes
    reaching = nodes.matching(volume.nodes)
    if not volume.plugin or volume.migrated_nodes == volume.nodes:
        return reaching
    migrated = ask.view.storage.csi(nodes.names).where(lambda facts: volume.plugin in facts.migrated)
    return np.where(migrated, nodes.matching(volume.migrated_nodes), reaching)


# --- what will be bound --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bindings:
    """What must happen to a pod's claims before it can run on the chosen node."""

    bound: tuple[tuple[ObjectKey, str], ...] = ()  # a claim, and the existing volume for it
    provisioned: tuple[ObjectKey, ...] = ()  # claims whose volume has to be provisioned for the node


def bindings(ask: Ask, node: int) -> Bindings:
    """For a feasible node."""
    bound, provisioned = [], []
    for supply in _supplies(ask):
        place = int(supply.chosen[node])
        if place != _NO_VOLUME:
            bound.append((supply.claim.key, supply.volumes[place].name))
        elif supply.made[node]:
            provisioned.append(supply.claim.key)
    return Bindings(tuple(bound), tuple(provisioned))


# --- the volumes of unbound claims ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Supply:
    """Where one claim's volume comes from, for each node."""

    claim: CompiledClaim
    volumes: Sequence[CompiledVolume]  # in the order in which they are tried
    chosen: Ints  # [node] the place of one of the volumes, or _NO_VOLUME
    made: Mask  # [node] without one, a new one is made there
    missing: Mask  # [node] neither
    cramped: Mask  # [node] one would be made, but for the storage capacity


def _supplies(ask: Ask) -> list[_Supply]:
    """The supplies of the claims that wait, the smallest first: these leave large volumes to large claims."""
    waiting = sorted((c for c in claims_of(ask) if not c.bound), key=lambda claim: claim.size)
    supplies: list[_Supply] = []
    for claim in waiting:
        # Only claims of one class can choose the same volume.
        earlier = [s for s in supplies if s.claim.class_name == claim.class_name]
        supplies.append(_supply(ask, claim, earlier))
    return supplies


def _supply(ask: Ask, claim: CompiledClaim, earlier: list[_Supply]) -> _Supply:
    volumes, chosen = _chosen(ask, claim, earlier)
    without = chosen == _NO_VOLUME
    can_be_made = without & _made_there(ask, claim)
    roomy = _with_room(ask, claim)
    return _Supply(
        claim,
        volumes,
        chosen,
        made=can_be_made & roomy,
        missing=without & ~can_be_made,
        cramped=can_be_made & ~roomy,
    )


def _chosen(ask: Ask, claim: CompiledClaim, earlier: list[_Supply]) -> tuple[Sequence[CompiledVolume], Ints]:
    """The volumes that the claim may get, and [node] which of them it gets there, or _NO_VOLUME."""
    nodes = ask.view.nodes
    nothing = np.full(len(nodes), _NO_VOLUME, np.int64)
    # With a selected node, the volume is being provisioned for it.
    if not claim.readable or claim.selected_node is not None:
        return (), nothing
    if (held := _held(ask, claim)) is not None:
        return (held,), np.where(nodes.matching(held.nodes), 0, _NO_VOLUME)
    free = ask.view.storage.free_volumes(claim.class_name, nodes.matching)
    # Free volumes are sorted by size, and then by name: the first that is large enough is the smallest.
    satisfying = free.satisfying(claim.requirements)
    large_enough = satisfying[np.searchsorted(satisfying, bisect_left(free.sizes, claim.size)) :]
    if not large_enough.size:
        return (), nothing
    taken = [s.chosen for s in earlier if s.volumes is free.volumes]
    return free.volumes, _smallest(free, large_enough, taken, len(nodes))


def _held(ask: Ask, claim: CompiledClaim) -> CompiledVolume | None:
    """A volume that is reserved for the claim: the claim gets no other."""
    held = ask.view.storage.held.get(claim.key, ())
    usable = [volume for volume in held if volume.is_held_for(claim) and volume.can_serve(claim)]
    return min(usable, key=lambda volume: (volume.size, volume.name), default=None)


def _smallest(free: FreeVolumes, places: Ints, taken: list[Ints], size: int) -> Ints:
    """[node] the first of the places that it reaches and that no earlier claim has there, or _NO_VOLUME.

    places  ascending        the volumes that will do
    taken   one for a claim  [node] the place of the volume that it gets there
    """
    none = len(free.volumes)  # above all places, so that a minimum passes over it
    best = np.full(size, none, np.int64)
    codes, rows = free.reached_codes, free.reached_rows  # [pair] a reach, and a node in it
    # Volumes with the same reach are interchangeable: only the first of each matters, and where an earlier
    # claim has that, the next.
    while places.size:
        # [reach] the first place; where one is assigned several times, numpy keeps the last, so from behind
        first = np.full(len(free.reach.things), none, np.int64)
        first[free.reach.codes[places][::-1]] = places[::-1]
        found = first[codes]
        busy = np.zeros(len(rows), np.bool_)
        for others in taken:
            busy |= (others[rows] == found) & (found != none)
        np.minimum.at(best, rows[~busy], found[~busy])
        if not busy.any():
            break
        # Once more for the nodes where that one is taken, without the volumes that were first.
        codes, rows = codes[busy], rows[busy]
        left = np.ones(none + 1, np.bool_)
        left[first] = False
        places = places[left[places]]
    best[best == none] = _NO_VOLUME
    return best


# --- provisioning --------------------------------------------------------------------------------


def _made_there(ask: Ask, claim: CompiledClaim) -> Mask:
    """[node] whether the claim's class can provision a volume there."""
    nodes = ask.view.nodes
    storage_class = ask.view.storage.classes[claim.class_name]
    if not storage_class.provisioner or not claim.readable:
        return np.zeros(len(nodes), np.bool_)
    allowed = nodes.matching(storage_class.nodes)
    if claim.selected_node is None:
        return allowed
    selected = np.zeros(len(nodes), np.bool_)
    if (row := nodes.rows.get(claim.selected_node)) is not None:
        selected[row] = allowed[row]
    return selected


def _with_room(ask: Ask, claim: CompiledClaim) -> Mask:
    """[node] whether there is capacity for a new volume; a driver that does not track it has enough."""
    nodes, storage = ask.view.nodes, ask.view.storage
    driver = storage.drivers.get(storage.classes[claim.class_name].provisioner)
    if driver is None or not driver.storage_capacity or not claim.requests_size:
        return np.ones(len(nodes), np.bool_)
    largest = storage.largest(claim.class_name, nodes.matching)
    if largest is None:
        return np.zeros(len(nodes), np.bool_)
    return largest >= whole(claim.size)
