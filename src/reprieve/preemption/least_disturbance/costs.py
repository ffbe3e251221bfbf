"""What does the eviction of some units cost? One number for each criterion, and an order of the criteria.

All of them but the highest priority are sums: over units, over budgets that are exceeded, and over gangs that
are left with too few pods. That is what lets a solver bound them. How victims are found is not known here.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.budgets import Accounts, Joint
from reprieve.preemption.gangs import complete_gangs
from reprieve.preemption.units import Unit, UnitKind, Units


class Disturbance(StrEnum):
    """By what plans are compared."""

    BUDGETS_BROKEN = "BudgetsBroken"
    HIGHEST_PRIORITY = "HighestPriority"
    DISRUPTION_COST = "DisruptionCost"
    PODS_STOPPED = "PodsStopped"
    WORKLOADS_ENDED = "WorkloadsEnded"
    CASCADE = "Cascade"
    LOST_WORK = "LostWork"
    PODS = "Pods"


DEFAULT_ORDER = (
    Disturbance.BUDGETS_BROKEN,
    Disturbance.HIGHEST_PRIORITY,
    Disturbance.DISRUPTION_COST,
    Disturbance.PODS_STOPPED,
    Disturbance.WORKLOADS_ENDED,
    Disturbance.CASCADE,
    Disturbance.LOST_WORK,
)

Cost = tuple[float, ...]  # one number for each criterion, in their order; the smallest wins


@dataclass(frozen=True, slots=True, eq=False)
class Gangs:
    """Gangs of which single pods may be evicted, and that have as many pods as they need."""

    of_unit: dict[int, tuple[tuple[int, int], ...]]  # by unit: gangs, and how many of its pods are in each
    running: tuple[int, ...]
    slack: tuple[int, ...]  # how many pods each can lose and still have enough

    def starved(self, victims: Iterable[Unit]) -> Iterable[tuple[int, int]]:
        """The gangs that are left with too few pods, and how many pods of each run on for nothing."""
        lost = [0] * len(self.running)
        for unit in victims:
            for gang, pods in self.of_unit.get(unit.number, ()):
                lost[gang] += pods
        return ((g, self.running[g] - n) for g, n in enumerate(lost) if n > self.slack[g])


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    order: tuple[Disturbance, ...]
    accounts: Accounts
    gangs: Gangs
    ended: Ints  # [unit] whether its eviction ends a workload
    cascade: Ints  # [unit]
    lost_work: Ints  # [unit]

    def of(self, victims: Sequence[Unit]) -> Cost:
        starved = list(self.gangs.starved(victims))
        pods = sum(len(unit.pods) for unit in victims)
        numbers = [unit.number for unit in victims]
        measured: dict[Disturbance, float] = {
            Disturbance.BUDGETS_BROKEN: Joint(self.accounts, ()).broken(victims),
            Disturbance.HIGHEST_PRIORITY: max((unit.priority for unit in victims), default=-math.inf),
            Disturbance.DISRUPTION_COST: sum(unit.cheaper for unit in victims),
            Disturbance.PODS_STOPPED: pods + sum(idle for _, idle in starved),
            Disturbance.WORKLOADS_ENDED: int(self.ended[numbers].sum()) + len(starved),
            Disturbance.CASCADE: int(self.cascade[numbers].sum()),
            Disturbance.LOST_WORK: int(self.lost_work[numbers].sum()),
            Disturbance.PODS: pods,
        }
        return tuple(measured[criterion] for criterion in self.order)

    def prices(self, criterion: Disturbance, units: Units) -> Ints:
        """[unit] what its eviction adds to a sum, apart from budgets and gangs."""
        match criterion:
            case Disturbance.PODS | Disturbance.PODS_STOPPED:
                return units.size
            case Disturbance.DISRUPTION_COST:
                return units.cheaper
            case Disturbance.WORKLOADS_ENDED:
                return self.ended
            case Disturbance.CASCADE:
                return self.cascade
            case Disturbance.LOST_WORK:
                return self.lost_work
            case Disturbance.BUDGETS_BROKEN | Disturbance.HIGHEST_PRIORITY:
                return np.zeros(len(units.priority), np.int64)


def lasting(order: Sequence[Disturbance], cost: Cost) -> Cost:
    """The criteria before lost work, which grows with time; those after it decide only where it ties."""
    return cost[: order.index(Disturbance.LOST_WORK)] if Disturbance.LOST_WORK in order else cost


def priority_leads(order: Sequence[Disturbance]) -> bool:
    """Whether nothing but budgets comes before the priority, as for ``PriorityCeiling``."""
    if Disturbance.HIGHEST_PRIORITY not in order:
        return False
    return {*order[: order.index(Disturbance.HIGHEST_PRIORITY)]} <= {Disturbance.BUDGETS_BROKEN}


def ceiling_of(order: Sequence[Disturbance], accounts: Accounts, victims: Sequence[Unit]) -> float:
    """No plan with a victim above this priority is better than one that evicts these.

    For if it costs nothing by the criteria that come before the priority, none is better by them.
    """
    breaks = order[0] is Disturbance.BUDGETS_BROKEN and Joint(accounts, ()).broken(victims)
    if breaks or not priority_leads(order):
        return math.inf
    return max((unit.priority for unit in victims), default=-math.inf)


def costs_of(units: Units, wanted: Mask, accounts: Accounts, order: tuple[Disturbance, ...]) -> Costs:
    """``wanted``: the units whose costs may be asked."""
    none = np.zeros(len(units.priority), np.int64)
    if units.members is None:  # then it is the same for all plans, and need not be told if others are
        others = tuple(criterion for criterion in order if criterion is not Disturbance.DISRUPTION_COST)
        order = others or order
    return Costs(order, accounts, _gangs(units, wanted), _ended(units, wanted), none, none)


def _ended(units: Units, wanted: Mask) -> Ints:
    """Groups that are evicted whole, and pods that no controller replaces."""
    ended: Ints = (units.kind != UnitKind.POD).astype(np.int64)
    compiled, pods = units.view.pods.compiled, len(units.view.pods)
    ended[:pods] = 0  # the kind of a pod may say that it ranks as a group
    rows = np.flatnonzero(wanted[:pods])
    ended[rows] = [not compiled[row].shape.owner_uid for row in rows.tolist()]
    return ended


def _gangs(units: Units, wanted: Mask) -> Gangs:
    """Of wanted pods that are evicted one by one: of a whole group nothing is left that could need more."""
    view, pods = units.view, len(units.view.pods)
    gangs = complete_gangs(view, wanted[:pods] & (units.of_pod == np.arange(pods)))
    members = (view.where != NOWHERE) & (gangs.of_pod != NOWHERE) & (units.of_pod != NOWHERE)
    width = max(1, len(gangs.running))
    pairs, shares = np.unique(units.of_pod[members] * width + gangs.of_pod[members], return_counts=True)
    of_unit: dict[int, list[tuple[int, int]]] = {}
    for pair, share in zip(pairs.tolist(), shares.tolist(), strict=True):
        of_unit.setdefault(pair // width, []).append((pair % width, share))
    return Gangs({unit: tuple(found) for unit, found in of_unit.items()}, gangs.running, gangs.surplus)
