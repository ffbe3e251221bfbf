"""Which priority does a PodGroup have when it is scheduled: its own, or that of its pods?

The API server wrote both numbers when the objects were created, from their priority classes. Here is decided
which of them counts. Assembly chooses the rule by a feature gate, which is not known here.
"""

from collections.abc import Callable, Iterable
from itertools import chain

from reprieve.model.objects import PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands.group_members import waiting_members
from reprieve.scheduler.mirror.group_mirror import GroupMirror
from reprieve.scheduler.mirror.world import World

PriorityOf = Callable[[GroupMirror, PodGroup, Iterable[CompiledPod]], int]


def priority_of_group(groups: GroupMirror, group: PodGroup, _: Iterable[CompiledPod] = ()) -> int:
    """The group's own; inside other groups, that of the outermost one."""
    return groups.root(group).spec.priority or 0


def priority_of_pods(_: GroupMirror, __: PodGroup, pods: Iterable[CompiledPod]) -> int:
    """That of the most important pod that waits: the group's own does not count."""
    return max((pod.pod.spec.priority or 0 for pod in pods), default=0)


def group_priority(world: World, key: DemandKey, rule: PriorityOf) -> int:
    """The priority of a group or a tree by this rule, whether or not the group can be scheduled yet."""
    if key.kind is DemandKind.TREE:
        leaves = world.groups.tree().leaves(key.object)
        waiting = chain.from_iterable(waiting_members(world, leaf) for leaf in leaves)
        first = world.groups.group(leaves[0]) if leaves else None
        return rule(world.groups, first, waiting) if first is not None else 0
    group = world.groups.group(key.object)
    return rule(world.groups, group, waiting_members(world, key.object)) if group is not None else 0
