"""Which metrics there are: names, labels and buckets, and how they read to Prometheus.

Those that begin with ``scheduler_`` are kube-scheduler's, and those with ``rest_client_`` and ``process_`` as
it has them, so that dashboards made for it work here. When they change is not known here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

# Prometheus reads such a time as one more metric for each that there is, and kube-scheduler has none.
disable_created_metrics()  # type: ignore[no-untyped-call]  # as it comes


def doubling(first: float, count: int) -> tuple[float, ...]:
    return tuple(first * 2**i for i in range(count))


_ATTEMPT = doubling(0.001, 15)
_PREEMPTION = doubling(0.001, 16)
_VICTIMS = doubling(1, 7)
_WORKLOAD_VICTIMS = doubling(1, 11)
_REQUEST = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
_PRIORITIES = (-1, 0, *(10**i for i in range(10)), 2_000_000_000)


_Sizes = Callable[[], Mapping[str, int]]


class Metrics:
    """Every metric once, each in the registry of this scheduler alone."""

    def __init__(self, pending: _Sizes, known: _Sizes = dict) -> None:
        self.registry = CollectorRegistry()
        self._pods()
        self._groups()
        self._preemption()
        self._handovers()
        self._resizes()
        self._requests()
        self.leads = Gauge(
            "leader_election_master_status",
            "Whether this replica leads: 1, or 0 while it waits. The name is that of the lease.",
            ["name"],
            registry=self.registry,
        )
        waiting = _Asked("scheduler_pending_pods", "Pods that wait, by queue.", "queue", pending)
        cached = _Asked("scheduler_cache_size", "Nodes and pods that are in mind, by type.", "type", known)
        self.registry.register(waiting)
        self.registry.register(cached)
        ProcessCollector(registry=self.registry)

    def text(self) -> bytes:
        """All of them, as Prometheus reads it."""
        return generate_latest(self.registry)

    def _pods(self) -> None:
        self.attempts = self._counters(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule pods: scheduled, unschedulable, or error if binding failed.",
            "result",
            "profile",
        )
        self.attempt_seconds = self._histograms(
            "scheduler_scheduling_attempt_duration_seconds",
            "How long an attempt took, the decision and the binding.",
            _ATTEMPT,
            "result",
            "profile",
        )
        self.algorithm_seconds = self._histogram(
            "scheduler_scheduling_algorithm_duration_seconds", "How long a decision took.", _ATTEMPT
        )
        self.sli_seconds = self._histograms(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From the moment a pod could be scheduled until it was bound, by how many attempts it took.",
            doubling(0.01, 20),
            "attempts",
        )
        self.incoming = self._counters(
            "scheduler_queue_incoming_pods_total",
            "Pods that came into a queue, by what brought them there.",
            "queue",
            "event",
        )
        self.attempts_needed = self._histogram(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was bound.", doubling(1, 5)
        )

    def _requests(self) -> None:
        """As every client of Kubernetes counts them."""
        self.requests = self._counters(
            "rest_client_requests_total",
            "Requests to the API server: with the code of the answer, or <error> if there was none.",
            "code",
            "method",
            "host",
        )
        self.request_seconds = self._histograms(
            "rest_client_request_duration_seconds",
            "How long it took until the answer to a request began.",
            _REQUEST,
            "verb",
            "host",
        )

    def _groups(self) -> None:
        self.group_attempts = self._counters(
            "scheduler_podgroup_schedule_attempts_total",
            "Attempts to schedule groups: scheduled, unschedulable, or waiting_on_preemption.",
            "result",
            "profile",
        )
        self.group_attempt_seconds = self._histograms(
            "scheduler_podgroup_scheduling_attempt_duration_seconds",
            "How long an attempt to schedule a group took.",
            _ATTEMPT,
            "result",
            "profile",
        )
        self.group_algorithm_seconds = self._histogram(
            "scheduler_podgroup_scheduling_algorithm_duration_seconds",
            "How long a decision about a group took.",
            _ATTEMPT,
        )

    def _preemption(self) -> None:
        self.preemption_attempts = self._counter(
            "scheduler_preemption_attempts_total", "How often room was looked for by evicting others."
        )
        self.workload_preemption_attempts = self._counters(
            "scheduler_workload_preemption_attempts_total",
            "How often room was looked for by evicting others, for a group.",
            "result",
        )
        self.victims = self._histogram(
            "scheduler_preemption_victims", "Victims of a plan that was made for a pod.", _VICTIMS
        )
        self.workload_victims = self._histogram(
            "scheduler_workload_preemption_victims",
            "Victims of a plan that was made for a group.",
            _WORKLOAD_VICTIMS,
        )
        self.disruptions = self._histograms(
            "scheduler_preemption_workload_disruptions",
            "Groups that are disrupted by a plan, if any are.",
            _WORKLOAD_VICTIMS,
            "preemptor",
        )
        self.budget_violations = self._counters(
            "scheduler_preemption_pdb_violations_total",
            "Victims beyond what disruption budgets allow.",
            "preemptor",
        )
        self.evaluation_seconds = self._histograms(
            "scheduler_preemption_evaluation_duration_seconds",
            "How long a decision took for which somebody's eviction was considered.",
            _PREEMPTION,
            "preemptor",
            "result",
        )
        self.execution_seconds = self._histograms(
            "scheduler_preemption_execution_duration_seconds",
            "From a plan until its victims were asked to go, or until that failed; others go on meanwhile.",
            _PREEMPTION,
            "preemptor",
            "result",
        )
        self.executions = self._counters(
            "scheduler_preemption_goroutines_execution_total",
            "Plans whose victims were asked to go, or for which that failed.",
            "result",
        )

    def _handovers(self) -> None:
        self.begun = self._counters("reprieve_handovers_begun_total", "Plans that were begun.", "preemptor")
        self.ready = self._counters(
            "reprieve_handovers_ready_total", "Plans whose preemptor got the room made for it.", "preemptor"
        )
        self.abandoned = self._counters(
            "reprieve_handovers_abandoned_total", "Plans that were given up, and why.", "preemptor", "reason"
        )
        self.open = Gauge("reprieve_handovers_open", "Plans under way.", registry=self.registry)
        self.handover_seconds = self._histograms(
            "reprieve_handover_duration_seconds",
            "From a plan until its preemptor got the room made for it.",
            doubling(0.01, 20),
            "preemptor",
        )
        self.wasted = self._counter(
            "reprieve_wasted_evictions_total", "Pods that were evicted for somebody who did not go there."
        )
        self.spared = self._counter(
            "reprieve_spared_units_total", "Pods and groups that could have been taken, and were not."
        )
        self.ceiling = self._histogram(
            "reprieve_preemption_ceiling",
            "The priority above which nobody had to be considered for a plan.",
            _PRIORITIES,
        )
        self.effects = self._counters(
            "reprieve_effects_total", "Calls to the cluster, and how they ended.", "effect", "result"
        )

    def _resizes(self) -> None:
        self.resize_decisions = self._counters(
            "reprieve_resize_decisions_total",
            "Decisions about pods that want more where they run.",
            "outcome",
        )
        self.resizes_ended = self._counters(
            "reprieve_resizes_ended_total",
            "What became of the resizes that were looked at, and how.",
            "end",
        )
        self.resize_victims = self._counter(
            "reprieve_resize_victims_total", "Pods that had to go for the resize of another."
        )
        self.resize_seconds = self._histogram(
            "reprieve_resize_duration_seconds",
            "From the first look at a resize until its node granted it.",
            doubling(0.01, 20),
        )

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self.registry)

    def _counters(self, name: str, text: str, *labels: str) -> Callable[..., Counter]:
        """To be called with the values of the labels; keeping what comes of it saves half the time."""
        return cache(Counter(name, text, labels, registry=self.registry).labels)

    def _histogram(self, name: str, text: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(name, text, registry=self.registry, buckets=buckets)

    def _histograms(
        self, name: str, text: str, buckets: Sequence[float], *labels: str
    ) -> Callable[..., Histogram]:
        return cache(Histogram(name, text, labels, registry=self.registry, buckets=buckets).labels)


class _Asked(Collector):
    """Asks when somebody wants to know, so that nothing has to be counted meanwhile."""

    def __init__(self, name: str, text: str, label: str, ask: _Sizes) -> None:
        self._about = name, text, label
        self._ask = ask

    def collect(self) -> Iterable[Metric]:
        name, text, label = self._about
        family = GaugeMetricFamily(name, text, labels=[label])
        for value, count in self._ask().items():
            family.add_metric([value], count)
        return [family]
