"""Lower bounds on what a plan for one pod must evict on each node, computed for all nodes at once.

A node whose bound is worse than the best plan found so far is never planned (``node_pruning``). The bounds
look at room and budgets alone: other constraints can make a plan dearer, never cheaper, so the bounds hold
with them too. None of them says which units go.
"""

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.criteria import (
    HIGHEST_PRIORITY,
    LATEST_START,
    MOST,
    OFFSET,
    OTHER_GANGS_BROKEN,
    PRIORITY_SUM,
    Candidates,
    Combined,
    Cost,
    Criterion,
)
from reprieve.preemption.potential_nodes import PotentialNodes, charges_of

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


def closely_bounded(potential: PotentialNodes) -> Candidates:
    """Bounds from every unit on a node: so much room is missing, and so few may go by the budgets."""
    node_units, shortage, evictable = potential.node_units, -potential.left, potential.evictable
    there, unit, units = node_units.there, node_units.units, evictable.units
    blocks, freed = node_units.blocks, node_units.freed
    priority = units.priority[unit]
    guarded = np.zeros(len(units.of_pod), np.bool_)  # [pod]
    guarded[evictable.accounts.pods] = True
    # Each unit that no budget selects may go, and of the others no more than all budgets there allow
    # together.
    unguarded = (there & ~units.with_any(guarded)[unit]).sum(axis=0)
    charges = charges_of(node_units, potential.shares)
    return Candidates(
        nodes=node_units.nodes,
        priority=priority,
        start=units.start[unit],
        possible=there,
        certain=blocks,
        fewest=np.maximum(fewest_evictions(shortage, freed), blocks.sum(axis=0)),
        ceiling=lowest_ceiling(shortage, freed, np.where(there, priority, OFFSET)),
        within_budgets=unguarded + charges.allowances,
        idle=np.zeros(len(node_units.nodes), np.int64),
        groups_broken=np.zeros(len(node_units.nodes), np.int64),
        alone=lambda criterion: evictable.prices.alone_at_least(criterion, unit),
    )


def roughly_bounded(potential: PotentialNodes) -> Candidates:
    """Bounds that are quick to have: as if a node had one unit, in one slot, which stands for all."""
    node_units, shortage, evictable = potential.node_units, -potential.left, potential.evictable
    there, unit, size = node_units.there, node_units.units, (1, len(node_units.nodes))
    freed, blocks, start = node_units.freed, node_units.blocks, evictable.units.start[unit]
    priority = np.where(there, evictable.units.priority[unit], OFFSET)  # which is above all of them
    lowest: Ints = np.minimum.reduce(priority, axis=0, initial=OFFSET)
    fewest = fewest_if_all_were_largest(shortage, freed)
    if blocks.any():
        fewest = np.maximum(fewest, blocks.sum(axis=0))
    has_groups = len(evictable.units.group_names) > 0  # else pods of all nodes have prices much alike

    def alone(criterion: Criterion) -> Ints | Floats:
        if criterion is HIGHEST_PRIORITY:
            return lowest[None]
        if criterion.least_alone is None and has_groups:
            costs = np.where(there, evictable.prices.alone(criterion, unit), MOST)
            least: Ints | Floats = np.minimum.reduce(costs, axis=0, keepdims=True, initial=MOST)
            return least
        if criterion is PRIORITY_SUM:
            return lowest[None] + OFFSET
        return np.full((1, 1), evictable.prices.least_alone(criterion))

    return Candidates(
        nodes=node_units.nodes,
        priority=lowest[None],
        start=np.maximum.reduce(np.where(there, start, -np.inf), axis=0, initial=-np.inf)[None],
        possible=np.ones(size, np.bool_),
        certain=np.zeros(size, np.bool_),
        fewest=fewest,
        ceiling=lowest_ceiling(shortage, freed, priority),
        within_budgets=_roughly_within_budgets(potential, fewest) if potential.shares else fewest,
        idle=np.zeros(len(node_units.nodes), np.int64),
        groups_broken=np.zeros(len(node_units.nodes), np.int64),
        alone=alone,
        has_one_slot=True,
    )


