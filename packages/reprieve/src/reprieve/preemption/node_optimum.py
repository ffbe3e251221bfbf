"""The best plan for one pod: where there may be a better one than was found, all sets of units are tried.

Most nodes are ruled out by bounds in columns. On the others a search goes through the units there, and turns
back where what is chosen already costs too much. Where all are ruled out, that is a proof.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add, gt, sub

import numpy as np

from reprieve.model.columns import Ints, mask_of
from reprieve.placement.effort import Effort, Share
from reprieve.placement.place import Placement
from reprieve.preemption.criteria import OTHER_GANGS_BROKEN, Combined, Cost, Criterion
from reprieve.preemption.node_bounds import closely_bounded, may_cost_less
from reprieve.preemption.node_pruning import ByBounds, Costs, NodeSearch, lower_bounds
from reprieve.preemption.plan import Plan, Quality
from reprieve.preemption.potential_nodes import PotentialNodes
from reprieve.preemption.units import Unit

_AT_A_TIME = 256  # nodes that are bounded closely together
_STEPS_PER_UNIT = 4  # of the search on a node; so many are about as much work as one placement of a pod


def refined(nodes: NodeSearch, plans: list[Plan]) -> list[Plan]:
    """The plans with a better one in front, if there is one, and with what is known of the best."""
    question = nodes.question
    best = plans[0] if plans else None
    if best is None and not len(nodes.potential.node_units.nodes):
        return plans
    # Where there is no effort, one record stands for all demands.
    effort = question.demand.effort if question.demand.effort.units else Effort(0)
    before, share = effort.spent, effort.share()
    least: Costs | None = None  # of the nodes that may have a better plan
    for place, bound in _may_be_better(nodes, best):
        if best is not None and not best.cost.is_above(bound):
            continue
        known = nodes.potential.is_clear[nodes.potential.node_units.nodes[place]]
        found = _best_on(nodes.potential, place, best, share) if known and not share.is_spent else None
        if found is not None:
            best = found
        elif not known or share.is_spent:
            least = bound if least is None else min(least, bound)
    if best is None:
        return plans
    others = [plan for plan in plans if plan.domain != best.domain]
    # Within one domain of a topology, the plan may be on a node that was not looked at here.
    is_exact = not nodes.evictable.matter.any() and not question.demand.topology_key
    proved = is_exact and least is None
    at_least = tuple(best.cost) if proved else (least or ()) if is_exact else ()
    names = (criterion.name for criterion in question.criteria)
    spent = effort.spent - before
    quality = Quality(best.cost.named(), tuple(zip(names, at_least, strict=False)), proved, spent)
    return [replace(best, quality=quality), *others]


def _may_be_better(nodes: NodeSearch, best: Plan | None) -> Iterator[tuple[int, Costs]]:
    """Places of nodes, and bounds of the plans there, the lowest first; until no plan can be better."""
    question, potential = nodes.question, nodes.potential
    rank, size = question.view.nodes.rank[potential.node_units.nodes], len(potential.node_units.nodes)
    cost = tuple(best.cost) if best is not None else (math.inf,)
    places = nodes.by_rough_bounds.below(cost) if nodes.are_many else np.arange(size)
    for first in range(0, len(places), _AT_A_TIME):
        some = np.sort(places[first : first + _AT_A_TIME])
        here = potential.on(mask_of(some, size))
        part = closely_bounded(here)
        found = ByBounds.of(lower_bounds([part], question.criteria), rank[some])
        may = mask_of(found.below(cost), len(some))
        if best is not None and may.any():
            may[may] = may_cost_less(here.on(may), best.cost)
        if question.policy.breaks_no_budget:
            may &= part.fewest <= part.within_budgets
        left = found.among(may)
        yield from ((int(some[place]), left.bound(turn)) for turn, place in enumerate(left.places.tolist()))


def _best_on(potential: PotentialNodes, place: int, limit: Plan | None, share: Share) -> Plan | None:
    """The best plan there that costs less than the limit."""
    node_units, question, evictable = potential.node_units, potential.question, potential.evictable
    slots = np.flatnonzero(node_units.there[:, place])
    search = _Choice(
        potential,
        node_units.units[slots, place],
        [tuple(freed) for freed in node_units.freed[:, slots, place].T.tolist()],
        node_units.blocks[slots, place].tolist(),
        share,
        limit.cost if limit is not None else None,
    )
    search.run(tuple((-potential.left[:, place]).tolist()))
    if search.best is None:
        return None
    victims, cost, broken = search.best
    row, gone = int(node_units.nodes[place]), {unit.number for unit in victims}
    listed = evictable.units.listed(search.numbers)
    return Plan(
        domain=question.view.nodes.names[row],
        placement=Placement((row,)),
        victims=tuple(unit for unit in listed if unit.number in gone),
        spared=tuple(unit for unit in listed if unit.number not in gone),
        broken=broken,
        pods=question.demand.pods,
        gangs_broken=evictable.gangs.broken(victims) if evictable.gangs is not None else 0,
        cost=cost,
    )


@dataclass(slots=False, eq=False)
class _Choice:
    """Goes through sets of the units on one node, the units with the most room first."""

    potential: PotentialNodes
    numbers: Ints  # [slot] of the units; slots that are empty are left out
    freed: list[tuple[int, ...]]  # [slot][requested resource] plain numbers: sets are tried one by one
    blocks: list[bool]  # [slot] it has to go in any case
    share: Share
    limit: Cost | None
    best: tuple[tuple[Unit, ...], Cost, int] | None = None
    _steps: int = 0

    def run(self, lack: tuple[int, ...]) -> None:
        blocking = [i for i, blocks in enumerate(self.blocks) if blocks]
        others = [i for i, blocks in enumerate(self.blocks) if not blocks and any(self.freed[i])]
        for i in blocking:
            lack = _less(lack, self.freed[i])
        scale = [max(1, amount) for amount in lack]
        self._order = sorted(others, key=lambda i: -max(map(_ratio, self.freed[i], scale), default=0))
        # [turn][resource] the most that one of the units from this turn on gives back, and all of them.
        self._most: list[tuple[int, ...]] = [(0,) * len(lack)]
        self._all: list[tuple[int, ...]] = [(0,) * len(lack)]
        for i in reversed(self._order):
            self._most.append(tuple(map(max, self._most[-1], self.freed[i])))
            self._all.append(tuple(map(add, self._all[-1], self.freed[i])))
        self._most.reverse()
        self._all.reverse()
        self._choose(0, lack, blocking)

    @cached_property
    def _units(self) -> list[Unit]:
        return self.potential.evictable.units.made(self.numbers)

    def _choose(self, turn: int, lack: tuple[int, ...], chosen: list[int]) -> None:
        if not self._may_go_on():
            return
        if max(lack, default=0) <= 0:
            self._found(chosen)
            return
        if turn == len(self._order) or not self._is_promising(turn, lack, chosen):
            return
        i = self._order[turn]
        self._choose(turn + 1, _less(lack, self.freed[i]), [*chosen, i])
        self._choose(turn + 1, lack, chosen)

    def _may_go_on(self) -> bool:
        self._steps += 1
        if self._steps % _STEPS_PER_UNIT == 1:
            self.share.take()
        return not self.share.is_spent

    def _found(self, chosen: list[int]) -> None:
        question, evictable = self.potential.question, self.potential.evictable
        victims = tuple(self._units[i] for i in chosen)
        broken = self._broken(chosen)
        if broken and question.policy.breaks_no_budget:
            return
        cost = evictable.prices.of(victims, broken)
        if self.limit is None or cost < self.limit:
            self.limit, self.best = cost, (victims, cost, broken)

    def _is_promising(self, turn: int, lack: tuple[int, ...], chosen: list[int]) -> bool:
        """Whether a plan with these victims and as many more as are needed at least may cost less."""
        if any(map(gt, lack, self._all[turn])):
            return False
        if self.limit is None:
            return True
        more = max(-(-need // most) for need, most in zip(lack, self._most[turn], strict=True) if need > 0)
        for place, criterion in enumerate(self.potential.question.criteria):
            least = self._at_least(criterion, chosen, turn, more)
            if least != self.limit[place]:
                return bool(least < self.limit[place])
        return False

    def _at_least(self, criterion: Criterion, chosen: list[int], turn: int, more: int) -> float:
        """By this criterion, of a plan with these victims and so many more of those from a turn on."""
        alone = self._alone(criterion)
        if criterion is OTHER_GANGS_BROKEN:
            return 0
        if alone is None:  # with further victims, no fewer pods are beyond their budgets
            return criterion.budgets * self._broken(chosen) if criterion.budgets else -math.inf
        if criterion.combined is Combined.HIGHEST:
            return max([alone[i] for i in chosen], default=-math.inf)
        rest = min([alone[i] for i in self._order[turn:]], default=0)
        return sum([alone[i] for i in chosen]) + more * rest

    def _broken(self, chosen: list[int]) -> int:
        """How many pods go beyond their budgets."""
        charged: dict[int, int] = {}
        for i in chosen:
            for account, pods in self._charges[i]:
                charged[account] = charged.get(account, 0) + pods
        allowed = self.potential.evictable.accounts.allowed
        return sum([max(0, pods - allowed[account]) for account, pods in charged.items()])

    @cached_property
    def _charges(self) -> list[list[tuple[int, int]]]:
        """[slot] the budgets that its unit is charged to, and with how many pods."""
        shares = self.potential.shares
        firsts, lasts = (np.searchsorted(shares.unit, self.numbers, side) for side in ("left", "right"))
        return [
            [*zip(shares.account[first:last].tolist(), shares.pods[first:last].tolist(), strict=True)]
            for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
        ]

    def _alone(self, criterion: Criterion) -> list[float] | None:
        if criterion.of_units is None:
            return None
        if criterion.name not in self._columns:
            self._columns[criterion.name] = self.potential.evictable.prices.alone(
                criterion, self.numbers
            ).tolist()
        return self._columns[criterion.name]

    @cached_property
    def _columns(self) -> dict[str, list[float]]:
        return {}


def _less(lack: tuple[int, ...], freed: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(sub, lack, freed))


def _ratio(amount: int, scale: int) -> float:
    return amount / scale
