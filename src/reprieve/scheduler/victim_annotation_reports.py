"""Which annotations about pods and groups as victims are ignored, and which of them were reported already?

Each is reported once, on the object that has it. Whether a class exists is known only when all objects were
seen; before that, no class is missed. What the annotations mean is not known here.
"""

from collections.abc import Iterable, Iterator

from reprieve.model.disruption_costs import DISRUPTION_COST, cost_fault
from reprieve.model.effects import Announce, Effect, Target, Tone
from reprieve.model.groups import Group
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PodGroup, PriorityClass
from reprieve.preemption.policy import Policy
from reprieve.preemption.preemption_priority import ANNOTATION, PermittedClasses
from reprieve.scheduler.reported_once import ReportedOnce
from reprieve.scheduler.targets import group_target, pod_target
from reprieve.scheduler.world import World


class VictimAnnotationReports:
    def __init__(self, policies: Iterable[Policy]) -> None:
        listed = tuple(policies)
        self._orders_members = any(policy.orders_members for policy in listed)
        found = (policy.permitted_classes for policy in listed)
        self._permitted = tuple(permitted for permitted in found if permitted is not None)
        self._reported = ReportedOnce()

    def saw(self, thing: KubernetesObject, world: World, *, synced: bool) -> Iterator[Effect]:
        match thing:
            case Pod() if self._orders_members and DISRUPTION_COST in thing.metadata.annotations:
                fault = cost_fault(thing.metadata)
                yield from self._told(pod_target(thing), "InvalidDisruptionCost", fault)
            case PodGroup() | CompositePodGroup() if synced and ANNOTATION in thing.metadata.annotations:
                yield from self._judged(thing, world)
            case PriorityClass() if synced:
                yield from self.all_are_here(world)

    def all_are_here(self, world: World) -> Iterator[Effect]:
        """Only now is it known which classes are missing."""
        for group in world.groups.naming_classes():
            yield from self._judged(group, world)

    def gone(self, target: Target, world: World) -> Iterator[Effect]:
        self._reported.forget(target)
        if target.kind == PriorityClass.__name__:
            yield from self.all_are_here(world)

    def _judged(self, group: Group, world: World) -> Iterator[Effect]:
        faults = [_fault(permitted, group, world) for permitted in self._permitted]
        if faults:
            # What one profile honours counts for its pods, and is no mistake.
            fault = faults[0] if all(faults) else ""
            yield from self._told(group_target(group), "InvalidPreemptionPriority", fault)

    def _told(self, target: Target, reason: str, fault: str) -> Iterator[Effect]:
        if not fault:
            self._reported.forget(target)
        elif self._reported.is_news(target, fault):
            yield Announce(target, Tone.WARNING, reason, "Preempting", fault)


def _fault(permitted: PermittedClasses, group: Group, world: World) -> str:
    outer = (group.metadata.namespace, group.spec.parent)
    if outer in world.groups.tree().composites:
        around = f"the group is inside CompositePodGroup {group.spec.parent}"
        return f"annotation {ANNOTATION} is ignored: {around}, and that of the outermost group counts"
    return permitted.fault(group, world.groups.classes)
