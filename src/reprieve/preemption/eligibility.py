"""Which units may be preempted? Rules, each of which may protect units; protected by one is protected."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats, Mask
from reprieve.model.objects import Pod
from reprieve.model.snapshot import NOWHERE
from reprieve.placement.demand import Demand
from reprieve.preemption.eviction_limit import EvictionLimit, limited_ends
from reprieve.preemption.toleration import tolerated_ends
from reprieve.preemption.units import Units

_USUAL_GRACE = 30.0  # seconds


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The units that may be preempted, and when that changes with time alone."""

    allowed: Mask
    # [unit] from when on it may be preempted, if nothing else protects it; None: time does not matter
    until: Floats | None = None

    def held(self, now: float) -> Mask:
        """The units that nothing but time protects."""
        return np.zeros_like(self.allowed) if self.until is None else self.until > now


Rule = Callable[[Units, Demand, float], Verdict]


def lower_priority(units: Units, demand: Demand, _: float) -> Verdict:
    """Only units of strictly lower priority may be preempted."""
    return Verdict(units.priority < demand.priority)


def not_itself(units: Units, demand: Demand, _: float) -> Verdict:
    """A demand makes no room by evicting its own pods, nor its own group."""
    groups, pods = units.view.pods.groups.codes, list(demand.pods)
    own = np.zeros(len(groups), np.bool_)
    for group in {*groups[pods].tolist()} - {0}:
        own |= groups == group
    own[pods] = True
    return Verdict((units.size > 0) & ~units.with_any(own))


def in_time(units: Units, demand: Demand, now: float) -> Verdict:
    """A unit that may take longer to terminate than the demand can wait makes no room for it."""
    if demand.until is None:
        return Verdict(np.ones(len(units.priority), np.bool_))
    slow = np.zeros(len(units.view.pods), np.bool_)
    for row in np.flatnonzero(_where_it_asks(units, demand)).tolist():
        slow[row] = now + grace_of(units.view.pods.compiled[row].pod) > demand.until
    return Verdict(~units.with_any(slow))


def grace_of(pod: Pod) -> float:
    """How many seconds a pod may take to terminate."""
    seconds = pod.spec.termination_grace_period_seconds
    return _USUAL_GRACE if seconds is None else seconds


def _where_it_asks(units: Units, demand: Demand) -> Mask:
    """The demand need not wait for pods of a group that are evicted on other nodes."""
    there: Mask = units.of_pod != NOWHERE
    return there if demand.allowed is None else there & demand.allowed[units.view.where]


def tolerating(units: Units, demand: Demand, now: float) -> Verdict:
    """A unit is protected for as long as one of its pods tolerates preemption by the demand."""
    ends = tolerated_ends(units.view, units.groups, demand.priority)
    if ends is None:
        return Verdict(np.ones(len(units.priority), np.bool_))
    until = units.latest(ends)
    return Verdict(until <= now, until)


@dataclass(frozen=True, slots=True)
class WithinLimit:
    """A rule: a unit is protected while one of its pods belongs to a workload that was evicted too often.

    A plan is judged before it is made: one plan may evict several pods of a workload that is not protected.
    """

    limit: EvictionLimit

    def __call__(self, units: Units, demand: Demand, now: float) -> Verdict:
        ends = None
        if demand.priority < self.limit.below_priority:
            ends = limited_ends(units.view, self.limit, now)
        if ends is None:
            return Verdict(np.ones(len(units.priority), np.bool_))
        until = units.latest(ends)
        return Verdict(until <= now, until)


TIMELESS: tuple[Rule, ...] = (not_itself, lower_priority, in_time)
RULES: tuple[Rule, ...] = (*TIMELESS, tolerating)


def eligible(units: Units, demand: Demand, rules: tuple[Rule, ...], now: float) -> Verdict:
    verdicts = [rule(units, demand, now) for rule in rules]
    allowed = np.ones(len(units.priority), np.bool_)
    for verdict in verdicts:
        if verdict.until is None:
            allowed &= verdict.allowed
    clocks = [verdict.until for verdict in verdicts if verdict.until is not None]
    if not clocks:
        return Verdict(allowed)
    until = np.where(allowed, np.maximum.reduce(clocks), -np.inf)
    return Verdict(allowed & (until <= now), until)
