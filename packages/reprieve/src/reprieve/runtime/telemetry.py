"""When each metric changes: a function of events, effects, decisions and plan records.

The scheduler knows nothing of metrics. Their names and labels are defined in ``metric_definitions``. What
became of a plan is read from its records, and never inferred.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import Gauge

from reprieve.model.effects import Bind, Effect, Target
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Unknown
from reprieve.model.groups import GroupKey, group_key, key_of
from reprieve.model.moment import Moment
from reprieve.model.objects import CompositePodGroup, Pod, PodGroup
from reprieve.placement.rejection_codes import Code
from reprieve.preemption.criteria import CRITERIA, PRIORITY_SUM, Combined
from reprieve.preemption.plan import Why
from reprieve.runtime.metric_definitions import Metrics
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import (
    EndReason,
    GrowthEnd,
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    Preemptor,
    StageReached,
    VictimsJudged,
)
from reprieve.scheduler.queue.queue import Standing
from reprieve.scheduler.reporting.decision import (
    Decided,
    Decision,
    Measured,
    Outcome,
    PlanQuality,
    Preemption,
)

# kube-scheduler's names of its queues. It gates a preemptor while its victims are being evicted.
QUEUES = {
    Standing.ACTIVE: "active",
    Standing.DECIDING: "active",
    Standing.BACKOFF: "backoff",
    Standing.WAITING: "unschedulable",
    Standing.GATED: "gated",
    Standing.HELD: "gated",
}
_GROUP_RESULTS = {
    Outcome.PLACED: "scheduled",
    Outcome.UNSCHEDULABLE: "unschedulable",
    Outcome.PREEMPTS: "waiting_on_preemption",
    Outcome.WAITING: "waiting_on_preemption",
    Outcome.IMPROVING: "waiting_on_preemption",
    Outcome.ERROR: "error",
}
_MANY_ATTEMPTS = 15
_DEEPEST = 4  # levels of a tree of groups
_OPERATION = "preemption"  # the only one of kube-scheduler's goroutines for which there is something here
# Then no eviction was considered.
_NEVER_LOOKED = frozenset({Why.OFF, Why.IN_VAIN, Why.NEVER_PREEMPTS, Why.GROUP_DEGRADED})

PREEMPTORS: Mapping[Preemptor, str] = {
    Preemptor.POD: "pod",
    Preemptor.POD_GROUP: "podgroup",
    Preemptor.GROWTH: "resize",
}
FAILED = "failed"
# Plans that ended otherwise than by RoomUsed, as the label `reason` groups them.
ABANDONED: Mapping[EndReason, str] = {
    EndReason.PLACED_ELSEWHERE: "placed_elsewhere",
    EndReason.NO_LONGER_NEEDED: "placed_elsewhere",
    EndReason.NO_LONGER_FITS: "replanned",
    EndReason.OUTRANKED: "outranked",
    EndReason.PREEMPTOR_IS_VICTIM: "outranked",
    EndReason.PREEMPTOR_GONE: "preemptor_gone",
    EndReason.PREEMPTOR_CHANGED: "replanned",
    EndReason.PREEMPTOR_NOT_READY: "preemptor_gone",
    EndReason.PREEMPTION_FORBIDDEN: "replanned",
    EndReason.TOLERATIONS_CHANGED: "replanned",
    EndReason.VICTIMS_CHANGED: "replanned",
    EndReason.NOMINATION_FAILED: FAILED,
    EndReason.MARK_FAILED: FAILED,
    EndReason.EVICTION_FAILED: FAILED,
    EndReason.VICTIM_STUCK: "stuck",
    EndReason.NODE_GONE: "node_gone",
    EndReason.SCHEDULER_FAILED: FAILED,
}


@dataclass(frozen=True, slots=True)
class _Waiting:
    since: float
    profile: str
    group: GroupKey | None


@dataclass(frozen=True, slots=True)
class _Binding:
    since: float  # when the pod could first be scheduled
    decided: float
    attempts: int
    profile: str


class Telemetry:
    def __init__(self) -> None:
        self._pending: Callable[[], Mapping[Standing, int]] = dict
        self._known: Callable[[], Mapping[str, int]] = dict
        self._metrics = Metrics(lambda: _by_queue(self._pending()), lambda: dict(self._known()))
        self._waiting: dict[Target, _Waiting] = {}
        self._binding: dict[Target, _Binding] = {}
        self._attempts: dict[Target, int] = {}  # until a pod is bound, or a group placed
        self._profiles: dict[GroupKey, dict[Target, str]] = {}  # of the pods that wait, by group
        self._parents: dict[tuple[str, GroupKey], str] = {}  # by kind and key, of groups that are in another
        self._rejections = Rejections(self._metrics.unschedulable)
        self._begin_with_zero()

    def read_from(
        self, pending: Callable[[], Mapping[Standing, int]], known: Callable[[], Mapping[str, int]] = dict
    ) -> None:
        """A scheduler starts: it has no plans yet, and its queues and its cache are read at each scrape."""
        self._pending, self._known = pending, known
        self._metrics.open.set(0)

    def set_leading(self, lease: str, *, now: bool) -> None:
        self._metrics.leads.labels(lease).set(int(now))

    def on_response(self, host: str, method: str, code: int | None, seconds: float) -> None:
        """An API server answered a request; without a code, no answer came."""
        self._metrics.requests(str(code or "<error>"), method, host).inc()
        self._metrics.request_seconds(method, host).observe(seconds)

    def text(self) -> bytes:
        """All metrics, as Prometheus reads them."""
        return self._metrics.text()

    def _begin_with_zero(self) -> None:
        """A series that first appears with the value 1 does not show as an increase in Prometheus."""
        metrics = self._metrics
        for result in ("success", "error"):
            metrics.executions(result)
            metrics.operations(_OPERATION, result)
        for end in GrowthEnd:
            metrics.resizes_ended(end)
        for preemptor in PREEMPTORS.values():
            metrics.begun(preemptor)
            metrics.ready(preemptor)
            for reason in ABANDONED.values():
                metrics.abandoned(preemptor, reason)

    # --- events ---

    def on_observed(self, events: Sequence[Event], effects: Sequence[Effect], now: Moment) -> None:
        for event in events:
            match event:
                case Seen(Pod() as pod):
                    self._on_seen(pod, now.elapsed)
                case Seen(PodGroup() | CompositePodGroup() as group) if group.spec.parent:
                    self._parents[type(group).__name__, key_of(group)] = group.spec.parent
                case Gone(target):
                    self._on_gone(target)
                case Done(effect) | Failed(effect) | Unknown(effect):
                    self._on_ended(effect, event, now.elapsed)

    def _on_seen(self, pod: Pod, now: float) -> None:
        meta, spec = pod.metadata, pod.spec
        target = Target("Pod", meta.namespace, meta.name, meta.uid)
        if spec.node_name:
            self._on_bind_ended(target, now, well=True)  # also if the answer to the bind was lost
            self._end_wait(target)
        elif target not in self._waiting and not spec.scheduling_gates:
            waiting = self._waiting[target] = _Waiting(now, spec.scheduler_name, group_key(pod))
            if waiting.group is not None:
                self._profiles.setdefault(waiting.group, {})[target] = waiting.profile

    def _on_gone(self, target: Target) -> None:
        self._end_wait(target)
        self._parents.pop((target.kind, (target.namespace, target.name)), None)
        self._binding.pop(target, None)

    def _end_wait(self, target: Target) -> None:
        self._attempts.pop(target, None)
        self._rejections.end(target.kind, target.namespace, target.name)
        waiting = self._waiting.pop(target, None)
        if waiting is not None and waiting.group is not None:
            others = self._profiles[waiting.group]
            del others[target]
            if not others:
                del self._profiles[waiting.group]
                self._end_wait_of_group(waiting.group)

    def _end_wait_of_group(self, group: GroupKey) -> None:
        """A tree of which no other group waits does not wait either."""
        self._rejections.end("PodGroup", *group)
        root = self._root(group)
        if root is not None and not any(self._root(other) == root for other in self._profiles):
            self._rejections.end("CompositePodGroup", *root)

    def _root(self, group: GroupKey) -> GroupKey | None:
        """The outermost group around it; None if it is in no other, or groups are in each other."""
        name, found = self._parents.get(("PodGroup", group)), None
        for _ in range(_DEEPEST):
            if name is None:
                return found
            found = (group[0], name)
            name = self._parents.get(("CompositePodGroup", found))
        return None

    def _on_ended(self, effect: Effect, event: Done | Failed | Unknown, now: float) -> None:
        self._metrics.effects(type(effect).__name__, type(event).__name__.lower()).inc()
        if isinstance(effect, Bind) and not isinstance(event, Unknown):
            self._on_bind_ended(effect.target, now, well=isinstance(event, Done))

    def _on_bind_ended(self, pod: Target, now: float, *, well: bool) -> None:
        binding = self._binding.pop(pod, None)
        if binding is None:
            return
        metrics, result = self._metrics, "scheduled" if well else "error"
        metrics.attempts(result, binding.profile).inc()
        metrics.attempt_seconds(result, binding.profile).observe(now - binding.decided)
        if well:
            label = str(binding.attempts) if binding.attempts < _MANY_ATTEMPTS else f"{_MANY_ATTEMPTS}+"
            metrics.sli_seconds(label).observe(now - binding.since)
            metrics.attempts_needed.observe(binding.attempts)

    # --- decisions ---

    def on_decided(self, decided: Decided | None, now: Moment, seconds: float) -> None:
        if decided is None:
            return
        decision = decided.decision
        if decision.outcome is Outcome.PREEMPTS:
            self._count_price(decision)
        if decision.growth is None:
            self._rejections.on_decided(decision, self._profile(decision.demand))
        if decision.growth is not None:
            self._metrics.algorithm_seconds.observe(seconds)
            self._metrics.resize_decisions(decision.outcome).inc()
            if decision.growth.others:
                self._metrics.resizes_together.inc()
            return
        attempts = self._attempts[decision.demand] = self._attempts.get(decision.demand, 0) + 1
        came = "UnscheduledPodAdd" if attempts == 1 else "BackoffComplete"
        self._metrics.incoming("active", came).inc(decision.pods)
        if decision.demand.kind == "Pod":
            self._metrics.algorithm_seconds.observe(seconds)
        else:
            self._count_group(decision, seconds)
        if decision.outcome is Outcome.PLACED:
            self._on_placed(decision, now.elapsed, attempts)
        else:
            self._on_unplaced(decision, seconds)

    def _count_group(self, decision: Decision, seconds: float) -> None:
        labels = _GROUP_RESULTS[decision.outcome], self._profile(decision.demand)
        self._metrics.group_algorithm_seconds.observe(seconds)
        self._metrics.group_attempts(*labels).inc()
        self._metrics.group_attempt_seconds(*labels).observe(seconds)

    def _on_placed(self, decision: Decision, now: float, attempts: int) -> None:
        if decision.demand.kind != "Pod":
            del self._attempts[decision.demand]
        for pod, _ in decision.places:
            waiting = self._waiting.get(pod)
            if waiting is not None:
                self._binding[pod] = _Binding(waiting.since, now, attempts, waiting.profile)

    def _on_unplaced(self, decision: Decision, seconds: float) -> None:
        result = "error" if decision.outcome is Outcome.ERROR else "unschedulable"
        labels = result, self._profile(decision.demand)
        self._metrics.attempts(*labels).inc(decision.pods)
        self._metrics.incoming("unschedulable", "ScheduleAttemptFailure").inc(decision.pods)
        self._metrics.attempt_seconds(*labels).observe(seconds)
        because = decision.eviction.because.code if decision.eviction is not None else Why.OFF
        looked = because not in _NEVER_LOOKED and decision.outcome is not Outcome.ERROR
        if decision.outcome is Outcome.PREEMPTS or looked:
            self._count_search(decision, seconds)

    def _count_search(self, decision: Decision, seconds: float) -> None:
        result = "Success" if decision.outcome is Outcome.PREEMPTS else "Unschedulable"
        self._metrics.evaluation_seconds(_kind_label(decision), result).observe(seconds)
        if decision.demand.kind == "Pod":
            self._metrics.preemption_attempts.inc()
        else:
            self._metrics.workload_preemption_attempts(result).inc()

    def _profile(self, demand: Target) -> str:
        key = demand.namespace, demand.name
        if demand.kind == "CompositePodGroup":
            below = (pods for group, pods in self._profiles.items() if self._root(group) == key)
            return next((profile for pods in below for profile in pods.values()), "")
        if demand.kind != "Pod":
            return next(iter(self._profiles.get(key, {}).values()), "")
        waiting = self._waiting.get(demand)
        return waiting.profile if waiting is not None else ""

    def _count_price(self, decision: Decision) -> None:
        metrics, room = self._metrics, decision.preemption or Preemption()
        preemptor = "resize" if decision.growth is not None else _kind_label(decision)
        metrics.spared.inc(room.units_spared)
        if room.ceiling is not None:
            metrics.ceiling.observe(room.ceiling)
        if room.pods:
            (metrics.workload_victims if preemptor == "podgroup" else metrics.victims).observe(room.pods)
        if decision.growth is not None:
            metrics.resize_victims.inc(room.pods)
        groups = {victim.unit for victim in room.victims if not victim.unit.startswith("Pod/")}
        if groups:
            metrics.disruptions(preemptor).observe(len(groups))
        if room.broken:
            metrics.budget_violations(preemptor).inc(room.broken)
        if room.quality is not None:
            self._count_disturbance(room.quality)

    def _count_disturbance(self, quality: PlanQuality) -> None:
        metrics = self._metrics
        metrics.disturbance_plans(str(quality.proved).lower()).inc()
        metrics.planning_effort.observe(quality.effort)
        for criterion, value in _summed(quality.cost):
            metrics.disturbance(criterion).inc(value)
        for criterion, less in _summed(quality.saved):
            metrics.disturbance_saved(criterion).inc(max(0, less))
        if not quality.proved and quality.bound:
            metrics.disturbance_gap.observe((quality.gap[1] or 0) if quality.gap is not None else 0)

    # --- plans ---

    def on_recorded(self, records: Sequence[PlanRecord]) -> None:
        metrics = self._metrics
        for record in records:
            match record:
                case PlanOpened(preemptor=preemptor):
                    metrics.begun(PREEMPTORS[preemptor]).inc()
                    metrics.open.inc()
                case StageReached(stage=Stage.DRAINING) if record.victims:
                    self._count_execution(record, "success")
                case StageReached():
                    pass
                case PlanEnded():
                    self._on_plan_ended(record)
                case VictimsJudged(wasted=wasted):
                    metrics.wasted.inc(len(wasted))
                case GrowthEnded(end=end, seconds=seconds):
                    metrics.resizes_ended(end).inc()
                    if end is GrowthEnd.GRANTED:
                        metrics.resize_seconds.observe(seconds)

    def _on_plan_ended(self, plan: PlanEnded) -> None:
        metrics, preemptor = self._metrics, PREEMPTORS[plan.preemptor]
        metrics.open.dec()
        if plan.reason is EndReason.ROOM_USED:
            metrics.ready(preemptor).inc()
            metrics.handover_seconds(preemptor).observe(plan.seconds)
            return
        metrics.abandoned(preemptor, ABANDONED[plan.reason]).inc()
        if plan.victims and ABANDONED[plan.reason] == FAILED:
            self._count_execution(plan, "error")

    def _count_execution(self, plan: StageReached | PlanEnded, result: str) -> None:
        """Called when all victims are evicted, or a call for that failed."""
        metrics = self._metrics
        metrics.executions(result).inc()
        metrics.goroutine_seconds(result).observe(plan.seconds)
        metrics.operations(_OPERATION, result).inc()
        metrics.operation_seconds(_OPERATION).observe(plan.seconds)
        metrics.execution_seconds(PREEMPTORS[plan.preemptor], result).observe(plan.seconds)


def _kind_label(decision: Decision) -> str:
    """A tree of groups counts as a group, as it does for kube-scheduler."""
    return "pod" if decision.demand.kind == "Pod" else "podgroup"


def _by_queue(pending: Mapping[Standing, int]) -> dict[str, int]:
    pods = dict.fromkeys(QUEUES.values(), 0)
    for standing, count in pending.items():
        pods[QUEUES[standing]] += count
    return pods


def _summed(values: Measured) -> Iterator[tuple[str, float]]:
    """Values of criteria that count something; nobody needs a sum of priorities over all plans."""
    for name, value in values.items():
        criterion = CRITERIA.get(name)
        counts = criterion is not None and (criterion.combined is Combined.SUM or criterion.budgets > 0)
        if counts and criterion is not PRIORITY_SUM and value is not None:
            yield name, value


# --- pods that wait, by the plugin that rejects them -----------------------------------------------


PLUGIN_BY_CODE: Mapping[Code, str] = {
    Code.NODE_NAME: "NodeName",
    Code.NODE_UNSCHEDULABLE: "NodeUnschedulable",
    Code.UNTOLERATED_TAINT: "TaintToleration",
    Code.NODE_AFFINITY: "NodeAffinity",
    Code.NODE_FEATURE: "NodeDeclaredFeatures",
    Code.HOST_PORT: "NodePorts",
    Code.INSUFFICIENT_RESOURCE: "NodeResourcesFit",
    Code.EXCEEDS_CAPACITY: "NodeResourcesFit",
    Code.TOO_MANY_PODS: "NodeResourcesFit",
    Code.POD_AFFINITY: "InterPodAffinity",
    Code.POD_ANTI_AFFINITY: "InterPodAffinity",
    Code.EXISTING_ANTI_AFFINITY: "InterPodAffinity",
    Code.SPREAD_LABEL_MISSING: "PodTopologySpread",
    Code.SPREAD_SKEW: "PodTopologySpread",
    Code.CLAIM_NOT_FOUND: "VolumeBinding",
    Code.CLAIM_LOST: "VolumeBinding",
    Code.CLAIM_DELETED: "VolumeBinding",
    Code.CLAIM_UNBOUND: "VolumeBinding",
    Code.CLAIM_OF_ANOTHER: "VolumeBinding",
    Code.VOLUME_NOT_FOUND: "VolumeBinding",
    Code.VOLUME_NODE_AFFINITY: "VolumeBinding",
    Code.VOLUME_ZONE: "VolumeZone",
    Code.VOLUME_LIMIT: "NodeVolumeLimits",
    Code.DRIVER_MISSING: "NodeVolumeLimits",
    Code.NO_VOLUME_TO_BIND: "VolumeBinding",
    Code.STORAGE_CAPACITY: "VolumeBinding",
    Code.DISK_CONFLICT: "VolumeRestrictions",
    Code.CLAIM_IN_USE: "VolumeRestrictions",
    Code.OUTSIDE_DOMAIN: "TopologyPlacementGenerator",
    Code.DOMAIN_LABEL_MISSING: "TopologyPlacementGenerator",
}


@dataclass(frozen=True, slots=True)
class _Rejected:
    plugins: frozenset[str]
    profile: str
    pods: int


class Rejections:
    """Counts the waiting pods that each plugin of kube-scheduler rejects.

    Reprieve has no plugins: each reason stands for the plugin that gives it there. The last decision about
    each demand is known here, and not when it ends.
    """

    def __init__(self, gauge: Callable[..., Gauge]) -> None:
        self._gauge = gauge  # by plugin and profile
        self._last: dict[tuple[str, str, str], _Rejected] = {}  # by kind, namespace and name

    def on_decided(self, decision: Decision, profile: str) -> None:
        """The last decision about a demand replaces the one before."""
        demand = decision.demand
        key = (demand.kind, demand.namespace, demand.name)
        self.end(*key)
        if decision.outcome is Outcome.UNSCHEDULABLE and decision.findings:
            plugins = frozenset(PLUGIN_BY_CODE[finding.reason.code] for finding in decision.findings)
            rejected = self._last[key] = _Rejected(plugins, profile, decision.pods)
            for plugin in rejected.plugins:
                self._gauge(plugin, profile).inc(rejected.pods)

    def end(self, kind: str, namespace: str, name: str) -> None:
        """The demand is placed, gone, or decided again."""
        rejected = self._last.pop((kind, namespace, name), None)
        if rejected is not None:
            for plugin in rejected.plugins:
                self._gauge(plugin, rejected.profile).dec(rejected.pods)
