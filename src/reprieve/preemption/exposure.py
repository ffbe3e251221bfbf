"""Which priority could preempt each running pod, now and later, and what protects the pod until then?

Only the rules count here: whether a demand needs the room is another question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats
from reprieve.model.scheduled_times import NEVER
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.workloads import workload_of
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.eligibility import tolerating
from reprieve.preemption.eviction_limit import limited_ends
from reprieve.preemption.policy import Policy
from reprieve.preemption.preemption_priority import ANNOTATION
from reprieve.preemption.toleration import protectors, tolerated_ends, toleration_of
from reprieve.preemption.units import Unit, Units

HIGHEST_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Protection:
    """Until a moment, only a demand of a minimum priority may preempt the pod."""

    minimum: int
    until: float  # infinity: for as long as the pod runs, or until it is known when its time began
    by: tuple[
        str, ...
    ]  # the priority classes that say so: of the pod, of its group, or of other pods of its unit
    limited: str = ""  # or else the workload that was evicted too often, as in Deployment/team-a/web


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
    priority: int  # of the unit, as a victim
    protections: tuple[Protection, ...]  # the highest minimum first, each later than the one before
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
        in_force = (p.minimum for p in self.protections if p.until > moment)
        lowest = max(in_force, default=self.priority + 1)
        return lowest if lowest <= HIGHEST_PRIORITY else None


def exposure(view: Snapshot, policy: Policy, now: float) -> Iterator[Exposure]:
    """For each running pod, by the units and the rules of a policy."""
    units = policy.units(view)
    thresholds = [
        *(_thresholds(units) if tolerating in policy.rules else ()),
        *_limit_threshold(units, policy, now),
    ]
    thresholds.sort(key=lambda threshold: -threshold.minimum)
    paying = policy.accounts(view)
    for unit in units.listed(np.unique(units.of_pod[units.of_pod != NOWHERE])):
        protections = tuple(_protections(units, unit, thresholds, now))
        charges = tuple(_charges(paying, unit))
        held = policy.breaks_no_budget and any(charge.is_exceeded for charge in charges)
        named = _named_class(view, unit) if unit.scheduling is not None else ""
        for pod in unit.pods:
            yield Exposure(
                pod=pod,
                unit=unit.name,
                unit_pods=len(unit.pods),
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


def _charges(paying: Accounts, unit: Unit) -> Iterator[BudgetCharge]:
    for i, pods in sorted(paying.charged([unit]).items()):
        budget = paying.budgets[i]
        yield BudgetCharge(budget.namespace, budget.name, budget.allowed, pods)


@dataclass(frozen=True, slots=True, eq=False)
class _Threshold:
    """A minimum that some class sets, and until when demands just below it have to wait."""

    minimum: int
    until: Floats  # [unit]
    is_limit: bool = False  # the eviction limit sets it, and no class


def _thresholds(units: Units) -> Sequence[_Threshold]:
    """The highest minimum first."""
    tolerations = map(toleration_of, units.view.priority_classes.values())
    minimums = sorted({t.minimum for t in tolerations if t.seconds}, reverse=True)
    ends = [(minimum, tolerated_ends(units.view, units.groups, minimum - 1)) for minimum in minimums]
    return [_Threshold(minimum, units.latest(end)) for minimum, end in ends if end is not None]


def _limit_threshold(units: Units, policy: Policy, now: float) -> Iterator[_Threshold]:
    limit = policy.eviction_limit
    ends = limited_ends(units.view, limit, now) if limit is not None else None
    if limit is not None and ends is not None:
        yield _Threshold(limit.below_priority, units.latest(ends), is_limit=True)


def _protections(
    units: Units, unit: Unit, thresholds: Sequence[_Threshold], now: float
) -> Iterator[Protection]:
    """A lower minimum protects only for as long as a higher one does not."""
    covered = now
    for threshold in thresholds:
        until = float(threshold.until[unit.number])
        if until > covered and threshold.minimum > unit.priority + 1:
            if threshold.is_limit:
                pod = units.view.pods.compiled[unit.pods[0]].pod
                workload = workload_of(pod, units.view.groups, units.view.owners)
                yield Protection(threshold.minimum, until, (), workload)
            else:
                yield Protection(threshold.minimum, until, _by(units, unit, threshold.minimum, until))
            covered = until


def _by(units: Units, unit: Unit, minimum: int, until: float) -> tuple[str, ...]:
    found = [one for pod in unit.pods for one in protectors(units.view, units.groups, pod, minimum - 1)]
    return tuple(sorted({name for name, end in found if end == until}))