# --- against a plan that is known ----------------------------------------------------------------


def may_cost_less(potential: PotentialNodes, limit: Cost) -> Mask:
    """[node] whether a plan there may cost less than one that is known.

    A plan that is better costs as much by the first criteria, and by the next one less. So units that cost
    more by one of these are no victims of it, and those that are left must free enough.
    """
    among, size = _Among(potential), len(potential.node_units.nodes)
    may: Mask = np.zeros(size, np.bool_)
    tied: Mask = np.ones(size, np.bool_)
    for place, criterion in enumerate(limit.order):
        if not tied.any():
            return may
        if criterion.budgets and criterion.of_units is None:
            # Only where no budget breaks, the units that break one alone are out of the question.
            if limit[place]:
                return may | tied
            among.keep(~potential.shares.unaffordable()[potential.node_units.units])
            tied = tied & among.suffices
        elif (level := among.level(criterion, limit, place)) is not None:
            less = tied & among.would_suffice(level < limit[place])
            may, tied = may | less, tied & ~less
            among.keep(level <= limit[place])
            tied = tied & among.suffices
        elif criterion.combined is Combined.SUM:
            least = among.least_sum(criterion)
            may, tied = may | (tied & (least < limit[place])), tied & (least == limit[place])
        elif criterion is not OTHER_GANGS_BROKEN or limit[place]:  # no plan breaks fewer than none
            return may | tied
    return may


class _Among:
    """The units of some nodes that may still be victims, and what these must free there."""

    def __init__(self, potential: PotentialNodes) -> None:
        self._node_units, self._shortage = potential.node_units, -potential.left
        self._prices = potential.evictable.prices
        self._among = potential.node_units.there

    def keep(self, chosen: Mask) -> None:
        """``chosen``: [slot, node]."""
        self._among = self._among & chosen

    @property
    def suffices(self) -> Mask:
        return self.would_suffice(self._among)

    def would_suffice(self, chosen: Mask) -> Mask:
        """[node] whether those of these units that may be victims free enough."""
        chosen, node_units = chosen & self._among, self._node_units
        freed = (node_units.freed * chosen).sum(axis=1)
        enough: Mask = (freed >= self._shortage).all(axis=0) & ~(node_units.blocks & ~chosen).any(axis=0)
        return enough

    def level(self, criterion: Criterion, limit: Cost, place: int) -> Floats | None:
        """[slot, node] what a unit costs by a criterion that counts the highest of all victims."""
        units, numbers = self._prices.units, self._node_units.units
        if criterion is LATEST_START and HIGHEST_PRIORITY in limit.order[:place]:
            highest = limit[limit.order.index(HIGHEST_PRIORITY)]
            return np.where(units.priority[numbers] == highest, -units.start[numbers], -np.inf)
        if criterion.combined is not Combined.HIGHEST or criterion.measures_plans:
            return None
        return self._prices.alone_at_least(criterion, numbers).astype(np.float64)

    def least_sum(self, criterion: Criterion) -> Floats:
        """[node] no victims that free enough cost less together."""
        node_units, certain = self._node_units, self._node_units.blocks & self._among
        price = self._prices.alone_at_least(criterion, node_units.units).astype(np.float64)
        shortage = self._shortage - (node_units.freed * certain).sum(axis=1)
        left = self._among & ~certain
        freed = node_units.freed * left
        cheapest = np.sort(np.where(left, price, np.inf), axis=0).cumsum(axis=0)
        fewest = np.minimum(fewest_evictions(shortage, freed), len(price))
        least = np.where(fewest > 0, cheapest[fewest - 1, np.arange(len(fewest))], 0.0)
        for lack, of_each in zip(shortage, freed, strict=True):
            least = np.maximum(least, least_to_cover(lack, of_each, price))
        # All prices are whole numbers. A hair is taken off, so that rounding errors lift none.
        found: Floats = np.ceil(least * (1 - 2**-48) - 1e-9) + (price * certain).sum(axis=0)
        return found


