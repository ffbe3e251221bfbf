"""Which priority could preempt each running pod, now and later, and what protects the pod until then?

Only the rules count here: whether a demand needs the room is another question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Floats
from reprieve.model.scheduled_times import NEVER
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.eligibility import tolerating
from reprieve.preemption.policy import Policy
from reprieve.preemption.toleration import protectors, tolerated_ends, toleration_of
from reprieve.preemption.units import Units

HIGHEST_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Protection:
    """Until a moment, only a demand of a minimum priority may preempt the pod."""

    minimum: int
    until: float  # infinity: for as long as the pod runs, or until it is known when its time began
    by: tuple[
        str, ...
    ]  # the priority classes that say so: of the pod, of its group, or of other pods of its unit


@dataclass(frozen=True, slots=True)
class LeastPreemptor:
    """The lowest priority that may preempt the pod from a moment on; None: no priority is high enough."""

    since: float
    priority: int | None


@dataclass(frozen=True, slots=True)
class Exposure:
    pod: int  # row
    unit: str  # the unit that it belongs to
    priority: int  # of the unit
    protections: tuple[Protection, ...]  # the highest minimum first, each later than the one before

    def least_preemptors(self, now: float) -> tuple[LeastPreemptor, ...]:
        """The lowest priority that may preempt it now, and after each protection that ends."""
        ends = sorted({p.until for p in self.protections if now < p.until < NEVER})
        return tuple(LeastPreemptor(moment, self._lowest(moment)) for moment in (now, *ends))

    def _lowest(self, moment: float) -> int | None:
        in_force = (p.minimum for p in self.protections if p.until > moment)
        lowest = max(in_force, default=self.priority + 1)
        return lowest if lowest <= HIGHEST_PRIORITY else None


def exposure(view: Snapshot, policy: Policy, now: float) -> Iterator[Exposure]:
    """For each running pod, by the units and the rules of a policy."""
    units = policy.units(view)
    thresholds = _thresholds(units) if tolerating in policy.rules else ()
    found: dict[int, tuple[Protection, ...]] = {}
    for pod in np.flatnonzero(units.of_pod != NOWHERE).tolist():
        number = int(units.of_pod[pod])
        if number not in found:
            found[number] = tuple(_protections(units, number, thresholds, now))
        unit = units.unit(number)
        yield Exposure(pod, unit.name, unit.priority, found[number])


@dataclass(frozen=True, slots=True, eq=False)
class _Threshold:
    """A minimum that some class sets, and until when demands just below it have to wait."""

    minimum: int
    until: Floats  # [unit]


def _thresholds(units: Units) -> Sequence[_Threshold]:
    """The highest minimum first."""
    tolerations = map(toleration_of, units.view.priority_classes.values())
    minimums = sorted({t.minimum for t in tolerations if t.seconds}, reverse=True)
    ends = [(minimum, tolerated_ends(units.view, units.groups, minimum - 1)) for minimum in minimums]
    return [_Threshold(minimum, units.latest(end)) for minimum, end in ends if end is not None]


def _protections(
    units: Units, number: int, thresholds: Sequence[_Threshold], now: float
) -> Iterator[Protection]:
    """A lower minimum protects only for as long as a higher one does not."""
    covered = now
    for threshold in thresholds:
        until = float(threshold.until[number])
        if until > covered and threshold.minimum > units.priority[number] + 1:
            yield Protection(threshold.minimum, until, _by(units, number, threshold.minimum, until))
            covered = until


def _by(units: Units, number: int, minimum: int, until: float) -> tuple[str, ...]:
    pods = units.unit(number).pods
    found = [one for pod in pods for one in protectors(units.view, units.groups, pod, minimum - 1)]
    return tuple(sorted({name for name, end in found if end == until}))
