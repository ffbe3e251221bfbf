"""All that the scheduler remembers, and the small steps that keep its parts in agreement.

The world mirrors what the cluster shows, the ledger keeps what was promised and is not shown yet, the queue
orders demands, and plans are being carried out. What follows from events is decided elsewhere: ``enqueueing``
(demands), ``binding`` (pods that have a place), ``plan_driver`` (open plans), ``deciding``.
"""

from collections.abc import Iterable
from math import inf
from typing import Protocol

from reprieve.model.effects import Effect, Target
from reprieve.model.events import Change
from reprieve.model.groups import GroupKey, group_key, key_of
from reprieve.model.moment import Due, Moment
from reprieve.model.objects import Node, Pod, PodGroup
from reprieve.preemption.criteria import LOST_WORK
from reprieve.preemption.policy import Resizes
from reprieve.preemption.toleration import toleration_of
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands import (
    NotYet,
    Requester,
    WaitingGroup,
    report_waiting,
    requester_of,
)
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.ledger.assumed import Assumed, Promise
from reprieve.scheduler.ledger.unit_evictions import BEHIND_SECONDS, UnitPod
from reprieve.scheduler.mirror.group_mirror import GroupRuns
from reprieve.scheduler.mirror.ledger_columns import LedgerColumns
from reprieve.scheduler.mirror.tombstones import Tombstones
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.plans.backoffs import PreemptionBackoff, ResendBackoff
from reprieve.scheduler.plans.handover import is_marked
from reprieve.scheduler.plans.open_plans import Plans
from reprieve.scheduler.plans.plan_log import PlanLog
from reprieve.scheduler.plans.recent_evictions import RecentEvictions
from reprieve.scheduler.queue.equivalence import Refusals, Stamp
from reprieve.scheduler.queue.gang_growth import GangGrowth
from reprieve.scheduler.queue.improvements import Improvements
from reprieve.scheduler.queue.queue import FLUSH_SECONDS, Queue
from reprieve.scheduler.reporting.annotation_reports import CheckpointReports, VictimAnnotationReports
from reprieve.scheduler.reporting.delayed_reports import LateGangReports, RefusedReports
from reprieve.scheduler.reporting.status_reporter import StatusReporter, is_of_all_pods
from reprieve.scheduler.set_aside import SchedulerFailure, SetAsideEvents
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.targets import group_target, pod_target


class Timed(Protocol):
    """Something may be due here even if nothing happens."""

    def next_time(self) -> float | None:
        """When that is, on the clock for durations; None if nothing is."""


