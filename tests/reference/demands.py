"""Demands of gangs, as a scheduler makes them of a group and the pods of it that wait."""

from collections.abc import Iterable

from reprieve.model.groups import Group, GroupKey
from reprieve.model.objects import CompositePodGroup, PodGroup
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Branch, Demand
from reprieve.placement.effort import NO_EFFORT, Effort


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


def tree_demand(
    view: Snapshot, pods: Iterable[int], *, everybody: bool = False, effort: Effort = NO_EFFORT
) -> Demand:
    """Pods of one tree of groups: as many as its groups need, or all that find room.

    Groups come in the order of their names, the pods of each as in a gang.
    """
    ordered = sorted(pods, key=lambda pod: (-int(view.pods.priority[pod]), _name(view, pod)))
    root = view.groups.root(view.pods.groups[ordered[0]])
    assert root is not None
    tree = branch(view, root, tuple(ordered))
    needed = tree.fewest()
    return Demand(
        pods=tuple(ordered),
        constraints=CONSTRAINTS,
        needed=max(1, int(needed)) if needed <= len(ordered) else len(ordered) + 1,
        priority=root.spec.priority or 0,
        may_preempt=root.spec.preemption_policy != "Never",
        topology_key=root.spec.topology_key,
        most=None if everybody else 1,
        tree=tree,
        effort=effort,
    )


def branch(view: Snapshot, group: Group, pods: tuple[int, ...]) -> Branch:
    key = (group.metadata.namespace, group.metadata.name)
    if isinstance(group, PodGroup):
        members = tuple(i for i, pod in enumerate(pods) if view.pods.groups[pod] == key)
        return Branch(max(0, _needed(group) - _running(view, key)), members, (), group.spec.topology_key)
    children = tuple(branch(view, child, pods) for child in _children(view, group))
    return Branch(_needed(group), (), children, group.spec.topology_key)


def _children(view: Snapshot, parent: CompositePodGroup) -> list[Group]:
    known: list[Group] = [*view.groups.pod_groups.values(), *view.groups.composites.values()]
    there, name = parent.metadata.namespace, parent.metadata.name
    found = (one for one in known if one.metadata.namespace == there and one.spec.parent == name)
    return sorted(found, key=lambda one: one.metadata.name)


def _running(view: Snapshot, key: GroupKey) -> int:
    code = view.pods.groups.index.get(key)
    return 0 if code is None else int(((view.pods.groups.codes == code) & (view.where != NOWHERE)).sum())


def _needed(group: Group) -> int:
    return group.spec.gang.min_count if group.spec.gang is not None else 1


def _name(view: Snapshot, pod: int) -> str:
    return view.pods.compiled[pod].pod.metadata.name
