"""What becomes of pods that want more where they run.

That is told from what goes in and comes out of the scheduler. Metrics are not known here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from reprieve.model.effects import Target
from reprieve.model.events import Event, Gone, Seen
from reprieve.model.footprint import footprint
from reprieve.model.objects import Pod, ref_of
from reprieve.model.resizing import INFEASIBLE, is_deferred, resize_reason
from reprieve.model.resources import Problems
from reprieve.scheduler.decision import Decision, Growth, Outcome


class End(StrEnum):
    GRANTED = "granted"
    WITHDRAWN = "withdrawn"  # whoever asked for it asks for less, or for nothing
    INFEASIBLE = "infeasible"  # its node can never grant it
    GONE = "gone"  # the pod is


@dataclass(frozen=True, slots=True)
class ResizeEnded:
    end: End
    seconds: float  # since it was first looked at
    evicted: int  # pods that had to go for it


@dataclass(frozen=True, slots=True)
class _Asked:
    since: float
    growth: Growth
    evicted: int = 0


@dataclass(slots=True)
class Resized:
    _asked: dict[Target, _Asked] = field(default_factory=dict)

    def decided(self, decision: Decision, growth: Growth, now: float) -> None:
        asked = self._asked.get(decision.demand, _Asked(now, growth))
        victims = decision.preemption.pods if decision.preemption is not None else 0
        if decision.outcome is Outcome.PREEMPTS:
            asked = replace(asked, evicted=asked.evicted + victims)
        self._asked[decision.demand] = replace(asked, growth=growth)

    def observed(self, events: Sequence[Event], now: float) -> Iterator[ResizeEnded]:
        for event in events if self._asked else ():
            match event:
                case Gone(target):
                    yield from self._end(target, End.GONE, now)
                case Seen(Pod() as pod):
                    target = Target("Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
                    if target in self._asked and (end := _end(pod, self._asked[target].growth)) is not None:
                        yield from self._end(target, end, now)

    def _end(self, target: Target, end: End, now: float) -> Iterator[ResizeEnded]:
        asked = self._asked.pop(target, None)
        if asked is not None:
            yield ResizeEnded(end, now - asked.since, asked.evicted)


def _end(pod: Pod, growth: Growth) -> End | None:
    """None while the pod still waits for it."""
    if pod.metadata.deletion_timestamp is not None:
        return End.GONE
    if is_deferred(pod):
        return None
    if resize_reason(pod) == INFEASIBLE:
        return End.INFEASIBLE
    held = footprint(pod, Problems(ref_of(pod))).held
    granted = all(held.get(name, 0) >= wants for name, _, wants in growth.resources)
    return End.GRANTED if granted else End.WITHDRAWN
