"""What is going on, in numbers: made from events, effects and decisions alone.

The scheduler knows nothing of it. Which metrics there are stands in ``metrics``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from reprieve.model.effects import Bind, Effect, Target
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Unknown
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import Pod
from reprieve.preemption.plan import Why
from reprieve.runtime.followed import Called, Ended, Followed, News, Reason, Wasted
from reprieve.runtime.metrics import Metrics
from reprieve.runtime.resized import End, Resized, ResizeEnded
from reprieve.scheduler.decision import Decided, Decision, Growth, Outcome, Preemption
from reprieve.scheduler.queue import Standing

# What kube-scheduler calls it. It gates those for whom victims are being asked to go.
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
}
_MANY_ATTEMPTS = 15
_NEVER_LOOKED = frozenset({Why.OFF, Why.IN_VAIN, Why.NEVER_PREEMPTS})  # why nobody's eviction was considered


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
        self._followed = Followed()
        self._resized = Resized()
        self._metrics.open.set_function(self._followed.__len__)
        self._waiting: dict[Target, _Waiting] = {}
        self._binding: dict[Target, _Binding] = {}
        self._attempts: dict[Target, int] = {}  # until a pod is bound, or a group placed
        self._profiles: dict[GroupKey, dict[Target, str]] = {}  # of the pods that wait, by group
        self._begin_with_zero()

    def asks(
        self, pending: Callable[[], Mapping[Standing, int]], known: Callable[[], Mapping[str, int]] = dict
    ) -> None:
        """Whom to ask how many pods wait, and how much is known, when somebody wants to know."""
        self._pending, self._known = pending, known

    def leads(self, lease: str, *, now: bool) -> None:
        self._metrics.leads.labels(lease).set(int(now))

    def answered(self, host: str, method: str, code: int | None, seconds: float) -> None:
        """By an API server; without a code, it was not."""
        self._metrics.requests(str(code or "<error>"), method, host).inc()
        self._metrics.request_seconds(method, host).observe(seconds)

    def text(self) -> bytes:
        """All metrics, as Prometheus reads them."""
        return self._metrics.text()

    def _begin_with_zero(self) -> None:
        """What is not there at first begins at one, and Prometheus would not see it increase."""
        metrics = self._metrics
        for result in ("success", "error"):
            metrics.executions(result)
        for end in End:
            metrics.resizes_ended(end)
        for preemptor in ("pod", "podgroup", "resize"):
            metrics.begun(preemptor)
            metrics.ready(preemptor)
            for reason in Reason:
                metrics.abandoned(preemptor, reason)

    # --- what happens ---

    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        for event in events:
            match event:
                case Seen(Pod() as pod):
                    self._saw(pod, now)
                case Gone(target):
                    self._gone(target)
                case Done(effect) | Failed(effect) | Unknown(effect):
                    self._ended(effect, event, now)
        self._tell(self._followed.observed(events, effects, now))
        for ended in self._resized.observed(events, now):
            self._ended_resize(ended)

    def _saw(self, pod: Pod, now: float) -> None:
        meta, spec = pod.metadata, pod.spec
        target = Target("Pod", meta.namespace, meta.name, meta.uid)
        if spec.node_name:
            self._bound(target, now, well=True)  # also if no answer came
            self._waits_no_more(target)
        elif target not in self._waiting and not spec.scheduling_gates:
            waiting = self._waiting[target] = _Waiting(now, spec.scheduler_name, group_key(pod))
            if waiting.group is not None:
                self._profiles.setdefault(waiting.group, {})[target] = waiting.profile

    def _gone(self, target: Target) -> None:
        self._waits_no_more(target)
        self._binding.pop(target, None)

    def _waits_no_more(self, target: Target) -> None:
        self._attempts.pop(target, None)
        waiting = self._waiting.pop(target, None)
        if waiting is not None and waiting.group is not None:
            others = self._profiles[waiting.group]
            del others[target]
            if not others:
                del self._profiles[waiting.group]

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

    # --- what is decided ---

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        if decided is None:
            return
        decision = decided.decision
        if decision.growth is not None:
            self._decided_resize(decision, decision.growth, now, seconds)
            self._tell(self._followed.decided(decision, decided.effects, now))
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
        if decision.outcome is Outcome.PREEMPTS:
            self._begun(decision)
        self._tell(self._followed.decided(decision, decided.effects, now))

    def _decided_resize(self, decision: Decision, growth: Growth, now: float, seconds: float) -> None:
        self._metrics.algorithm_seconds.observe(seconds)
        self._metrics.resize_decisions(decision.outcome).inc()
        self._resized.decided(decision, growth, now)
        if decision.outcome is Outcome.PREEMPTS and decision.preemption is not None:
            self._metrics.begun("resize").inc()
            self._metrics.resize_victims.inc(decision.preemption.pods)
            self._price(decision.preemption, "resize")

    def _ended_resize(self, ended: ResizeEnded) -> None:
        self._metrics.resizes_ended(ended.end).inc()
        if ended.end is End.GRANTED:
            self._metrics.resize_seconds.observe(ended.seconds)
        else:
            self._metrics.wasted.inc(ended.evicted)

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
        labels = "unschedulable", self._profile(decision.demand)
        self._metrics.attempts(*labels).inc(decision.pods)
        self._metrics.incoming("unschedulable", "ScheduleAttemptFailure").inc(decision.pods)
        self._metrics.attempt_seconds(*labels).observe(seconds)
        looked = decision.eviction is not None and decision.eviction.because.code not in _NEVER_LOOKED
        if decision.outcome is Outcome.PREEMPTS or looked:
            self._looked_for_victims(decision, seconds)

    def _looked_for_victims(self, decision: Decision, seconds: float) -> None:
        result = "Success" if decision.outcome is Outcome.PREEMPTS else "Unschedulable"
        self._metrics.evaluation_seconds(_preemptor(decision), result).observe(seconds)
        if decision.demand.kind == "Pod":
            self._metrics.preemption_attempts.inc()
        else:
            self._metrics.workload_preemption_attempts(result).inc()

    def _profile(self, demand: Target) -> str:
        if demand.kind != "Pod":
            return next(iter(self._profiles.get((demand.namespace, demand.name), {}).values()), "")
        waiting = self._waiting.get(demand)
        return waiting.profile if waiting is not None else ""

    # --- plans ---

    def _begun(self, decision: Decision) -> None:
        metrics, preemptor = self._metrics, _preemptor(decision)
        metrics.begun(preemptor).inc()
        self._price(decision.preemption or Preemption(), preemptor)

    def _price(self, room: Preemption, preemptor: str) -> None:
        metrics = self._metrics
        metrics.spared.inc(room.units_spared)
        if room.ceiling is not None:
            metrics.ceiling.observe(room.ceiling)
        if room.pods:
            (metrics.workload_victims if preemptor == "podgroup" else metrics.victims).observe(room.pods)
        groups = {victim.unit for victim in room.victims if not victim.unit.startswith("Pod/")}
        if groups:
            metrics.disruptions(preemptor).observe(len(groups))
        if room.broken:
            metrics.budget_violations(preemptor).inc(room.broken)

    def _tell(self, news: Iterable[News]) -> None:
        metrics = self._metrics
        for piece in news:
            match piece:
                case Called(preemptor, seconds, well):
                    result = "success" if well else "error"
                    metrics.executions(result).inc()
                    metrics.execution_seconds(preemptor, result).observe(seconds)
                case Ended(preemptor, seconds, None):
                    metrics.ready(preemptor).inc()
                    metrics.handover_seconds(preemptor).observe(seconds)
                case Ended(preemptor, _, reason):
                    metrics.abandoned(preemptor, reason).inc()
                case Wasted(pods):
                    metrics.wasted.inc(pods)


def _preemptor(decision: Decision) -> str:
    return decision.demand.kind.lower()


def _by_queue(pending: Mapping[Standing, int]) -> dict[str, int]:
    pods = dict.fromkeys(QUEUES.values(), 0)
    for standing, count in pending.items():
        pods[QUEUES[standing]] += count
    return pods
