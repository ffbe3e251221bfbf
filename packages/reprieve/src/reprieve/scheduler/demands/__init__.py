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
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.effects import Target
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Demand, Promised
from reprieve.placement.place import Unplaceable
from reprieve.placement.profile import Profile
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Resizes
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands.group import WaitingGroup, waiting_group, waiting_group_demand, waiting_tree
from reprieve.scheduler.demands.group_rules import GroupRules, group_priority
from reprieve.scheduler.demands.pod import (
    NotYet,
    WaitingPod,
    report_unscheduled,
    waiting_pod,
    waiting_pod_demand,
)
from reprieve.scheduler.demands.resize import (
    WaitingResize,
    report_deferred,
    waiting_resize,
    waiting_resize_demand,
)
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.reporting.status_reporter import IMPROVING, Notice, StatusReporter

__all__ = [
    "NotYet",
    "Requester",
    "WaitingGroup",
    "WaitingPod",
    "WaitingResize",
    "demand_of",
    "priority_of",
    "report_demand",
    "report_improving",
    "report_waiting",
    "report_waiting_groups",
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
    notice: Notice,
    silent: Target | None = None,
) -> None:
    """Why pods of a demand have not got what they need. ``silent``: a pod that gets no event."""
    match key.kind:
        case DemandKind.POD | DemandKind.GROUP | DemandKind.TREE:
            report_unscheduled(reporter, pods, notice, silent)
        case DemandKind.RESIZE:
            report_deferred(reporter, pods, notice)


def report_demand(reporter: StatusReporter, requester: Requester, notice: Notice) -> None:
    """Why a demand has not got what it needs, on each of its pods and on its group."""
    report_waiting(reporter, requester.key, requester.pods, notice)
    if isinstance(requester, WaitingGroup):
        report_waiting_groups(reporter, requester, notice)
        if (left_out := requester.left_out) is not None:
            report_waiting(reporter, requester.key, left_out.pods, Notice(left_out.text))


def report_waiting_groups(reporter: StatusReporter, requester: WaitingGroup, notice: Notice) -> None:
    for group in requester.tree.leaves():
        reporter.report_waiting_group(group, notice)


def report_improving(reporter: StatusReporter, requester: WaitingGroup, text: str) -> None:
    """Whatever becomes of the plan is reported in its place, also by a scheduler that takes over."""
    for group in requester.tree.leaves():
        reporter.report_waiting_group(group, Notice(text), IMPROVING)


# --- a demand that is being decided --------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class DecisionContext:
    """A demand that is being decided, with all that matters for it at this moment.

    It is there in words of the cluster and in rows. All pods and nodes are rows of the view."""

    requester: Requester
    demand: Demand
    view: Snapshot
    profile: Profile
    promised: Promised  # room that is reserved for other demands
    in_flight: Ints  # victims of other plans, and pods that an earlier run of ours has marked
    charged: Ints  # those of them that budgets count as disrupted: a mark alone may be cleared
    stuck: tuple[int, ...] = ()  # pods that should be gone, and may never go
    staying: tuple[int, ...] = ()  # pods whose eviction the API server has rejected
    later: frozenset[int] = frozenset()  # pods of equal priority with room reserved after this demand's
    unplaced: Unplaceable | None = None  # why the demand does not fit as things are; None: not known yet
    restrained: float | None = None  # until when no pod is evicted for it, since earlier victims went in vain

    @property
    def promised_before(self) -> Promised:
        """Room that was reserved for other demands when room was reserved for this one."""
        if not self.later:
            return self.promised
        pods, nodes = (np.asarray(rows, np.int64) for rows in (self.promised.pods, self.promised.nodes))
        kept = ~np.isin(pods, [*self.later])
        return Promised(pods[kept], nodes[kept])

    def beside(self, plan: Plan) -> "DecisionContext":
        """The context of the demand's next pod: room is reserved for the plan, its victims are in flight."""
        pods, nodes = zip(*plan.places, strict=True)
        promised = Promised((*self.promised.pods, *pods), (*self.promised.nodes, *nodes))
        victims = np.array([row for unit in plan.victims for row in unit.pods], np.int64)
        in_flight, charged = (np.union1d(victims, rows) for rows in (self.in_flight, self.charged))
        return replace(self, promised=promised, in_flight=in_flight, charged=charged, unplaced=None)

    @property
    def leaving(self) -> Ints:
        """Pods that are being deleted, for whatever reason: their room will be free."""
        view = self.view
        leaving = np.flatnonzero(view.pods.terminating & (view.where != NOWHERE))
        return np.setdiff1d(leaving, self.stuck) if self.stuck else leaving
