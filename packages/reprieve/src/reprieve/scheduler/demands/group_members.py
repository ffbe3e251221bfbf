"""Which pods of a group wait for a node, and which have one?"""

from collections.abc import Iterator
from dataclasses import dataclass

from reprieve.model.groups import GroupKey
from reprieve.model.objects import PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.mirror.world import World


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """The pods of a group; those being deleted are in neither list."""

    waiting: tuple[CompiledPod, ...]  # without a node, the most urgent first
    placed: tuple[CompiledPod, ...]


def group_members(world: World, group: GroupKey) -> GroupMembers:
    waiting: list[CompiledPod] = []
    placed: list[CompiledPod] = []
    for key in world.groups.members(group):
        pod = world.pod(key)
        if pod is None or pod.pod.metadata.deletion_timestamp is not None:
            continue
        (placed if world.is_placed(key) else waiting).append(pod)
    return GroupMembers(tuple(sorted(waiting, key=_urgency)), tuple(placed))


def waiting_members(world: World, group: GroupKey) -> Iterator[CompiledPod]:
    """A generator: there may be many, and not every rule looks at them."""
    yield from group_members(world, group).waiting


def has_started(world: World, group: PodGroup) -> bool:
    """Whether as many of its pods have their node as it needs."""
    key, needed = (
        (group.metadata.namespace, group.metadata.name),
        group.spec.gang.min_count if group.spec.gang is not None else 1,
    )
    # The first saves a look at each of many members whenever one of them goes.
    return world.groups.size(key) >= needed and len(group_members(world, key).placed) >= needed


def _urgency(pod: CompiledPod) -> tuple[int, str]:
    return -(pod.pod.spec.priority or 0), pod.pod.metadata.name
