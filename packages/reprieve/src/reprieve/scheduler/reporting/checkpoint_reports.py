"""Which published checkpoints cannot be right, and which of them were reported already?

A value that is ignored is reported once, on the object that has it. What it means is not known here.
"""

from reprieve.model.annotations import CHECKPOINT
from reprieve.model.conditions import run_started_at
from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PodGroup
from reprieve.model.pods import start_of
from reprieve.preemption.least_disturbance.lost_work import checkpoint_fault
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.reporting.reported_once import ReportedOnce

_KINDS = {Pod: "Pod", PodGroup: "PodGroup", CompositePodGroup: "CompositePodGroup"}


class CheckpointReports:
    """``active``: whether lost work counts. If it does not, no value is looked at."""

    def __init__(self, outbox: Outbox, *, active: bool) -> None:
        self._outbox = outbox
        self._active = active
        self._reported = ReportedOnce()

    def on_seen(self, thing: KubernetesObject, wall: float) -> None:
        value, kind = thing.metadata.annotations.get(CHECKPOINT), _KINDS.get(type(thing))
        if value is None or kind is None or not self._active:
            return
        meta = thing.metadata
        target = Target(kind, meta.namespace, meta.name, meta.uid)
        fault = checkpoint_fault(value, _start(thing), wall)
        if fault and self._reported.is_news(target, value):
            self._outbox.put(Announce(target, Tone.WARNING, "InvalidCheckpoint", "Preempting", fault))

    def on_gone(self, target: Target) -> None:
        self._reported.forget(target)


def _start(thing: KubernetesObject) -> float:
    match thing:
        case Pod():
            return start_of(thing)
        case PodGroup() | CompositePodGroup():
            return run_started_at(thing)
        case _:
            raise TypeError(type(thing).__name__)
