"""Which pods of a group wait for a node, which have one, and which does a gang still wait for?

A gang waits until enough of its pods exist, and none of them has a scheduling gate. Until then its demand is
in the queue and is not decided; every pod that is created, and every gate that is removed, has it looked at
again. When the pods are told that some are missing is for ``delayed_reports``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reprieve.model.formatting import listed
from reprieve.model.groups import GroupKey
from reprieve.model.objects import Pod, PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.demands.pod import NotYet
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


# --- what it waits for ---------------------------------------------------------------------------


def missing_members(name: str, group: PodGroup | None, members: GroupMembers) -> NotYet | None:
    """What a group of this name waits for before it can be placed; None if its pods are complete."""
    if group is None:
        return NotYet(f"{name} does not exist yet", members.waiting)
    if gated := [pod.pod for pod in members.waiting if pod.pod.spec.scheduling_gates]:
        return gated_members(name, gated, members.waiting)
    gang = group.spec.gang
    if gang is not None and len(members.placed) + len(members.waiting) < gang.min_count:
        # The text names no number of missing pods: every pod that comes would change the report on all.
        text = f"{name} waits until {gang.min_count} of its pods exist"
        return NotYet(text, members.waiting, arriving=True)
    return None


def gated_members(name: str, gated: Sequence[Pod], waiting: Sequence[CompiledPod]) -> NotYet:
    """The API server reports gates on the pods that have them; the others only wait for these."""
    others = tuple(pod for pod in waiting if not pod.pod.spec.scheduling_gates)
    if not others:
        return NotYet("")
    first = min(gated, key=lambda pod: pod.metadata.name)
    gates = listed([gate.name for gate in first.spec.scheduling_gates])
    text = f"{name} waits for pod {first.metadata.name}, which has the scheduling gate {gates}"
    return NotYet(text, others, arriving=True)  # gates are often removed pod by pod, one soon after the other