def least_to_cover(lack: Ints, freed: Ints, price: Floats) -> Floats:
    """[node] the least price of so much of one resource, if parts of units could go.

    freed, price  [slot, node]
    """
    if not (lack > 0).any():
        return np.zeros(len(lack))
    rate = np.divide(price, freed, out=np.full(price.shape, np.inf), where=freed > 0)
    order = np.argsort(rate, axis=0)
    freed, rate = np.take_along_axis(freed, order, axis=0), np.take_along_axis(rate, order, axis=0)
    before = freed.cumsum(axis=0) - freed
    part = np.clip(lack - before, 0, freed)
    least: Floats = (part * np.where(part > 0, rate, 0.0)).sum(axis=0)
    return least


def _roughly_within_budgets(potential: PotentialNodes, fewest: Ints) -> Ints:
    """[node] no more units than this can go without exceeding a budget, if ``fewest`` ([node]) go at least.

    No plan is within the budgets if the units are not enough whose budgets allow that they go alone.
    """
    node_units, left = potential.node_units, potential.left
    affordable = node_units.there & ~potential.shares.unaffordable()[node_units.units]  # [slot, node]
    within = affordable.sum(axis=0)
    has_room = (left + (node_units.freed * affordable).sum(axis=1) >= 0).all(axis=0)
    is_enough = has_room & ~(node_units.blocks & ~affordable).any(axis=0)
    at_most: Ints = np.where(is_enough, within, np.minimum(within, fewest - 1))
    return at_most


def fewest_if_all_were_largest(shortage: Ints, freed: Ints) -> Ints:
    """[node] how many units must be evicted at least, if each gave back as much as the largest there.

    shortage  [resource, node]        what is missing; zero or less where there is enough
    freed     [resource, slot, node]  what evicting the unit in that slot gives back
    """
    largest = np.maximum(np.maximum.reduce(freed, axis=1, initial=0), 1)
    # Quotients of integers take ten times as long. Those of floats may be too large by a rounding error, and
    # the next higher integer would be no bound, so they are made smaller by more than any such error.
    quotients: Floats = np.maximum.reduce(shortage / largest * (1 - 2**-50), axis=0, initial=0.0)
    return np.ceil(quotients).astype(np.int64)


def fewest_evictions(shortage: Ints, freed: Ints) -> Ints:
    """[node] how many units must be evicted at least before the demand fits.

    shortage  [resource, node]        what is missing; zero or less where there is enough
    freed     [resource, slot, node]  what evicting the unit in that slot gives back
    """
    # Largest first: no other order covers a shortage with fewer evictions. That is exact for each resource by
    # itself. One eviction may serve several resources, so the maximum over them is a bound, and their sum is
    # not.
    largest_first = -np.sort(-freed, axis=1)
    covered = np.cumsum(largest_first, axis=1)  # [resource, k, node]: freed by the first k + 1 evictions
    # After each of these evictions there is still too little: one more is needed, and one if there was at
    # first.
    needed = (covered < shortage[:, None]).sum(axis=1) + (shortage > 0)
    fewest: Ints = needed.max(axis=0, initial=0)
    return fewest


def lowest_ceiling(shortage: Ints, freed: Ints, priority: Ints) -> Floats:
    """[node] the lowest priority up to which all units together free enough; minus infinity if none must go.

    priority  [slot, node]  the higher slot has the lower priority, or the same; in empty slots, any
    """
    ceiling = np.full(shortage.shape[1], -np.inf)
    for slot in reversed(range(len(priority))):
        # Without the units in all higher slots there is still too little: this one must go as well.
        ceiling = np.where(np.maximum.reduce(shortage, axis=0, initial=0) > 0, priority[slot], ceiling)
        shortage = shortage - freed[:, slot]
    return ceiling
