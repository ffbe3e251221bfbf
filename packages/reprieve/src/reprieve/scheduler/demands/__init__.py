"""The kinds of demand: a pod, a group of pods, a resize. What a kind does differently stands in its module.

A requester is a demand in words of the cluster; ``placement.demand`` has the same in rows of a snapshot.
Every kind has these in common:

- ``key``, ``pods`` (those that wait), ``priority``, ``may_preempt``, ``target`` (which decisions name);
- ``needed``: how many pods must find a node for any to get one; ``is_starting``: its pods need each other;
- ``nominates``: its pods are nominated to the nodes they wait for;
- ``forbidden``: why no pod may be evicted for it, whichever pods there are; empty if pods may be;
- ``growth``: what a resize adds; ``helped_by``, ``considered`` and ``relevant``: which changes deserve
  another decision, how many nodes there were to choose from, and which findings are worth reporting.
"""

from collections.abc import Iterable, Mapping

from reprieve.model.effects import Target
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Demand
from reprieve.placement.profile import Profile
from reprieve.preemption.policy import Resizes
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands.group import WaitingGroup, waiting_group, waiting_group_demand, waiting_tree
from reprieve.scheduler.demands.group_priority import group_priority
from reprieve.scheduler.demands.group_rules import GroupRules
from reprieve.scheduler.demands.not_decidable_yet import NotYet
from reprieve.scheduler.demands.pod import WaitingPod, report_unscheduled, waiting_pod, waiting_pod_demand
from reprieve.scheduler.demands.resize import (
    WaitingResize,
    report_deferred,
    waiting_resize,
    waiting_resize_demand,
)
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.reporting.status_reporter import StatusReporter

__all__ = [
    "NotYet",
    "Requester",
    "WaitingGroup",
    "WaitingPod",
    "WaitingResize",
    "demand_of",
    "priority_of",
    "report_waiting",
    "requester_of",
]

Requester = WaitingPod | WaitingGroup | WaitingResize


def requester_of(
    world: World, key: DemandKey, rules: GroupRules, resizes: Resizes | None = None
) -> Requester | NotYet | None:
    """The demand of this key as the cluster shows it; None if it needs nothing any more."""
    match key.kind:
        case DemandKind.POD:
            return waiting_pod(world, key)
        case DemandKind.GROUP:
            return waiting_group(world, key, rules)
        case DemandKind.TREE:
            return waiting_tree(world, key, rules)
        case DemandKind.RESIZE:
            return waiting_resize(world, key, resizes, rules)


def priority_of(world: World, key: DemandKey, rules: GroupRules) -> int:
    """The priority of a demand, whether or not it can be decided yet."""
    if key.kind.is_of_groups:
        return group_priority(world, key, rules.priority)
    pod = world.pod(key.object)
    return pod.pod.spec.priority or 0 if pod is not None else 0


def demand_of(
    requester: Requester, view: Snapshot, profile: Profile, reserved: Mapping[Target, str], now: float
) -> tuple[Demand, Snapshot]:
    """The demand in rows, and the snapshot in which it is to be placed.

    ``reserved``: pods for which room is kept, and on which node.
    """
    match requester:
        case WaitingPod():
            return waiting_pod_demand(requester, view, profile, reserved), view
        case WaitingGroup():
            return waiting_group_demand(requester, view, profile, reserved), view
        case WaitingResize():
            return waiting_resize_demand(requester, view, profile, now)


def report_waiting(
    reporter: StatusReporter,
    key: DemandKey,
    pods: Iterable[CompiledPod],
    text: str,
    silent: Target | None = None,
) -> None:
    """Why pods of a demand have not got what they need. ``silent``: a pod that gets no event."""
    match key.kind:
        case DemandKind.POD | DemandKind.GROUP | DemandKind.TREE:
            report_unscheduled(reporter, pods, text, silent)
        case DemandKind.RESIZE:
            report_deferred(reporter, pods, text)
