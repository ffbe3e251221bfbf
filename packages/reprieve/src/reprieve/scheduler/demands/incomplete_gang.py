"""How a gang waits for its members: until enough of its pods exist, and none of them has a scheduling gate.

Until then its demand is in the queue and is not decided; every pod that is created, and every gate that is
removed, has it looked at again. When the pods are told that some are missing is for ``late_gang_reports``.
"""

from collections.abc import Sequence

from reprieve.model.formatting import listed
from reprieve.model.objects import Pod, PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.demands.group_members import GroupMembers
from reprieve.scheduler.demands.not_decidable_yet import NotYet


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
