"""When each metric changes: a function of events, effects, decisions and plan records.

The scheduler knows nothing of metrics. Their names and labels are defined in ``metric_definitions``. What
became of a plan is read from its records, and never inferred.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reprieve.model.effects import Bind, Effect, Target
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Unknown
from reprieve.model.groups import GroupKey, group_key, key_of
from reprieve.model.objects import CompositePodGroup, Pod, PodGroup
from reprieve.preemption.criteria import CRITERIA, PRIORITY_SUM, Combined
from reprieve.preemption.plan import Why
from reprieve.runtime.metric_definitions import Metrics
from reprieve.runtime.plugin_rejection_counts import Rejections
from reprieve.scheduler.decision import Decided, Decision, Measured, Outcome, PlanQuality, Preemption
from reprieve.scheduler.handover import Stage
from reprieve.scheduler.plan_records import (
    ChainContinued,
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
from reprieve.scheduler.queue import Standing

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
_NEVER_LOOKED = frozenset({Why.OFF, Why.IN_VAIN, Why.NEVER_PREEMPTS})  # then no eviction was considered

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

    def leads(self, lease: str, *, now: bool) -> None:
        self._metrics.leads.labels(lease).set(int(now))

    def answered(self, host: str, method: str, code: int | None, seconds: float) -> None:
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

    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        for event in events:
            match event:
                case Seen(Pod() as pod):
                    self._saw(pod, now)
                case Seen(PodGroup() | CompositePodGroup() as group) if group.spec.parent:
                    self._parents[type(group).__name__, key_of(group)] = group.spec.parent
                case Gone(target):
                    self._gone(target)
                case Done(effect) | Failed(effect) | Unknown(effect):
                    self._ended(effect, event, now)

    def _saw(self, pod: Pod, now: float) -> None:
        meta, spec = pod.metadata, pod.spec
        target = Target("Pod", meta.namespace, meta.name, meta.uid)
        if spec.node_name:
            self._bound(target, now, well=True)  # also if the answer to the bind was lost
            self._waits_no_more(target)
        elif target not in self._waiting and not spec.scheduling_gates:
            waiting = self._waiting[target] = _Waiting(now, spec.scheduler_name, group_key(pod))
            if waiting.group is not None:
                self._profiles.setdefault(waiting.group, {})[target] = waiting.profile

    def _gone(self, target: Target) -> None:
        self._waits_no_more(target)
        self._parents.pop((target.kind, (target.namespace, target.name)), None)
        self._binding.pop(target, None)

    def _waits_no_more(self, target: Target) -> None:
        self._attempts.pop(target, None)
        self._rejections.end(target.kind, target.namespace, target.name)
        waiting = self._waiting.pop(target, None)
        if waiting is not None and waiting.group is not None:
            others = self._profiles[waiting.group]
            del others[target]
            if not others:
                del self._profiles[waiting.group]
                self._group_waits_no_more(waiting.group)

    def _group_waits_no_more(self, group: GroupKey) -> None:
        """Nor does a tree of which no other group waits."""
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

    def _ended(self, effect: Effect, event: Done | Failed | Unknown, now: float) -> None:
        self._metrics.effects(type(effect).__name__, type(event).__name__.lower()).inc()
        if isinstance(effect, Bind) and not isinstance(event, Unknown):
            self._bound(effect.target, now, well=isinstance(event, Done))

    def _bound(self, pod: Target, now: float, *, well: bool) -> None:
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

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        if decided is None:
            return
        decision = decided.decision
        if decision.outcome is Outcome.PREEMPTS:
            self._price(decision)
        if decision.growth is None:
            self._rejections.decided(decision, self._profile(decision.demand))
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
            self._decided_group(decision, seconds)
        if decision.outcome is Outcome.PLACED:
            self._placed(decision, now, attempts)
        else:
            self._unplaced(decision, seconds)

    def _decided_group(self, decision: Decision, seconds: float) -> None:
        labels = _GROUP_RESULTS[decision.outcome], self._profile(decision.demand)
        self._metrics.group_algorithm_seconds.observe(seconds)
        self._metrics.group_attempts(*labels).inc()
        self._metrics.group_attempt_seconds(*labels).observe(seconds)

    def _placed(self, decision: Decision, now: float, attempts: int) -> None:
        if decision.demand.kind != "Pod":
            del self._attempts[decision.demand]
        for pod, _ in decision.places:
            waiting = self._waiting.get(pod)
            if waiting is not None:
                self._binding[pod] = _Binding(waiting.since, now, attempts, waiting.profile)

    def _unplaced(self, decision: Decision, seconds: float) -> None:
        result = "error" if decision.outcome is Outcome.ERROR else "unschedulable"
        labels = result, self._profile(decision.demand)
        self._metrics.attempts(*labels).inc(decision.pods)
        self._metrics.incoming("unschedulable", "ScheduleAttemptFailure").inc(decision.pods)
        self._metrics.attempt_seconds(*labels).observe(seconds)
        because = decision.eviction.because.code if decision.eviction is not None else Why.OFF
        looked = because not in _NEVER_LOOKED and decision.outcome is not Outcome.ERROR
        if decision.outcome is Outcome.PREEMPTS or looked:
            self._looked_for_victims(decision, seconds)

    def _looked_for_victims(self, decision: Decision, seconds: float) -> None:
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

    def _price(self, decision: Decision) -> None:
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
            self._disturbs(room.quality)

    def _disturbs(self, quality: PlanQuality) -> None:
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

    def recorded(self, records: Sequence[PlanRecord]) -> None:
        metrics = self._metrics
        for record in records:
            match record:
                case PlanOpened(preemptor=preemptor):
                    metrics.begun(PREEMPTORS[preemptor]).inc()
                    metrics.open.inc()
                case StageReached(stage=Stage.DRAINING) if record.victims:
                    self._executed(record, "success")
                case StageReached():
                    pass
                case PlanEnded():
                    self._plan_ended(record)
                case ChainContinued(depth=depth):
                    metrics.chain_depth.observe(depth)
                case VictimsJudged(wasted=wasted):
                    metrics.wasted.inc(len(wasted))
                case GrowthEnded(end=end, seconds=seconds):
                    metrics.resizes_ended(end).inc()
                    if end is GrowthEnd.GRANTED:
                        metrics.resize_seconds.observe(seconds)

    def _plan_ended(self, plan: PlanEnded) -> None:
        metrics, preemptor = self._metrics, PREEMPTORS[plan.preemptor]
        metrics.open.dec()
        if plan.reason is EndReason.ROOM_USED:
            metrics.ready(preemptor).inc()
            metrics.handover_seconds(preemptor).observe(plan.seconds)
            return
        metrics.abandoned(preemptor, ABANDONED[plan.reason]).inc()
        if plan.victims and ABANDONED[plan.reason] == FAILED:
            self._executed(plan, "error")

    def _executed(self, plan: StageReached | PlanEnded, result: str) -> None:
        """All victims are evicted, or a call for that failed."""
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
    """By criteria that count something; nobody needs a sum of priorities over all plans."""
    for name, value in values.items():
        criterion = CRITERIA.get(name)
        counts = criterion is not None and (criterion.combined is Combined.SUM or criterion.budgets > 0)
        if counts and criterion is not PRIORITY_SUM and value is not None:
            yield name, value
