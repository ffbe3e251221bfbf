"""Pods of groups that are evicted one by one: what they cost their group, and what gangs can lose."""

from collections import Counter
from collections.abc import Iterable

from reprieve.model.groups import DEEPEST, Group, GroupKey, key_of
from reprieve.model.objects import CompositePodGroup
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.units import Unit, Units

Importance = tuple[object, ...]
_COSTS = ("reprieve.dev/disruption-cost", "controller.kubernetes.io/pod-deletion-cost")


def group_of(units: Units, unit: Unit) -> GroupKey | None:
    """The known group of a pod that is evicted alone."""
    key = units.view.pods.groups[unit.pods[0]] if unit.number < len(units.view.pods) else None
    return key if key in units.view.groups.pod_groups else None


def members(units: Units, group: GroupKey) -> list[Unit]:
    """Pods of a group that run, each as a unit."""
    rows = [row for row in range(len(units.view.pods)) if units.view.pods.groups[row] == group]
    return [units.unit(row) for row in rows if units.of_pod[row] == row]


def cost_of(units: Units, unit: Unit) -> tuple[int, int]:
    annotations = units.view.pods.compiled[unit.pods[0]].pod.metadata.annotations
    cost, deletion_cost = (int(annotations.get(name, "0")) for name in _COSTS)
    return cost, deletion_cost


def importance(units: Units, unit: Unit) -> Importance:
    """The smallest is the most important."""
    first = -unit.priority, -unit.kind, -len(unit.pods)
    group = group_of(units, unit)
    others = members(units, group) if group is not None else []
    if group is None or all(cost_of(units, other) == (0, 0) for other in others):
        return (*first, unit.start, unit.name.split("/"), 0, 0, unit.start, unit.name.split("/"))
    since, (cost, deletion_cost) = min(other.start for other in others), cost_of(units, unit)
    return (*first, since, ["Pod", *group], -cost, -deletion_cost, unit.start, unit.name.split("/"))


def cheaper(units: Units, unit: Unit) -> tuple[int, int]:
    """How many pods of its group cost less; and how many cost the same, and less to delete."""
    group = group_of(units, unit)
    mine = cost_of(units, unit) if group is not None else (0, 0)
    others = [cost_of(units, other) for other in members(units, group)] if group is not None else []
    return sum(o[0] < mine[0] for o in others), sum(o[0] == mine[0] and o[1] < mine[1] for o in others)


def leaf_of(units: Units, unit: Unit) -> tuple[str, GroupKey] | None:
    """What is left with too little if too many pods of the unit's group go: the group, or one around it that
    goes whole, inside a tree that does not. A basic group needs a pod for the groups around it alone."""
    groups = units.view.groups
    key = units.view.pods.groups[unit.pods[0]]
    inner: Group | None = groups.pod_groups.get(key) if key is not None else None
    around: list[Group] = []
    while inner is not None and len(around) < DEEPEST:
        around.append(inner)
        inner = groups.composites.get((inner.metadata.namespace, inner.spec.parent))
    if not around or around[-1].spec.disrupted_whole or (len(around) == 1 and around[0].spec.gang is None):
        return None
    leaf = ([around[0]] + [group for group in around if group.spec.disrupted_whole])[-1]
    return type(leaf).__name__, (leaf.metadata.namespace, leaf.metadata.name)


def can_lose(view: Snapshot, kind: str, key: GroupKey) -> int | None:
    """How many pods it can lose; None if it has too few already."""
    leaf = view.groups.pod_groups[key] if kind == "PodGroup" else view.groups.composites[key]
    pods = _running(view, leaf)
    if not pods or not _is_complete(view, leaf):
        return None
    least = leaf.spec.gang.min_count if leaf.spec.gang is not None else 1
    return 0 if leaf.spec.disrupted_whole else pods - least


def _running(view: Snapshot, group: Group) -> int:
    if isinstance(group, CompositePodGroup):
        return sum(_running(view, child) for child in view.groups.children(key_of(group)))
    rows = (row for row in range(len(view.pods)) if view.pods.groups[row] == key_of(group))
    return sum(view.where[row] != NOWHERE for row in rows)


def _is_complete(view: Snapshot, group: Group) -> bool:
    least = group.spec.gang.min_count if group.spec.gang is not None else 1
    if isinstance(group, CompositePodGroup):
        children = view.groups.children(key_of(group))
        return sum(_is_complete(view, child) for child in children) >= least
    return _running(view, group) >= least


def too_small(units: Units, victims: Iterable[Unit]) -> set[tuple[str, GroupKey]]:
    """The groups that have too few pods left without these units."""
    leaving = Counter[tuple[str, GroupKey]]()
    for unit in victims:
        leaf = leaf_of(units, unit)
        if leaf is not None:
            leaving[leaf] += len(unit.pods)
    spare = {leaf: can_lose(units.view, *leaf) for leaf in leaving}
    return {leaf for leaf, pods in leaving.items() if (least := spare[leaf]) is not None and pods > least}
