"""A demand of the pods of a group or of a tree of groups: as many as it needs are placed together, or none.

If it fits its pods are bound, and any node may help it. How it waits for its pods is in ``awaited_members``.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.effects import Target
from reprieve.model.events import Change
from reprieve.model.groups import GroupKey, group_key, key_of
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints import constraints_under
from reprieve.placement.demand import Branch, Demand
from reprieve.placement.effort import Effort
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands.awaited_members import (
    GroupMembers,
    gated_members,
    group_members,
    missing_members,
)
from reprieve.scheduler.demands.group_rules import GroupRules, Membership
from reprieve.scheduler.demands.group_tree import GroupTree, tree_of
from reprieve.scheduler.demands.pod import NotYet, reserved_rows, rows_of_pods
from reprieve.scheduler.demands.queueing_hints import helpful
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.reporting.decision import Finding, Growth
from reprieve.scheduler.targets import group_target, pod_target


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    key: DemandKey
    pods: tuple[CompiledPod, ...]  # of the whole tree, those without a node, in the order of placement
    priority: int
    may_preempt: bool
    tree: GroupTree
    left_out: NotYet | None = None  # pods of the tree that wait in groups that lack others

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
    group, name = world.groups.group(key.object), _name(key)
    missing = missing_members(name, group, members)
    if group is None or missing is not None:
        return missing
    tree = GroupTree(group, len(members.placed), rules.topology_key(group), waiting=len(members.waiting))
    return _checked(world, key, rules, tree, members)


def waiting_tree(world: World, key: DemandKey, rules: GroupRules) -> WaitingGroup | NotYet | None:
    """The demand of all groups below a CompositePodGroup that is in no other; None if no pod waits."""
    groups = world.groups.tree()
    leaves = {leaf: group_members(world, leaf) for leaf in groups.leaves(key.object)}
    waiting = tuple(pod for members in leaves.values() for pod in members.waiting)
    if not waiting:
        return None
    root = groups.composites.get(key.object)
    if root is None:
        return NotYet(f"{_name(key)} does not exist yet", waiting, flaw="ParentMissing")
    tree = tree_of(groups, root, lambda leaf: _counts(leaves[leaf]), rules.topology_key)
    if gated := [pod.pod for pod in waiting if pod.pod.spec.scheduling_gates]:
        return gated_members(_name(key), gated, waiting)
    part, lacking = tree.decidable(), tree.lacking()
    if lacking is not None and (part is None or not part.has_waiting):
        return NotYet(lacking.incomplete_text(), waiting, arriving=True)
    tree = part or tree
    order = [pod for leaf in tree.leaves() for pod in leaves[key_of(leaf)].waiting]
    placed = tuple(pod for members in leaves.values() for pod in members.placed)
    found = _checked(world, key, rules, tree, GroupMembers(tuple(order), placed))
    decided = {pod.pod.metadata.name for pod in order}
    others = tuple(pod for pod in waiting if pod.pod.metadata.name not in decided)
    if isinstance(found, NotYet) or lacking is None or not others:
        return found
    return replace(found, left_out=NotYet(lacking.incomplete_text(), others))


def _counts(members: GroupMembers) -> tuple[int, int]:
    return len(members.placed), len(members.waiting)


def _checked(
    world: World, key: DemandKey, rules: GroupRules, tree: GroupTree, members: GroupMembers
) -> WaitingGroup | NotYet:
    """What the outermost group says counts for all; any leaf leads to it."""
    groups, waiting, leaf = world.groups, members.waiting, next(tree.leaves())
    policy, priority = rules.preemption_policy(groups, leaf), rules.priority(groups, leaf, waiting)
    if problem := groups.tree().ancestry(key_of(leaf)).problem:
        return NotYet(f"{_name(key)} cannot be scheduled: {problem}", waiting, flaw="Invalid")
    membership = Membership(leaf, (*waiting, *members.placed), priority, policy)
    wrong = next(filter(None, (check(groups, membership) for check in rules.checks)), "")
    if wrong:
        return NotYet(f"{_name(key)} cannot be scheduled: {wrong}", waiting)
    never = rules.never_preempts(groups, leaf)
    never = never or any(pod.pod.spec.preemption_policy == "Never" for pod in waiting)
    return WaitingGroup(key, waiting, priority, not never, tree)


def _name(key: DemandKey) -> str:
    return f"{key.object_kind} {key.namespace}/{key.name}"


def waiting_group_demand(
    requester: WaitingGroup, view: Snapshot, profile: Profile, reserved: Mapping[Target, str]
) -> Demand:
    tree = requester.tree
    demand = Demand(
        pods=rows_of_pods(requester.pods, view),
        constraints=constraints_under(profile),
        needed=tree.needed,
        priority=requester.priority,
        may_preempt=requester.may_preempt,
        nominated=reserved_rows(requester.pods, view, reserved),
        topology_key=tree.topology_key,
        effort=Effort(profile.planning_effort),
    )
    if not tree.is_composite:
        return replace(demand, allowed=_domain_of_members(tree, view))
    positions: dict[GroupKey, list[int]] = {}
    for position, pod in enumerate(requester.pods):
        if (leaf := group_key(pod.pod)) is not None:
            positions.setdefault(leaf, []).append(position)
    branch = _branch(tree, positions, view)
    return replace(demand, tree=branch, allowed=branch.allowed)


def _branch(tree: GroupTree, positions: Mapping[GroupKey, Sequence[int]], view: Snapshot) -> Branch:
    key, allowed = tree.topology_key, _domain_of_members(tree, view)
    if tree.is_composite:
        children = tuple(_branch(child, positions, view) for child in tree.children)
        return Branch(tree.least, (), children, key, allowed)
    return Branch(max(0, tree.least - tree.running), tuple(positions.get(tree.key, ())), (), key, allowed)


def _domain_of_members(tree: GroupTree, view: Snapshot) -> Mask | None:
    """The domain of the members that run already; no node at all if they run in several; None: any."""
    if not (tree.topology_key and tree.has_running):
        return None
    column, index = view.nodes.label(tree.topology_key), view.pods.groups.index
    groups = [index[key_of(leaf)] for leaf in tree.leaves() if key_of(leaf) in index]
    there = view.where[np.isin(view.pods.groups.codes, groups) & (view.where != NOWHERE)]
    codes = set(column.codes[there].tolist())
    return column.codes == codes.pop() if len(codes) == 1 and 0 not in codes else column.codes < 0
