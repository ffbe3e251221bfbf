"""What a set of victims costs by every criterion, counted pod by pod from the objects themselves.

Written from the definitions: no columns, no caches of the search, and nothing that the searches use but the
decoded objects. `criteria` has one function for each criterion; less is better by all of them.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from reprieve.model.groups import GroupKey
from reprieve.model.objects import (
    CompositePodGroup,
    KubernetesObject,
    Node,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    group_of,
)
from tests.reference.plain import node as of_node
from tests.reference.plain.cluster import Cluster, PlainConstraint
from tests.reference.plain.pods import selects
from tests.reference.plain.requests import Amounts, requests
from tests.reference.plain.resources import capacity

PodKey = tuple[str, str]  # namespace, name
UnitKey = tuple[str, str, str]  # kind, namespace, name
Group = PodGroup | CompositePodGroup
Price = Mapping[str, float]

CHECKPOINT = "reprieve.dev/last-checkpoint"
USUAL_GRACE = 30.0  # seconds
_DEEPEST = 4  # levels of a tree of groups
# What keeps a pod off a node for good, whatever pods are there.
_BEYOND_ROOM: tuple[PlainConstraint, ...] = (of_node.unschedulable, of_node.taints, of_node.affinity)


@dataclass(frozen=True)
class RunningCluster:
    """Pods that have their nodes, and the groups and budgets that say something of them."""

    objects: Sequence[KubernetesObject]
    now: float = 0.0
    lost_work_cap: float = 3600.0
    absent: Collection[PodKey] = ()  # pods that count as gone: one that asks for a resize makes its own room

    # Found once for each unit: many sets of victims are priced in one cluster.
    known_cascades: dict[UnitKey, int] = field(default_factory=dict, repr=False)

    @cached_property
    def nodes(self) -> dict[str, Node]:
        return {thing.metadata.name: thing for thing in self.objects if isinstance(thing, Node)}

    @cached_property
    def pods(self) -> dict[PodKey, Pod]:
        pods = {key_of(thing): thing for thing in self.objects if isinstance(thing, Pod)}
        return {
            key: pod
            for key, pod in pods.items()
            if pod.spec.node_name in self.nodes
            and pod.status.phase not in ("Succeeded", "Failed")
            and key not in self.absent
        }

    @cached_property
    def leaves(self) -> dict[GroupKey, PodGroup]:
        return {key_of(thing): thing for thing in self.objects if isinstance(thing, PodGroup)}

    @cached_property
    def composites(self) -> dict[GroupKey, CompositePodGroup]:
        return {key_of(thing): thing for thing in self.objects if isinstance(thing, CompositePodGroup)}

    @cached_property
    def groups(self) -> list[Group]:
        return [*self.leaves.values(), *self.composites.values()]

    def around(self, pod: Pod) -> Iterator[Group]:
        """From the inside out, as far as they are known."""
        namespace = pod.metadata.namespace
        group: Group | None = self.leaves.get((namespace, group_of(pod)))
        for _ in range(_DEEPEST):
            if group is None:
                return
            yield group
            group = self.composites.get((namespace, group.spec.parent))

    @cached_property
    def members(self) -> dict[GroupKey, list[PodKey]]:
        """The pods that run of each PodGroup."""
        found: dict[GroupKey, list[PodKey]] = {key: [] for key in self.leaves}
        for key, pod in self.pods.items():
            group = (pod.metadata.namespace, group_of(pod))
            if group in found:
                found[group].append(key)
        return found

    @cached_property
    def children(self) -> dict[GroupKey, list[Group]]:
        found: dict[GroupKey, list[Group]] = {key: [] for key in self.composites}
        for group in self.groups:
            parent = (group.metadata.namespace, group.spec.parent)
            if parent in found:
                found[parent].append(group)
        return found

    @cached_property
    def unit_of(self) -> dict[PodKey, UnitKey]:
        """A pod goes with the outermost group around it that goes whole, or else alone."""
        whole = {
            key: [name_of(group) for group in self.around(pod) if group.spec.disrupted_whole]
            for key, pod in self.pods.items()
        }
        return {key: found[-1] if found else ("Pod", *key) for key, found in whole.items()}

    @cached_property
    def units(self) -> dict[UnitKey, list[PodKey]]:
        found: dict[UnitKey, list[PodKey]] = {}
        for key, unit in self.unit_of.items():
            found.setdefault(unit, []).append(key)
        return found

    @cached_property
    def priority(self) -> dict[PodKey, int]:
        """That of the outermost group."""
        outermost = {key: [pod, *self.around(pod)][-1] for key, pod in self.pods.items()}
        return {key: thing.spec.priority or 0 for key, thing in outermost.items()}

    @cached_property
    def budgets(self) -> list[PodDisruptionBudget]:
        return [thing for thing in self.objects if isinstance(thing, PodDisruptionBudget)]

    @cached_property
    def broken_before(self) -> set[UnitKey]:
        return {name_of(group) for group in self.groups if not self.is_complete(group, self.pods)}

    def is_complete(self, group: Group, left: Collection[PodKey], levels: int = _DEEPEST) -> bool:
        """Whether enough of it runs: one pod or child group is enough unless it is a gang."""
        least = group.spec.gang.min_count if group.spec.gang is not None else 1
        if isinstance(group, PodGroup):
            return sum(pod in left for pod in self.members[key_of(group)]) >= least
        inside = self.children[key_of(group)] if levels > 1 else []
        return sum(self.is_complete(child, left, levels - 1) for child in inside) >= least

    def _needs_nothing(self, group: Group) -> bool:
        is_basic = isinstance(group, PodGroup) and group.spec.gang is None
        return is_basic and (group.metadata.namespace, group.spec.parent) not in self.composites

    def beneath(self, group: Group, levels: int = _DEEPEST) -> Iterator[PodKey]:
        """The pods inside, at any depth, that run for something now: not those of groups with too little."""
        if name_of(group) in self.broken_before:
            return
        if isinstance(group, PodGroup):
            yield from self.members[key_of(group)]
        elif levels > 1:
            for child in self.children[key_of(group)]:
                yield from self.beneath(child, levels - 1)

    def broken_by(self, victims: Collection[PodKey]) -> list[Group]:
        """Groups that are complete, and are not without these pods.

        A basic PodGroup needs one pod for the groups around it to be complete. By itself, it has no number
        of pods to fall below, so that it is not broken.
        """
        left = self.pods.keys() - victims
        return [
            group
            for group in self.groups
            if name_of(group) not in self.broken_before
            and not self._needs_nothing(group)
            and not self.is_complete(group, left)
        ]


def key_of(thing: KubernetesObject) -> tuple[str, str]:
    return thing.metadata.namespace, thing.metadata.name


def name_of(group: Group) -> UnitKey:
    return type(group).__name__, *key_of(group)


def price(cluster: RunningCluster, victims: Iterable[PodKey], names: Iterable[str] | None = None) -> Price:
    """By all criteria, or by those with these names. The victims are all pods of some units."""
    gone = set(victims)
    going = {cluster.unit_of[pod] for pod in gone}
    assert {pod for unit in going for pod in cluster.units[unit]} == gone, "a unit goes whole or not at all"
    return {name: CRITERIA[name](cluster, gone) for name in (CRITERIA if names is None else names)}


def units_among(cluster: RunningCluster, victims: Collection[PodKey]) -> dict[UnitKey, list[PodKey]]:
    going = {cluster.unit_of[pod] for pod in victims}
    return {unit: cluster.units[unit] for unit in sorted(going)}


# --- the criteria --------------------------------------------------------------------------------


def budgets_broken(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    charged = ((b, sum(_pays(b, cluster.pods[pod]) for pod in victims)) for b in cluster.budgets)
    return sum(max(0, pods - max(0, budget.status.disruptions_allowed)) for budget, pods in charged)


def highest_priority(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    return max((cluster.priority[pod] for pod in victims), default=-math.inf)


def pods_stopped(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    idle = {pod for group in cluster.broken_by(victims) for pod in cluster.beneath(group)}
    return len({*victims} | idle)


def gangs_broken(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    """For resizes: how many gangs are left with fewer pods than they need, evicted whole or not."""
    leaves = (group for group in cluster.broken_by(victims) if isinstance(group, PodGroup))
    return sum(group.spec.gang is not None for group in leaves)


def workloads_ended(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    units = units_among(cluster, victims)
    whole = {unit for unit in units if unit[0] != "Pod"}
    alone = (pods[0] for unit, pods in units.items() if unit not in whole)
    orphans = sum(_is_a_workload(cluster, cluster.pods[pod]) for pod in alone)
    broken = (group for group in cluster.broken_by(victims) if not _goes_with(cluster, group, whole))
    return len(whole) + orphans + sum(1 for _ in broken)


def _is_a_workload(cluster: RunningCluster, pod: Pod) -> bool:
    """No controller makes it again, and no gang or tree is the workload."""
    leaf = next(cluster.around(pod), None)
    in_gang = leaf is not None and bool(leaf.spec.gang or leaf.spec.parent)
    return not in_gang and not _has_controller(pod)


def priority_sum(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    return sum(cluster.priority[pod] + 2**31 for pod in victims)


def cascade(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    known, units = cluster.known_cascades, units_among(cluster, victims)
    known.update({unit: _cascade_of(cluster, pods) for unit, pods in units.items() if unit not in known})
    return sum(known[unit] for unit in units)


def lost_work(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    return sum(_lost_by(cluster, cluster.pods[pod]) for pod in victims)


def latest_start(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    """Of the units of the highest priority, the one that has run longest should have started late."""
    highest = highest_priority(cluster, victims)
    return -min(
        (_start(cluster.pods[p]) for p in victims if cluster.priority[p] == highest), default=math.inf
    )


def pods(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    return len(victims)


def longest_grace(cluster: RunningCluster, victims: Collection[PodKey]) -> float:
    seconds = (cluster.pods[pod].spec.termination_grace_period_seconds for pod in victims)
    return max((USUAL_GRACE if one is None else float(one) for one in seconds), default=0.0)


CRITERIA: Mapping[str, Callable[[RunningCluster, Collection[PodKey]], float]] = {
    "BudgetsBroken": budgets_broken,
    "HighestPriority": highest_priority,
    "PodsStopped": pods_stopped,
    "WorkloadsEnded": workloads_ended,
    "PrioritySum": priority_sum,
    "Cascade": cascade,
    "LostWork": lost_work,
    "LatestStart": latest_start,
    "Pods": pods,
    "LongestGrace": longest_grace,
    "OtherGangsBroken": gangs_broken,
}


# --- single pods and groups ----------------------------------------------------------------------


def _pays(budget: PodDisruptionBudget, pod: Pod) -> bool:
    return (
        pod.metadata.namespace == budget.metadata.namespace
        and pod.metadata.name not in budget.status.disrupted_pods
        and budget.spec.selector is not None
        and selects(budget.spec.selector, pod.metadata.labels)
    )


def _has_controller(pod: Pod) -> bool:
    return any(owner.controller for owner in pod.metadata.owner_references)


def _goes_with(cluster: RunningCluster, group: Group, whole: Collection[UnitKey]) -> bool:
    """Whether the group, or one around it, is evicted whole: that is one workload, and counted as such."""
    around: Group | None = group
    for _ in range(_DEEPEST):
        if around is None:
            return False
        if name_of(around) in whole:
            return True
        around = cluster.composites.get((around.metadata.namespace, around.spec.parent))
    return False


def _start(pod: Pod) -> float:
    return pod.status.start_time.timestamp() if pod.status.start_time is not None else math.inf


def _lost_by(cluster: RunningCluster, pod: Pod) -> int:
    """Seconds since the last checkpoint, times the largest share of an average node."""
    around = (pod, *cluster.around(pod))
    texts = [o.metadata.annotations[CHECKPOINT] for o in around if CHECKPOINT in o.metadata.annotations]
    if not texts:
        return 0
    saved = datetime.fromisoformat(texts[0]).timestamp()
    if saved > cluster.now or (math.isfinite(_start(pod)) and saved < _start(pod)):
        return 0
    return math.ceil(min(cluster.now - saved, cluster.lost_work_cap) * _share(cluster, pod))


def _share(cluster: RunningCluster, pod: Pod) -> float:
    capacities = [capacity(node) for node in cluster.nodes.values()]
    shares = [0.0]
    for resource, amount in _needs(pod).items():
        average = sum(one.get(resource, 0) for one in capacities) / len(capacities)
        if average > 0:
            shares.append(amount / average)
    return min(1.0, max(shares))


def _needs(pod: Pod) -> Amounts:
    return {"pods": 1, **{name: amount for name, amount in requests(pod).items() if amount}}


def _cascade_of(cluster: RunningCluster, unit: Sequence[PodKey]) -> int:
    """0 if its pods would fit in free room off its nodes, 1 if only where pods of lower priority run.

    2 if nowhere. Pods that are alike share the room, and each kind has all of it.
    """
    own = {cluster.pods[pod].spec.node_name for pod in unit}
    kinds: dict[str, list[Pod]] = {}
    for pod in (cluster.pods[key] for key in unit):
        usable = [name for name in cluster.nodes if name not in own and _may_use(cluster, pod, name)]
        kinds.setdefault(repr((sorted(_needs(pod).items()), usable)), []).append(pod)
    lower = {key for key, value in cluster.priority.items() if value < cluster.priority[unit[0]]}
    for stage, gone in enumerate((set[PodKey](), lower)):
        if all(_seats(cluster, alike[0], own, gone) >= len(alike) for alike in kinds.values()):
            return stage
    return 2


def _may_use(cluster: RunningCluster, pod: Pod, node: str) -> bool:
    picture = Cluster((), pod)
    return not any(constraint(picture, cluster.nodes[node]) for constraint in _BEYOND_ROOM)


def _seats(cluster: RunningCluster, pod: Pod, own: Collection[str], gone: Collection[PodKey]) -> int:
    seats = 0
    for name, node in cluster.nodes.items():
        if name in own or not _may_use(cluster, pod, name):
            continue
        left = capacity(node)
        for key, there in cluster.pods.items():
            if there.spec.node_name == name and key not in gone:
                left = {r: have - _needs(there).get(r, 0) for r, have in left.items()}
        seats += max(0, min(left.get(r, 0) // need for r, need in _needs(pod).items()))
    return seats
