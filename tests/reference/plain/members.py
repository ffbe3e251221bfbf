"""Pods of groups that are evicted one by one: what they cost their group, and what gangs can lose."""

from collections import Counter
from collections.abc import Iterable

from reprieve.model.groups import GroupKey
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


def can_lose(view: Snapshot, group: GroupKey) -> int | None:
    """How many pods a gang can lose; None if it is none, or has too few already."""
    gang = view.groups.pod_groups[group].spec.gang
    running = sum(
        view.pods.groups[row] == group for row in range(len(view.pods)) if view.where[row] != NOWHERE
    )
    return running - gang.min_count if gang is not None and running >= gang.min_count else None


def too_small(units: Units, victims: Iterable[Unit]) -> set[GroupKey]:
    """The gangs that have too few pods left without these units."""
    leaving = Counter(group_of(units, unit) for unit in victims)
    found = set[GroupKey]()
    for group, pods in leaving.items():
        spare = can_lose(units.view, group) if group is not None else None
        if group is not None and spare is not None and pods > spare:
            found.add(group)
    return found