class State:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.outbox = Outbox()
        self.ledger = Ledger(settings.stuck_victim_seconds)
        self.world = World(self.ledger.assumed, self.ledger.budget_lag)
        self.columns = LedgerColumns(self.ledger)
        self.queue = Queue(settings.backoff)
        self.plans = Plans(self.ledger.victims)
        self.improvements = Improvements()
        self.plan_log = PlanLog()
        self.faults: dict[Target, str] = {}  # pods whose spec cannot be honoured
        self.reporter = StatusReporter(self.outbox)
        self.late_gangs = LateGangReports()
        self.group_runs = GroupRuns()
        self.gang_growth = GangGrowth(settings.resize_window)
        self.refused_reports = RefusedReports()
        self.checkpoint_reports = CheckpointReports(
            self.outbox, active=any(LOST_WORK in policy.disturbance for policy in settings.policies.values())
        )
        self.victim_reports = VictimAnnotationReports(
            self.outbox, settings.policies.values(), settings.profiles
        )
        self.tombstones = Tombstones()
        self.preemption_backoff = PreemptionBackoff()
        self.evictions = RecentEvictions(settings.longest_eviction_window)
        self.resend_backoff: ResendBackoff[Effect] = ResendBackoff()
        self.regrouped: set[GroupKey] = set()  # groups whose priorities are to be compared
        # Demands of groups to be enqueued anew when all events of a step are seen, and whether each changed.
        self.to_enqueue: dict[DemandKey, bool] = {}
        self.held_units: frozenset[str] = frozenset()  # whose waiting pods were told to wait
        self.groups_in_units: frozenset[GroupKey] = frozenset()  # of which pods were evicted with a unit
        self.rerun: set[GroupKey] = set()  # groups of which pods were bound or are being deleted since
        self.resized: set[GroupKey] = set()  # groups of which pods asked to grow, or ask no more
        self.set_aside = SetAsideEvents()
        self.failures: list[SchedulerFailure] = []  # those of the last step
        self.refusals = Refusals(FLUSH_SECONDS)
        self.synced = False

    def stamp(self) -> Stamp:
        """How much has happened: a refusal that is remembered holds until something may help."""
        return Stamp(self.queue.happened(), self.ledger.edition, self.world.edition)

    def next_time(self) -> Due:
        """When something is to be done even if nothing happens."""
        times = [time for one in self._timed() if (time := one.next_time()) is not None]
        date = self.queue.next_date()
        return Due(min(times, default=inf), inf if date is None else date)

    def _timed(self) -> tuple[Timed, ...]:
        """All that something is due in after a while."""
        own = self.queue, self.resend_backoff, self.set_aside, self.late_gangs, self.refused_reports
        return *own, *self.ledger.timed()

    def requester(self, key: DemandKey) -> Requester | NotYet | None:
        """The demand of this key as things stand; None if it needs nothing any more."""
        found = requester_of(self.world, key, self.settings.group_rules, self.resizes(key))
        if found is None or isinstance(found, NotYet):
            return found
        return self._held_back(found) or found

    def _held_back(self, requester: Requester) -> NotYet | None:
        key = requester.key
        faulty = [pod for pod in requester.pods if pod_target(pod.pod) in self.faults]
        if faulty and isinstance(requester, WaitingGroup):
            name = faulty[0].pod.metadata.name
            text = f"{key.object_kind} {key.namespace}/{key.name} waits for pod {name}, which is faulty"
            return NotYet(text, tuple(pod for pod in requester.pods if pod not in faulty))
        if faulty:
            return NotYet("")
        if self.world.is_ending(key.namespace):
            # The API server starts nothing there: a bind would fail, and evictions for it would be in vain.
            text = f"namespace {key.namespace} is being deleted, and nothing can start there"
            return NotYet(text, requester.pods)
        pods = requester.pods if key.kind is not DemandKind.RESIZE else ()
        groups = {group for pod in pods if (group := group_key(pod.pod)) is not None}
        held = next((group for group in sorted(groups) if self.is_being_preempted(group)), None)
        if held is not None:
            name = "/".join(held)
            text = f"PodGroup {name} is being preempted: its pods start when all preempted pods are gone"
            return NotYet(text, requester.pods)
        return None

    # --- whole units that are being evicted ---

    def unit_of(self, group: GroupKey | None) -> str | None:
        """The name of the unit that the pods of a group are evicted with; None if each goes alone.

        A group around it that appears meanwhile does not change the unit whose eviction has begun.
        """
        if group is None:
            return None
        begun = self.ledger.unit_evictions.unit_of(group) or self.ledger.open_marks.unit_of(group)
        found = self.world.groups.tree().unit(group) if begun is None else None
        return found[0] if found is not None else begun

    def demand_of(self, pod: Pod) -> DemandKey:
        """The demand that a waiting pod is part of."""
        return self.settings.demand_of_pod(pod, self.world.groups.tree())

    def pod_groups_of(self, key: DemandKey) -> list[PodGroup]:
        """The known PodGroups of a demand."""
        match key.kind:
            case DemandKind.GROUP:
                keys = [key.object]
            case DemandKind.TREE:
                keys = self.world.groups.tree().leaves(key.object)
            case _:
                keys = []
        return [group for group in map(self.world.groups.group, keys) if group is not None]

    def units_of(self, key: DemandKey) -> frozenset[str]:
        """The units that pods of a demand would be evicted with."""
        units = (self.unit_of(key_of(group)) for group in self.pod_groups_of(key))
        return frozenset(unit for unit in units if unit is not None)

    def is_evicting(self) -> bool:
        """Whether any plan is open, or the eviction of any unit has begun."""
        return bool(len(self.plans) or len(self.ledger.unit_evictions) or len(self.ledger.open_marks))

    def is_being_preempted(self, group: GroupKey) -> bool:
        """Whether its pods without a node wait until all of its pods with one are gone."""
        if not (len(self.ledger.unit_evictions) or len(self.ledger.open_marks) or self.committing()):
            return False
        return self.unit_of(group) in self.units_held()

    def units_held(self) -> frozenset[str]:
        """Those with a pod that is waited for, or with a mark that is not closed yet."""
        begun = (unit for unit in self.ledger.unit_evictions.units() if self.is_waited_for(unit))
        return self.committing().union(begun, self.ledger.open_marks.units())

    def groups_being_evicted(self) -> frozenset[GroupKey]:
        """Groups with pods that are evicted with a unit, or with a mark that is not closed yet."""
        return self.ledger.unit_evictions.groups() | self.ledger.open_marks.groups()

    def is_waited_for(self, unit: str) -> bool:
        """Whether a pod of this unit is on its way."""
        return self.ledger.unit_evictions.holds(unit, self.is_over)

    def committing(self) -> frozenset[str]:
        """Units whose eviction is about to begin."""
        plans = self.plans.committing()
        marks = {(mark.namespace, mark.name) for plan in plans for mark in plan.marks}
        return frozenset(unit for unit in map(self.unit_of, marks) if unit is not None)

    def is_over(self, one: UnitPod) -> bool:
        """Whether a pod of a unit is not waited for: it is stuck, or stays, or its node is gone."""
        pod = one.pod
        gone = not self.world.node_of((pod.namespace, pod.name))
        return gone or one.is_refused_for_good or self.ledger.terminating.is_stuck(pod)

    def is_past(self, one: UnitPod, now: float) -> bool:
        """Whether a pod that is shown with a node only now got it after this pod of its unit was deleted."""
        if one.is_refused_for_good:
            return now - one.begun >= BEHIND_SECONDS
        terminating = self.ledger.terminating
        may_be_behind = not terminating.has_lasted(one.pod, BEHIND_SECONDS, now)
        return self.is_over(one) and not (terminating.is_stuck(one.pod) and may_be_behind)

    def charged_victims(self) -> set[Target]:
        """Pods whose eviction budgets are charged with: chosen by a plan, or part of a unit that goes."""
        return {*self.plans.victims(), *self.ledger.unit_evictions.pods}

    def resizes(self, key: DemandKey) -> Resizes | None:
        """How a resize of the pod of this name becomes a demand; None if it does not."""
        known = self.world.pod(key.object) if key.kind is DemandKind.RESIZE else None
        return self.resizes_of(known.pod) if known is not None else None

    def resizes_of(self, pod: Pod) -> Resizes | None:
        policy = self.settings.policies.get(pod.spec.scheduler_name)
        return policy.resizes if policy is not None else None

    def forbidden(self, key: DemandKey, pod: Pod, node: Node) -> str:
        """Why no pod would be evicted for a resize of a pod like this on a node like this."""
        resizes = self.resizes(key)
        return resizes.forbidden(pod, node) if resizes is not None else ""

    def only_node(self, key: DemandKey) -> str:
        """The only node that can help a demand; empty if any can."""
        known = self.world.pod(key.object) if key.kind is DemandKind.RESIZE else None
        return known.pod.spec.node_name if known is not None else ""

    def is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self.settings.profiles and not pod.metadata.deletion_timestamp

    def wake(self, changes: Iterable[Change], now: Moment, *nodes: str) -> None:
        """``nodes`` is where it happened, if anywhere."""
        for change in changes:
            self.queue.wake(change, now.elapsed, nodes=nodes)

    def on_clock_began(self, since: float) -> None:
        """The time of pods that tolerate preemption counts from now on: no toleration can end before this."""
        lengths = (toleration_of(known).seconds for known in self.world.groups.classes.values())
        shortest = min((seconds for seconds in lengths if seconds > 0), default=inf)
        if shortest < inf:
            self.queue.hasten(Change.CLOCKS, since + shortest)

    def settle(self, pod: Target, now: Moment) -> Assumed | None:
        """Ends a promise. Volumes count as they are shown again, unless another promise shares the step."""
        assumed = self.ledger.assumed.settle(pod)
        if assumed is not None and not all(map(self.ledger.assumed.needs, assumed.steps)):
            self.wake(self.world.volume_steps_changed(), now)
        return assumed

    def note_mark(self, thing: Pod | PodGroup) -> None:
        """The object shows a mark, or shows none any more."""
        target = pod_target(thing) if isinstance(thing, Pod) else group_target(thing)
        self.ledger.victims.on_seen(target, marked=is_marked(thing))

    def runs_on(self, group: Target) -> bool:
        """Whether pods of a group have their node, and none of them is leaving."""
        pods = map(self.world.pod, self.world.groups.members((group.namespace, group.name)))
        placed = [pod.pod for pod in pods if pod is not None and pod.pod.spec.node_name]
        return bool(placed) and not any(
            pod.metadata.deletion_timestamp or pod_target(pod) in self.ledger.terminating for pod in placed
        )

    def report(self, requester: Requester, text: str) -> None:
        """Why a demand has not got what it needs, on each of its pods and on its group."""
        report_waiting(self.reporter, requester.key, requester.pods, text)
        if isinstance(requester, WaitingGroup):
            self.report_groups(requester, text)
            if (left_out := requester.left_out) is not None:
                report_waiting(self.reporter, requester.key, left_out.pods, left_out.text)

    def report_groups(self, requester: WaitingGroup, text: str) -> None:
        for group in requester.tree.leaves():
            self.reporter.report_waiting_group(group, text)

    def report_improving(self, requester: WaitingGroup, text: str) -> None:
        """Whatever becomes of the plan is reported in its place, also by a scheduler that takes over."""
        for group in requester.tree.leaves():
            self.reporter.report_waiting_group(group, text, "ImprovingPlan")

    def on_unreported(self, effect: Effect, now: Moment) -> None:
        """A write failed, or its outcome is unknown: what it said counts as not said."""
        self.reporter.on_unreported(effect)
        if is_of_all_pods(effect):
            self.refused_reports.refused((effect.target.namespace, effect.target.name), now.elapsed)

    def is_preparing(self, pod: Target) -> bool:
        assumed = self.ledger.assumed.of(pod)
        return assumed is not None and assumed.state is Promise.PREPARING
