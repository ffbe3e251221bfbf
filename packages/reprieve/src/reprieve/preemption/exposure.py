"""Which priority could preempt each running pod, now and later, and what protects the pod until then?

Only the rules count here: whether a demand needs the room is another question.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from reprieve.model.conditions import NEVER
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Demand
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.eligibility import HIGHEST_PRIORITY, Protection, Verdict
from reprieve.preemption.gangs import group_needs
from reprieve.preemption.policy import Policy
from reprieve.preemption.preemption_priority import ANNOTATION
from reprieve.preemption.units import Unit, Units

# What each rule that protects pods says to a demand of this priority.
_Asked = Callable[[int], Mapping[int, Verdict]]


@dataclass(frozen=True, slots=True)
class LeastPreemptor:
    """The lowest priority that may preempt the pod from a moment on; None: no priority is high enough."""

    since: float
    priority: int | None


@dataclass(frozen=True, slots=True)
class BudgetCharge:
    """What the eviction of the pod's unit would cost a budget."""

    namespace: str
    name: str
    allowed: int  # disruptions
    charged: int  # pods of the unit that it selects

    @property
    def is_exceeded(self) -> bool:
        return self.charged > max(0, self.allowed)


@dataclass(frozen=True, slots=True)
class Exposure:
    pod: int  # row
    unit: str  # the unit that it belongs to
    unit_pods: int  # how many pods are evicted together
    pods_stopped: int  # these, and members that run on for nothing because their group has too few left
    priority: int  # of the unit, as a victim
    protections: tuple[Protection, ...]  # the highest priority first, each later than the one before
    budgets: tuple[BudgetCharge, ...] = ()  # that select pods of the unit
    held_by_budget: bool = False  # the policy exceeds no budget, and this eviction would exceed one
    own_priority: int | None = None  # with which it was scheduled, where that is another
    named_class: str = ""  # that its group names for preemption, and that makes the difference

    def least_preemptors(self, now: float) -> tuple[LeastPreemptor, ...]:
        """The lowest priority that may preempt it now, and after each protection that ends."""
        if self.held_by_budget:  # until its status changes, which no clock tells
            return (LeastPreemptor(now, None),)
        ends = sorted({p.until for p in self.protections if now < p.until < NEVER})
        return tuple(LeastPreemptor(moment, self._lowest(moment)) for moment in (now, *ends))

    def _lowest(self, moment: float) -> int | None:
        in_force = (p.from_priority for p in self.protections if p.until > moment)
        lowest = max(in_force, default=self.priority + 1)
        return lowest if lowest <= HIGHEST_PRIORITY else None


def exposure(
    view: Snapshot, policy: Policy, now: float, shown: Collection[int] | None = None
) -> Iterator[Exposure]:
    """The exposure of each running pod, or of these (rows), by the units and the rules of a policy."""
    units = policy.units(view)
    asked = _asked(units, policy, now)
    accounts = policy.accounts(view)
    needs = group_needs(view, units, units.of_pod != NOWHERE)
    numbers = units.of_pod if shown is None else units.of_pod[[*shown]]
    for unit in units.listed(np.unique(numbers[numbers != NOWHERE])):
        protections = tuple(_protections(unit, asked, now))
        charges = tuple(_charges(accounts, unit))
        held = policy.breaks_no_budget and any(charge.is_exceeded for charge in charges)
        named = _named_class(view, unit) if unit.scheduling is not None else ""
        lost = needs.lost([unit])
        stopped = len(unit.pods) + needs.idle(needs.broken(lost), lost)
        for pod in unit.pods:
            if shown is not None and pod not in shown:
                continue
            yield Exposure(
                pod=pod,
                unit=unit.name,
                unit_pods=len(unit.pods),
                pods_stopped=stopped,
                priority=unit.priority,
                protections=protections,
                budgets=charges,
                held_by_budget=held,
                own_priority=unit.scheduling,
                named_class=named,
            )


def _named_class(view: Snapshot, unit: Unit) -> str:
    around = view.groups.root(view.pods.groups[unit.pods[0]])
    return "" if around is None else around.metadata.annotations.get(ANNOTATION, "")


def _charges(accounts: Accounts, unit: Unit) -> Iterator[BudgetCharge]:
    for i, pods in sorted(accounts.charged([unit]).items()):
        budget = accounts.budgets[i]
        yield BudgetCharge(budget.namespace, budget.name, budget.allowed, pods)


def _asked(units: Units, policy: Policy, now: float) -> _Asked:
    """The units have few priorities, and the rules few of their own."""

    @cache
    def asked(priority: int) -> Mapping[int, Verdict]:
        demand = Demand((), (), needed=0, priority=priority)
        verdicts = enumerate(rule(units, demand, now) for rule in policy.rules)
        return {number: verdict for number, verdict in verdicts if verdict.by}

    return asked


def _protections(unit: Unit, asked: _Asked, now: float) -> Iterator[Protection]:
    """A lower priority is held back only for as long as a higher one is not."""
    found = [one for number in asked(unit.priority + 1) for one in _by_rule(number, unit, asked, now)]
    covered = now
    for one in sorted(found, key=lambda one: -one.from_priority):
        if one.until > covered:
            yield one
            covered = one.until


def _by_rule(number: int, unit: Unit, asked: _Asked, now: float) -> Iterator[Protection]:
    """What protects the unit from the lowest priority above its own, then from the lowest that does not, …"""
    priority, following = unit.priority, unit.priority + 1
    while priority < following <= HIGHEST_PRIORITY:
        priority = following
        verdict = asked(priority).get(number)
        if verdict is None or verdict.until is None or verdict.until[unit.number] <= now:
            return
        one = _longest(unit, verdict, float(verdict.until[unit.number]))
        yield one
        following = one.from_priority


def _longest(unit: Unit, verdict: Verdict, until: float) -> Protection:
    """What protects the unit longest; if several do, the one that holds back the highest priorities."""
    (pods,) = verdict.by
    if len(unit.pods) == 1:  # as nearly all are
        return pods.told(unit.pods[0])
    rows = np.array(unit.pods, np.int64)
    told = [one.protection for one in pods.told_of(rows[pods.until[rows] == until])]
    highest = max(one.from_priority for one in told)
    told = [one for one in told if one.from_priority == highest]
    names = tuple(sorted({name for one in told for name in one.by}))
    return replace(told[0], by=names, until=until)
