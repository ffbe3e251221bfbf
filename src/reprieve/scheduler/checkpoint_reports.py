"""Which published checkpoints cannot be right, and which of them were reported already?

A value that is ignored is reported once, on the object that has it. What it means is not known here.
"""

from collections.abc import Iterator

from reprieve.model.effects import Announce, Effect, Target, Tone
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PodGroup
from reprieve.model.pods_by_importance import start_of
from reprieve.model.scheduled_times import run_started_at
from reprieve.preemption.least_disturbance.lost_work import CHECKPOINT, checkpoint_fault

_MOST = 10_000  # objects that are remembered; of more, the oldest may be reported again
_KINDS = {Pod: "Pod", PodGroup: "PodGroup", CompositePodGroup: "CompositePodGroup"}


class CheckpointReports:
    """``active``: whether lost work counts. If it does not, no value is looked at."""

    def __init__(self, *, active: bool) -> None:
        self._active = active
        self._reported: dict[Target, str] = {}

    def saw(self, thing: KubernetesObject, now: float) -> Iterator[Effect]:
        value, kind = thing.metadata.annotations.get(CHECKPOINT), _KINDS.get(type(thing))
        if value is None or kind is None or not self._active:
            return
        meta = thing.metadata
        target = Target(kind, meta.namespace, meta.name, meta.uid)
        fault = checkpoint_fault(value, _start(thing), now)
        if not fault or self._reported.get(target) == value:
            return
        self._reported.pop(target, None)
        self._reported[target] = value
        if len(self._reported) > _MOST:
            del self._reported[next(iter(self._reported))]
        yield Announce(target, Tone.WARNING, "InvalidCheckpoint", "Preempting", fault)

    def gone(self, target: Target) -> None:
        self._reported.pop(target, None)


def _start(thing: KubernetesObject) -> float:
    match thing:
        case Pod():
            return start_of(thing)
        case PodGroup() | CompositePodGroup():
            return run_started_at(thing)
        case _:
            raise TypeError(type(thing).__name__)
