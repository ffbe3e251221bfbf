"""Who could take each running pod, now and later, and what protects it until then.

Speaks of rules only: whether somebody comes who needs the room is another question.
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
    """Until a moment, only a minimum priority will do."""

    minimum: int
    until: float  # infinity: for as long as the pod runs, or until it is known when its time began
    by: tuple[str, ...]  # the priority classes that say so; of the pod, of its group, or of who goes along


@dataclass(frozen=True, slots=True)
class Taker:
    """From a moment on, whoever has this priority could take the pod; None: nobody can have so much."""

    since: float
    priority: int | None


@dataclass(frozen=True, slots=True)
class Exposure:
    pod: int  # row
    unit: str  # what it goes with
    priority: int  # of that
    protections: tuple[Protection, ...]  # the highest minimum first, each later than the one before

    def takers(self, now: float) -> tuple[Taker, ...]:
        """Who could take it now, and who from when on."""
        ends = sorted({p.until for p in self.protections if now < p.until < NEVER})
        return tuple(Taker(moment, self._lowest(moment)) for moment in (now, *ends))

    def _lowest(self, moment: float) -> int | None:
        in_force = (p.minimum for p in self.protections if p.until > moment)
        lowest = max(in_force, default=self.priority + 1)
        return lowest if lowest <= HIGHEST_PRIORITY else None


def exposure(view: Snapshot, policy: Policy, now: float) -> Iterator[Exposure]:
    """For each pod that runs, as a policy has it."""
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
    """Everybody just below a minimum that some class sets, and until when he has to wait."""

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
