"""How many units must at least go on each of many nodes, and of which priority?

Bounds hold also where constraints beyond room matter; none says which units go.
"""

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.criteria import HIGHEST_PRIORITY, OFFSET, PRIORITY_SUM, Candidates, Criterion
from reprieve.preemption.node_ground import Ground
from reprieve.preemption.tenants import charges_of

NO_CANDIDATES = Candidates(
    nodes=np.zeros(0, np.int64),
    priority=np.zeros((0, 0), np.int64),
    start=np.zeros((0, 0), np.float64),
    possible=np.zeros((0, 0), np.bool_),
    certain=np.zeros((0, 0), np.bool_),
    fewest=np.zeros(0, np.int64),
    ceiling=np.zeros(0, np.float64),
    within_budgets=np.zeros(0, np.int64),
    idle=np.zeros(0, np.int64),
    groups_broken=np.zeros(0, np.int64),
    alone=lambda _: np.zeros((0, 0), np.int64),
)


def closely_bounded(ground: Ground) -> Candidates:
    """Which units are reprieved is open: so much room is missing, and so few units may go by the budgets."""
    tenants, left, takeable = ground.tenants, ground.left, ground.takeable
    there, unit, units = tenants.there, tenants.units, takeable.units
    blocks, room = tenants.blocks, tenants.room
    priority = units.priority[unit]
    guarded = np.zeros(len(units.of_pod), np.bool_)
    guarded[takeable.accounts.pods] = True
    charges = charges_of(tenants, ground.shares)
    return Candidates(
        nodes=tenants.nodes,
        priority=priority,
        start=units.start[unit],
        possible=there,
        certain=blocks,
        fewest=np.maximum(_fewest(left, room), blocks.sum(axis=0)),
        ceiling=_lowest_ceiling(left, room, np.where(there, priority, _lowest(priority, there))),
        within_budgets=(there & ~units.with_any(guarded)[unit]).sum(axis=0) + charges.allowances,
        idle=np.zeros(len(tenants.nodes), np.int64),
        groups_broken=np.zeros(len(tenants.nodes), np.int64),
        alone=lambda criterion: takeable.prices.alone_at_least(criterion, unit),
    )


def roughly_bounded(ground: Ground) -> Candidates:
    """Bounds that hold, and are quick to have: as if a node had one tenant, which stands for all."""
    tenants, left, units = ground.tenants, ground.left, ground.takeable.units
    there, unit, size = tenants.there, tenants.units, (1, len(tenants.nodes))
    room, blocks, priority = tenants.room, tenants.blocks, units.priority[unit]
    lowest = _lowest(priority, there)
    fewest = np.maximum(_as_many_as_of_the_largest(left, room), blocks.sum(axis=0))

    def alone(criterion: Criterion) -> Ints | Floats:
        if criterion is HIGHEST_PRIORITY:
            return lowest[None]
        if criterion is PRIORITY_SUM:  # and each has one pod at least
            return lowest[None] + OFFSET
        return np.broadcast_to(np.int64(ground.takeable.prices.least_alone(criterion)), size)

    return Candidates(
        nodes=tenants.nodes,
        priority=lowest[None],
        start=np.maximum.reduce(np.where(there, units.start[unit], -np.inf), axis=0, initial=-np.inf)[None],
        possible=np.ones(size, np.bool_),
        certain=np.zeros(size, np.bool_),
        fewest=fewest,
        ceiling=_lowest_ceiling(left, room, np.where(there, priority, lowest)),
        within_budgets=_roughly_within_budgets(ground, fewest, room, blocks) if ground.shares else fewest,
        idle=np.zeros(len(tenants.nodes), np.int64),
        groups_broken=np.zeros(len(tenants.nodes), np.int64),
        alone=alone,
        has_one_slot=True,
    )


def _roughly_within_budgets(ground: Ground, fewest: Ints, room: Ints, blocks: Mask) -> Ints:
    """[node] no plan is within the budgets if the units are not enough whose budgets allow their eviction."""
    tenants = ground.tenants
    affordable = tenants.there & ~ground.shares.unaffordable()[tenants.units]
    within = affordable.sum(axis=0)
    has_room = (ground.left + (room * affordable).sum(axis=1) >= 0).all(axis=0)
    is_enough = has_room & ~(blocks & ~affordable).any(axis=0)
    at_most: Ints = np.where(is_enough, within, np.minimum(within, fewest - 1))
    return at_most


def _lowest(priority: Ints, there: Mask) -> Ints:
    lowest: Ints = np.minimum.reduce(np.where(there, priority, OFFSET), axis=0, initial=OFFSET)
    return lowest


def _as_many_as_of_the_largest(left: Ints, room: Ints) -> Ints:
    """[node] no fewer units have to go than if all were as large as the largest.

    Quotients of integers take ten times as long. A hair is taken off, so that none is rounded up.
    """
    largest = np.maximum(np.maximum.reduce(room, axis=1, initial=0), 1)
    quotients: Floats = np.maximum.reduce(-left / largest * (1 - 2**-50), axis=0, initial=0.0)
    return np.ceil(quotients).astype(np.int64)


def _fewest(left: Ints, room: Ints) -> Ints:
    """[node] how many units have to go at least: as many as if the largest went first."""
    gained = np.cumsum(-np.sort(-room, axis=1), axis=1)
    fewest: Ints = ((left[:, None] + gained < 0).sum(axis=1) + (left < 0)).max(axis=0, initial=0)
    return fewest


def _lowest_ceiling(left: Ints, room: Ints, priority: Ints) -> Floats:
    """[node] the lowest priority up to which all units together leave enough room, or minus infinity."""
    ceiling = np.full(left.shape[1], -np.inf)
    for slot in reversed(range(len(priority))):
        ceiling = np.where(np.minimum.reduce(left, axis=0, initial=0) < 0, priority[slot], ceiling)
        left = left + room[:, slot]
    return ceiling
