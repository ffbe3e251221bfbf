"""Which units may be preempted? Rules, each of which may protect units; protected by one is protected."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reprieve.model.changes import Change
from reprieve.model.columns import Floats, Mask
from reprieve.model.objects import Pod
from reprieve.model.snapshot import NOWHERE
from reprieve.placement.demand import Demand
from reprieve.preemption.protection import Advice, ProtectedPods
from reprieve.preemption.units import Units

_USUAL_GRACE = 30.0  # seconds

# (namespace, priority as a victim) of a pod to how it would have been protected, if it can be
Advise = Callable[[str, int], Advice | None]


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The units that may be preempted, and when that changes with time alone."""

    allowed: Mask
    # [unit] from when on it may be preempted, if nothing else protects it; None: time does not matter
    until: Floats | None = None
    by: tuple[ProtectedPods, ...] = ()  # what protects them until then
    advise: Advise | None = None

    def held(self, now: float) -> Mask:
        """The units that nothing but time protects."""
        return np.zeros_like(self.allowed) if self.until is None else self.until > now

    @property
    def ended_by(self) -> frozenset[Change]:
        """The changes, besides time, that may end what protects units."""
        return frozenset[Change]().union(*(pods.ended_by for pods in self.by))


# Exposure asks with a demand that has a priority and no pods.
Rule = Callable[[Units, Demand, float], Verdict]


def protecting(units: Units, pods: ProtectedPods | None, now: float, advise: Advise | None = None) -> Verdict:
    """A unit is protected for as long as one of its pods is. None: the rule protects no pod."""
    if pods is None:
        return Verdict(np.ones(len(units.priority), np.bool_), advise=advise)
    until = units.latest(pods.until)
    return Verdict(until <= now, until, (pods,), advise)


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


TIMELESS: tuple[Rule, ...] = (not_itself, lower_priority, in_time)


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
    return Verdict(
        allowed & (until <= now), until, tuple(pods for verdict in verdicts for pods in verdict.by)
    )
