"""Which units may be preempted? Rules, each of which may protect units; protected by one is protected.

A rule protects pods with a column: until when each may not be preempted. Its words are asked for only when
something is told, about few pods.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.conditions import LONG_AGO, NEVER
from reprieve.model.events import Change
from reprieve.model.formatting import clock_time, counted
from reprieve.model.objects import Pod
from reprieve.model.snapshot import NOWHERE
from reprieve.placement.demand import Demand
from reprieve.preemption.units import Units

NOT_PROTECTED = LONG_AGO
HIGHEST_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Protection:
    """What protects a pod: the reason, until when, from which priority on it does not, and what ends then.

    ``pods`` and ``several`` must not name objects of a namespace: owners of other namespaces read them.
    """

    code: str  # for programs: EvictionLimit
    by: tuple[str, ...]  # names of what protects: a priority class, a workload as Deployment/team-a/web
    from_priority: int  # demands of this priority or more need not wait
    until: float  # infinity: for as long as the pod runs, or until it is known when its time began
    reason: str  # "priority class low tolerates preemption"
    pods: str  # what follows "2 pods": "of class low"
    ends: str  # what ends at that moment: "a toleration of class low"
    several: str = ""  # "workloads that …" joins protections: "2 pods of 2 workloads that …"
    verbs: tuple[str, str] = ("is protected from", "are protected from")  # before "preemption by priority 9"
    source: str = ""  # the key of the configuration that asks for it: evictionLimit

    def sentence(self, now: float) -> str:
        far = self.from_priority > HIGHEST_PRIORITY
        demands = "no demand may" if far else f"demands of a priority below {self.from_priority} may not"
        until = "while it runs" if self.until == NEVER else f"until {clock_time(self.until, now)}"
        source = f" ({self.source})" if self.source else ""
        return f"{self.reason[0].upper()}{self.reason[1:]}: {demands} preempt it {until}{source}."


class Advice(NamedTuple):
    """How a pod would have been protected."""

    code: str
    text: str
    how: str


@dataclass(frozen=True, slots=True, eq=False)
class ProtectedPods:
    """The pods that a rule protects from a demand."""

    until: Floats  # [pod] when the rule no longer protects it; NOT_PROTECTED: it does not
    told: Callable[[int], Protection]  # what protects this pod (row), of those that last longest
    # Codes of these pods (rows): those with equal codes are protected by the same, and one of them is asked
    # about. None: each is.
    alike: Callable[[Ints], Ints] | None = None
    ended_by: frozenset[Change] = frozenset()  # the changes, besides time, that may end it

    def told_of(self, rows: Ints) -> Iterator["Told"]:
        """Count protected pods (rows) by what protects them; what ends first comes first."""
        codes = rows if self.alike is None else self.alike(rows)  # [as rows]
        # [code] the place of one such pod, and how many there are; ``which``: the code's place, for each pod.
        _, one, which, pods = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        first = np.full(len(one), NEVER)
        np.minimum.at(first, which, self.until[rows])
        found: dict[tuple[str, ...], Told] = {}
        for row, count, end in zip(rows[one].tolist(), pods.tolist(), first.tolist(), strict=True):
            protection = self.told(row)
            known = found.get(protection.by, Told(protection, 0, NEVER))
            found[protection.by] = Told(known.protection, known.pods + count, min(known.first, end))
        yield from sorted(found.values(), key=lambda told: (told.first, told.protection.by))


class Told(NamedTuple):
    """How many pods something protects, and when it no longer protects the first of them."""

    protection: Protection
    pods: int
    first: float

    @property
    def text(self) -> str:
        return f"{counted(self.pods, 'pod')} {self.protection.pods}"


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
        """[unit] whether nothing but time protects it."""
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
    """[pod] whether it runs where the demand may go.

    The demand need not wait for pods of a group that are evicted on other nodes.
    """
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
