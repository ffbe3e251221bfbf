"""Which fields of a PodGroup the scheduler honours: priority, preemption policy, topology, consistency.

Each function of the record stands for a feature gate or an argument. Assembly chooses them; nothing else
knows that there was a choice.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from reprieve.model.formatting import counted
from reprieve.model.groups import Group, key_of
from reprieve.model.objects import Pod, PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands.awaited_members import group_members, waiting_members
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


@dataclass(frozen=True, slots=True)
class Membership:
    """A group, its pods that wait or run, and what counts for all of them."""

    group: PodGroup
    pods: tuple[CompiledPod, ...]
    priority: int
    preemption_policy: str  # of the group itself; empty if it has none, or if that does not count


PolicyOf = Callable[[GroupMirror, PodGroup], str]
Check = Callable[[GroupMirror, Membership], str]  # what keeps a group from being scheduled; empty: nothing
Divergence = Callable[[World, PodGroup], str | None]


# --- whether it preempts -------------------------------------------------------------------------


def policy_of_group(groups: GroupMirror, group: PodGroup) -> str:
    return groups.policy_of(group)


def no_policy(_: GroupMirror, __: PodGroup) -> str:
    """Only the class of a group says whether it preempts."""
    return ""


# --- where its pods go ---------------------------------------------------------------------------


def topology_of_group(group: Group) -> str:
    return group.spec.topology_key


def no_topology(_: Group) -> str:
    return ""


# --- what keeps it from being scheduled ----------------------------------------------------------


def one_scheduler(_: GroupMirror, members: Membership) -> str:
    names = {pod.pod.spec.scheduler_name for pod in members.pods}
    return "its pods name different schedulers" if len(names) > 1 else ""


def one_preemption_policy(_: GroupMirror, members: Membership) -> str:
    policies = {pod.pod.spec.preemption_policy or "PreemptLowerPriority" for pod in members.pods}
    if len(policies) > 1:
        return "its pods have different preemption policies"
    if members.preemption_policy and policies != {members.preemption_policy}:
        given = ", ".join(policies)
        return f"its pods have the preemption policy {given}, the group {members.preemption_policy}"
    return ""


def one_priority(groups: GroupMirror, members: Membership) -> str:
    """A pod of low priority must not be scheduled with the high priority of its group."""
    others = (pod.pod for pod in members.pods if (pod.pod.spec.priority or 0) != members.priority)
    other = next(others, None)
    return _differs(other, members.priority) + _remedy(groups, members.group, other) if other else ""


# --- what is reported of its priorities ----------------------------------------------------------


def divergence(world: World, group: PodGroup) -> str:
    """Which pods of a group have another priority than the group; empty if none has."""
    priority = priority_of_group(world.groups, group)
    members = map(world.pod, world.groups.members((group.metadata.namespace, group.metadata.name)))
    others = [pod.pod for pod in members if pod is not None and (pod.pod.spec.priority or 0) != priority]
    if not others:
        return ""
    more = len(others) - 1
    rest = "" if not more else f"; {counted(more, 'more pod')} {'differs' if more == 1 else 'differ'}"
    return f"{_differs(others[0], priority)}{rest}{_remedy(world.groups, group, others[0])}"


def no_divergence(_: World, __: PodGroup) -> None:
    """Pods have their own priorities, and nothing is reported of the group's."""


def lost_parent(world: World, group: PodGroup) -> str:
    """That a group runs while one around it is gone; empty if none is."""
    root = world.groups.tree().ancestry(key_of(group)).root
    if root is None or world.groups.composite(root) is not None:
        return ""
    if not group_members(world, key_of(group)).placed:
        return ""
    return (
        f"CompositePodGroup {'/'.join(root)} does not exist, and pods of this group run: its disruption mode "
        "and priority do not count for them; create it again if they are to"
    )


def _differs(pod: Pod, priority: int) -> str:
    return f"pod {pod.metadata.name} has priority {pod.spec.priority or 0}, the group {priority}"


def _remedy(groups: GroupMirror, group: PodGroup, pod: Pod) -> str:
    """What to do where only one of a group and its pods has a class; empty where both have, or none."""
    root = groups.root(group)
    theirs, named = pod.spec.priority_class_name, root.spec.priority_class_name
    if theirs and not named and not root.spec.priority:
        kind, name = type(root).__name__, root.metadata.name
        return f"; {kind} {name} has no class: create it again with priorityClassName: {theirs}"
    if named and not theirs and not pod.spec.priority:
        return f"; its pods have no class: create them again with priorityClassName: {named}"
    return ""


# --- the whole -----------------------------------------------------------------------------------

CONSISTENT: tuple[Check, ...] = (one_scheduler, one_preemption_policy)


@dataclass(frozen=True, slots=True)
class GroupRules:
    priority: PriorityOf = priority_of_group
    preemption_policy: PolicyOf = policy_of_group
    topology_key: Callable[[Group], str] = topology_of_group
    checks: tuple[Check, ...] = (*CONSISTENT, one_priority)
    divergence: Divergence = divergence

    def never_preempts(self, groups: GroupMirror, group: PodGroup) -> bool:
        """As the group says, if that counts, or as its class said when both were first known."""
        return "Never" in (self.preemption_policy(groups, group), groups.policy_of_class(group))


DEFAULT_RULES = GroupRules()
