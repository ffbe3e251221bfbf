"""Volume binding: whether nodes reach the bound volumes, and which volumes unbound claims get.

An unbound claim gets the smallest free volume that matches it and that the node reaches; the claims of one
pod get different volumes. Without one, its class provisions a new volume, where it can and has capacity.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.storage import FreeVolumes
from reprieve.model.volumes import ClaimKey, CompiledClaim, CompiledVolume, whole
from reprieve.placement.constraints.volumes.claim_checks import claims, claims_of
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection

_NONE = -1


def binding(ask: Ask) -> Iterator[Rejection]:
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

    bound: tuple[tuple[ClaimKey, str], ...] = ()  # a claim, and the existing volume for it
    provisioned: tuple[ClaimKey, ...] = ()  # claims whose volume has to be provisioned for the node


def bindings(ask: Ask, node: int) -> Bindings:
    """For a feasible node."""
    bound, provisioned = [], []
    for supply in _supplies(ask):
        place = int(supply.chosen[node])
        if place != _NONE:
            bound.append((supply.claim.key, supply.volumes[place].name))
        elif supply.made[node]:
            provisioned.append(supply.claim.key)
    return Bindings(tuple(bound), tuple(provisioned))


# --- the volumes of unbound claims ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Supply:
    """Where one claim's volume comes from, for each node."""

    claim: CompiledClaim
    volumes: Sequence[CompiledVolume]
    chosen: Ints  # which of the volumes, or _NONE
    made: Mask
    missing: Mask
    cramped: Mask


def _supplies(ask: Ask) -> list[_Supply]:
    """Small claims come first, so that they leave large volumes to large claims."""
    waiting = sorted((c for c in claims_of(ask) if not c.bound), key=lambda claim: claim.size)
    supplies: list[_Supply] = []
    for claim in waiting:
        earlier = [s for s in supplies if s.claim.class_name == claim.class_name]
        supplies.append(_supply(ask, claim, earlier))
    return supplies


def _supply(ask: Ask, claim: CompiledClaim, earlier: list[_Supply]) -> _Supply:
    volumes, chosen = _chosen(ask, claim, earlier)
    without = chosen == _NONE
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
    nodes = ask.view.nodes
    nothing = np.full(len(nodes), _NONE, np.int64)
    # With a selected node, the volume is being provisioned for it.
    if not claim.readable or claim.selected_node is not None:
        return (), nothing
    if (held := _held(ask, claim)) is not None:
        return (held,), np.where(nodes.matching(held.nodes), 0, _NONE)
    free = ask.view.storage.free_volumes(claim.class_name, nodes.matching)
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
    """For each node, the first of the positions that it reaches and that no earlier claim has."""
    none = len(free.volumes)
    best = np.full(size, none, np.int64)
    codes, rows = free.reached_codes, free.reached_rows
    # Volumes with the same reach are interchangeable: only the first of each matters, and where an earlier
    # claim has that, the next.
    while places.size:
        first = np.full(len(free.reach.things), none, np.int64)
        first[free.reach.codes[places][::-1]] = places[::-1]
        found = first[codes]
        busy = np.zeros(len(rows), np.bool_)
        for others in taken:
            busy |= (others[rows] == found) & (found != none)
        np.minimum.at(best, rows[~busy], found[~busy])
        if not busy.any():
            break
        codes, rows = codes[busy], rows[busy]
        left = np.ones(none + 1, np.bool_)
        left[first] = False
        places = places[left[places]]
    best[best == none] = _NONE
    return best


# --- provisioning --------------------------------------------------------------------------------


def _made_there(ask: Ask, claim: CompiledClaim) -> Mask:
    """Where the claim's class can provision volumes."""
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
    """Where the capacity suffices for a new volume; drivers without capacity tracking always suffice."""
    nodes, storage = ask.view.nodes, ask.view.storage
    driver = storage.drivers.get(storage.classes[claim.class_name].provisioner)
    if driver is None or not driver.storage_capacity or not claim.requests_size:
        return np.ones(len(nodes), np.bool_)
    largest = storage.largest(claim.class_name, nodes.matching)
    if largest is None:
        return np.zeros(len(nodes), np.bool_)
    return largest >= whole(claim.size)
