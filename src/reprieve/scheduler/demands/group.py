"""A demand of the pods of a group: as many as its gang needs are placed together, or none.

If it fits its pods are bound, and any node may help it.
"""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from reprieve.model.columns import Mask
from reprieve.model.effects import Target
from reprieve.model.formatting import listed
from reprieve.model.groups import GroupKey
from reprieve.model.objects import Pod, PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints import constraints_under
from reprieve.placement.demand import Demand
from reprieve.placement.effort import Effort
from reprieve.placement.profile import Profile
from reprieve.placement.reasons import Code
from reprieve.scheduler.decision import Finding, Growth
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands.group_rules import GroupRules, Membership
from reprieve.scheduler.demands.not_yet import NotYet
from reprieve.scheduler.demands.pod import reserved_rows, rows_of_pods
from reprieve.scheduler.queueing_hints import Change, helpful
from reprieve.scheduler.targets import group_target, pod_target
from reprieve.scheduler.world import World


@dataclass(frozen=True, slots=True)
class GroupTree:
    """A group, and the groups inside it."""

    group: PodGroup
    running: int  # pods of the group that have their node
    topology_key: str = ""  # its pods must be where this label of nodes has one value
    children: tuple["GroupTree", ...] = ()

    @property
    def is_starting(self) -> bool:
        """Whether it is a gang that does not run yet: its pods need each other."""
        gang = self.group.spec.gang
        return gang is not None and self.running < gang.min_count

    @property
    def needed(self) -> int:
        """How many pods must find a node for any to get one; those beyond that need only their own."""
        gang = self.group.spec.gang
        return max(1, gang.min_count - self.running) if gang is not None else 1

    def groups(self) -> Iterator[PodGroup]:
        yield self.group
        for child in self.children:
            yield from child.groups()


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    key: DemandKey
    pods: tuple[CompiledPod, ...]  # of the whole tree, those without a node, in the order of placement
    priority: int
    may_preempt: bool
    tree: GroupTree

    nominates: ClassVar[bool] = True
    forbidden: ClassVar[str] = ""
    growth: ClassVar[Growth | None] = None

    @property
    def needed(self) -> int:
        return self.tree.needed

    @property
    def is_starting(self) -> bool:
        return self.tree.is_starting

    @property
    def target(self) -> Target:
        return group_target(self.tree.group)

    def helped_by(self, codes: Collection[Code]) -> frozenset[Change]:
        return helpful(codes)

    def considered(self, nodes: int) -> int:
        return nodes

    def relevant(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return findings

    def beginning_with(self, reserved: Container[Target]) -> "WaitingGroup":
        """Pods for which room is reserved are placed before the others."""
        return replace(self, pods=tuple(sorted(self.pods, key=lambda p: pod_target(p.pod) not in reserved)))


def waiting_group(world: World, key: DemandKey, rules: GroupRules) -> WaitingGroup | NotYet | None:
    """None if all of its pods have their node, or are being deleted."""
    waiting, placed = _members(world, key.object)
    if not waiting:
        return None
    group, name = world.groups.group(key.object), f"PodGroup {key.namespace}/{key.name}"
    if group is None:
        return NotYet(f"{name} does not exist yet", tuple(waiting))
    if gated := [pod.pod for pod in waiting if pod.pod.spec.scheduling_gates]:
        return _gated(name, gated, waiting)
    gang = group.spec.gang
    if gang is not None and len(placed) + len(waiting) < gang.min_count:
        # The text names no number of missing pods: every pod that comes would change the report on all.
        text = f"{name} waits until {gang.min_count} of its pods exist"
        return NotYet(text, tuple(waiting), arriving=True)
    policy = rules.preemption_policy(world.groups, group)
    priority = rules.priority(world.groups, group, waiting)
    members = Membership(group, (*waiting, *placed), priority, policy)
    wrong = next(filter(None, (check(world.groups, members) for check in rules.checks)), "")
    if wrong:
        return NotYet(f"{name} cannot be scheduled: {wrong}", tuple(waiting))
    never = rules.never_preempts(world.groups, group)
    never = never or any(pod.pod.spec.preemption_policy == "Never" for pod in waiting)
    tree = GroupTree(group, len(placed), rules.topology_key(group))
    return WaitingGroup(key, tuple(waiting), priority, not never, tree)


def _gated(name: str, gated: Sequence[Pod], waiting: Sequence[CompiledPod]) -> NotYet:
    """The API server reports gates on the pods that have them; the others only wait for these."""
    others = tuple(pod for pod in waiting if not pod.pod.spec.scheduling_gates)
    if not others:
        return NotYet("")
    first = min(gated, key=lambda pod: pod.metadata.name)
    gates = listed([gate.name for gate in first.spec.scheduling_gates])
    text = f"{name} waits for pod {first.metadata.name}, which has the scheduling gate {gates}"
    return NotYet(text, others, arriving=True)  # gates are often removed pod by pod, one soon after the other


def group_priority(world: World, key: DemandKey, rules: GroupRules) -> int:
    """The priority of a group, whether or not it can be scheduled yet."""
    group = world.groups.group(key.object)
    return rules.priority(world.groups, group, _waiting(world, key.object)) if group is not None else 0


def is_complete(world: World, group: PodGroup) -> bool:
    """Whether as many of its pods have their node as it needs."""
    key, needed = (
        (group.metadata.namespace, group.metadata.name),
        group.spec.gang.min_count if group.spec.gang is not None else 1,
    )
    # The first saves a look at each of many members whenever one of them goes.
    return world.groups.size(key) >= needed and len(_members(world, key)[1]) >= needed


def _waiting(world: World, group: GroupKey) -> Iterator[CompiledPod]:
    """A generator: there may be many, and not every rule looks at them."""
    yield from _members(world, group)[0]


def _members(world: World, group: GroupKey) -> tuple[list[CompiledPod], list[CompiledPod]]:
    """Pods without a node, the most urgent first, and pods with one; those being deleted are neither."""
    waiting: list[CompiledPod] = []
    placed: list[CompiledPod] = []
    for key in world.groups.members(group):
        pod = world.pod(key)
        if pod is None or pod.pod.metadata.deletion_timestamp is not None:
            continue
        (placed if world.is_placed(key) else waiting).append(pod)
    return sorted(waiting, key=_urgency), placed


def _urgency(pod: CompiledPod) -> tuple[int, str]:
    return -(pod.pod.spec.priority or 0), pod.pod.metadata.name


def waiting_group_demand(
    requester: WaitingGroup, view: Snapshot, profile: Profile, reserved: Mapping[Target, str]
) -> Demand:
    tree = requester.tree
    return Demand(
        pods=rows_of_pods(requester.pods, view),
        constraints=constraints_under(profile),
        needed=tree.needed,
        priority=requester.priority,
        may_preempt=requester.may_preempt,
        nominated=reserved_rows(requester.pods, view, reserved),
        topology_key=tree.topology_key,
        allowed=_domain_of_members(requester, view) if tree.topology_key and tree.running else None,
        effort=Effort(profile.planning_effort),
    )


def _domain_of_members(requester: WaitingGroup, view: Snapshot) -> Mask:
    """The domain of the members that run already; no node at all if they run in several."""
    column, group = (
        view.nodes.label(requester.tree.topology_key),
        view.pods.groups.index[requester.key.object],
    )
    there = view.where[(view.pods.groups.codes == group) & (view.where != NOWHERE)]
    codes = set(column.codes[there].tolist())
    return column.codes == codes.pop() if len(codes) == 1 and 0 not in codes else column.codes < 0
