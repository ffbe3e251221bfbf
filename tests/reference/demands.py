"""Demands of gangs, as a scheduler makes them of a group and the pods of it that wait."""

from collections.abc import Iterable

from reprieve.model.groups import Group
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Demand


def gang_demand(view: Snapshot, pods: Iterable[int], *, everybody: bool = False) -> Demand:
    """Pods of one group: as many as it needs, or all at once.

    The most important come first, then by name. Members that run already are not needed again.
    """
    ordered = sorted(pods, key=lambda pod: (-int(view.pods.priority[pod]), _name(view, pod)))
    key = view.pods.groups[ordered[0]]
    group = view.groups.root(key)
    assert group is not None
    running = int(((view.pods.groups.codes == view.pods.groups.index[key]) & (view.where != NOWHERE)).sum())
    needed = max(1, _needed(group) - running)
    return Demand(
        pods=tuple(ordered),
        constraints=CONSTRAINTS,
        needed=needed,
        priority=group.spec.priority or 0,
        may_preempt=group.spec.preemption_policy != "Never",
        topology_key=group.spec.topology_key,
        most=None if everybody else needed,
    )


def _needed(group: Group) -> int:
    return group.spec.gang.min_count if group.spec.gang is not None else 1


def _name(view: Snapshot, pod: int) -> str:
    return view.pods.compiled[pod].pod.metadata.name
