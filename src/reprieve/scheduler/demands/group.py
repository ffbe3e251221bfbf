"""A demand of the pods of a group: as many as its gang needs are placed together, or none.

If it fits its pods are bound, and any node may help it. How it waits for its pods is in ``incomplete_gang``.
"""

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from reprieve.model.columns import Mask
from reprieve.model.effects import Target
from reprieve.model.objects import PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints import constraints_under
from reprieve.placement.demand import Demand
from reprieve.placement.effort import Effort
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code
from reprieve.scheduler.decision import Finding, Growth
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands.group_members import group_members
from reprieve.scheduler.demands.group_rules import GroupRules, Membership
from reprieve.scheduler.demands.incomplete_gang import missing_members
from reprieve.scheduler.demands.not_decidable_yet import NotYet
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
    members = group_members(world, key.object)
    if not members.waiting:
        return None
    group, name = world.groups.group(key.object), f"PodGroup {key.namespace}/{key.name}"
    missing = missing_members(name, group, members)
    if group is None or missing is not None:
        return missing
    waiting, placed = members.waiting, members.placed
    policy = rules.preemption_policy(world.groups, group)
    priority = rules.priority(world.groups, group, waiting)
    membership = Membership(group, (*waiting, *placed), priority, policy)
    wrong = next(filter(None, (check(world.groups, membership) for check in rules.checks)), "")
    if wrong:
        return NotYet(f"{name} cannot be scheduled: {wrong}", waiting)
    never = rules.never_preempts(world.groups, group)
    never = never or any(pod.pod.spec.preemption_policy == "Never" for pod in waiting)
    tree = GroupTree(group, len(placed), rules.topology_key(group))
    return WaitingGroup(key, waiting, priority, not never, tree)


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
