"""Which annotations of pods and groups are ignored, and which of them were reported already?

Each is reported once, on the object that has it: a checkpoint that cannot be right, and a cost or a priority
as a victim that does not count. The cost of a pod is reported only where it would count: in a group that is
evicted pod by pod. Whether a class or a group exists is known only when all objects were seen; before that,
none is missed.
"""

from collections.abc import Iterable

from reprieve.model.annotations import CHECKPOINT, cost_fault
from reprieve.model.conditions import run_started_at
from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.groups import Group, GroupKey, group_key, key_of
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PodGroup, PriorityClass
from reprieve.model.pods import start_of
from reprieve.preemption.least_disturbance.lost_work import checkpoint_fault
from reprieve.preemption.policy import Policy
from reprieve.preemption.preemption_priority import ANNOTATION, PermittedClasses
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.targets import group_target, pod_target

_MOST = 10_000  # objects that are remembered; no warning is sent for more, as it would be repeated


class ReportedOnce:
    """Which objects were told which text already? Warnings are worth one event, not one each time."""

    def __init__(self) -> None:
        self._told: dict[Target, str] = {}

    def __bool__(self) -> bool:
        return bool(self._told)

    def is_news(self, target: Target, text: str) -> bool:
        if self._told.get(target) == text:
            return False
        if target not in self._told and len(self._told) >= _MOST:
            return False
        self._told[target] = text
        return True

    def forget(self, target: Target) -> None:
        """Whatever is told next is news."""
        self._told.pop(target, None)


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


class VictimAnnotationReports:
    def __init__(self, outbox: Outbox, policies: Iterable[Policy], served: Iterable[str]) -> None:
        """``served``: the scheduler names of the pods that are looked at."""
        self._outbox = outbox
        listed = tuple(policies)
        self._orders_members = any(policy.orders_members for policy in listed)
        found = (policy.permitted_classes for policy in listed)
        self._permitted = tuple(permitted for permitted in found if permitted is not None)
        self._served = frozenset(served)
        self._reported = ReportedOnce()
        # Faulty costs, as long as the group of the pod is unknown or evicted whole; and where each pod is.
        self._unreported: dict[GroupKey, dict[Target, str]] = {}
        self._group_of: dict[Target, GroupKey] = {}

    def on_seen(self, thing: KubernetesObject, world: World, *, synced: bool) -> None:
        match thing:
            case Pod() if self._orders_members and thing.spec.scheduler_name in self._served:
                self._note_cost(thing)
                if synced and (group := group_key(thing)) is not None:
                    self._costs(group, world)
            case PodGroup() | CompositePodGroup() if synced:
                if isinstance(thing, PodGroup):
                    self._costs(key_of(thing), world)
                if ANNOTATION in thing.metadata.annotations:
                    self._judged(thing, world)
            case PriorityClass() if synced:
                self._priorities(world)

    def on_synced(self, world: World) -> None:
        """Only now is it known which classes and groups are missing."""
        for group in [*self._unreported]:
            self._costs(group, world)
        self._priorities(world)

    def on_gone(self, target: Target, world: World) -> None:
        self._reported.forget(target)
        self._forget_cost(target)
        if target.kind == PriorityClass.__name__:
            self._priorities(world)

    def _note_cost(self, pod: Pod) -> None:
        fault = cost_fault(pod.metadata)
        if not fault and not self._group_of and not self._reported:
            return  # as for almost all pods
        target, group = pod_target(pod), group_key(pod)
        self._forget_cost(target)
        if not fault or group is None:
            self._reported.forget(target)
        else:
            self._group_of[target] = group
            self._unreported.setdefault(group, {})[target] = fault

    def _forget_cost(self, pod: Target) -> None:
        group = self._group_of.pop(pod, None)
        if group is not None:
            del self._unreported[group][pod]
            if not self._unreported[group]:
                del self._unreported[group]

    def _costs(self, group: GroupKey, world: World) -> None:
        if group not in self._unreported:
            return
        tree = world.groups.tree()
        if group not in tree.pod_groups or tree.unit(group) is not None:
            return
        for pod, fault in [*self._unreported[group].items()]:
            self._forget_cost(pod)
            self._told(pod, "InvalidDisruptionCost", fault)

    def _priorities(self, world: World) -> None:
        for group in world.groups.naming_classes():
            self._judged(group, world)

    def _judged(self, group: Group, world: World) -> None:
        faults = [_fault(permitted, group, world) for permitted in self._permitted]
        if faults:
            # What one profile honours counts for its pods, and is no mistake.
            fault = faults[0] if all(faults) else ""
            self._told(group_target(group), "InvalidPreemptionPriority", fault)

    def _told(self, target: Target, reason: str, fault: str) -> None:
        if not fault:
            self._reported.forget(target)
        elif self._reported.is_news(target, fault):
            self._outbox.put(Announce(target, Tone.WARNING, reason, "Preempting", fault))


def _fault(permitted: PermittedClasses, group: Group, world: World) -> str:
    outer = (group.metadata.namespace, group.spec.parent)
    if world.groups.composite(outer) is not None:
        around = f"the group is inside CompositePodGroup {group.spec.parent}"
        return f"annotation {ANNOTATION} is ignored: {around}, and that of the outermost group counts"
    return permitted.fault(group, world.groups.classes)
