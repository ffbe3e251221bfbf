"""Which metrics there are: names, labels and buckets, and their text for Prometheus.

Metrics that begin with ``scheduler_``, ``rest_client_`` or ``process_`` are those of kube-scheduler, so that
dashboards made for it work here; two more have the names of KEP-4832, which kube-scheduler changed. When
metrics change is not known here.
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

# Prometheus would read the time of creation as one more metric for each; kube-scheduler exposes none.
disable_created_metrics()  # type: ignore[no-untyped-call]


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
    """Every metric once, in a registry of its own: a process may run several schedulers."""

    def __init__(self, pending: _Sizes, known: _Sizes = dict) -> None:
        self.registry = CollectorRegistry()
        self._pods()
        self._groups()
        self._preemption()
        self._preemption_durations()
        self._preemption_executions()
        self._handovers()
        self._resizes()
        self._requests()
        self.leads = Gauge(
            "leader_election_master_status",
            "Whether this replica is the leader: 1, or 0 while it waits. The name is that of the lease.",
            ["name"],
            registry=self.registry,
        )
        waiting = _ReadAtScrape("scheduler_pending_pods", "Pods that wait, by queue.", "queue", pending)
        cached = _ReadAtScrape("scheduler_cache_size", "Nodes and pods in the cache, by type.", "type", known)
        self.registry.register(waiting)
        self.registry.register(cached)
        ProcessCollector(registry=self.registry)

    def text(self) -> bytes:
        """Write all metrics in the text format of Prometheus."""
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
            "Duration of an attempt: the decision and the binding.",
            _ATTEMPT,
            "result",
            "profile",
        )
        self.algorithm_seconds = self._histogram(
            "scheduler_scheduling_algorithm_duration_seconds", "Duration of a decision.", _ATTEMPT
        )
        self.sli_seconds = self._histograms(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From when a pod was first seen without gates until it was bound, by number of attempts.",
            doubling(0.01, 20),
            "attempts",
        )
        self.incoming = self._counters(
            "scheduler_queue_incoming_pods_total",
            "Pods that entered a queue, by the event that brought them there.",
            "queue",
            "event",
        )
        self.attempts_needed = self._histogram(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was bound.", doubling(1, 5)
        )

        gauge = Gauge(
            "scheduler_unschedulable_pods",
            "Pods that wait, by the plugin of kube-scheduler that rejects them; a pod may count for several.",
            ["plugin", "profile"],
            registry=self.registry,
        )
        self.unschedulable: Callable[..., Gauge] = cache(gauge.labels)

    def _requests(self) -> None:
        """The metrics of every Kubernetes client."""
        self.requests = self._counters(
            "rest_client_requests_total",
            "Requests to the API server, by status code, or <error> if no answer came.",
            "code",
            "method",
            "host",
        )
        self.request_seconds = self._histograms(
            "rest_client_request_duration_seconds",
            "From a request until its answer began.",
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
            "Duration of an attempt to schedule a group.",
            _ATTEMPT,
            "result",
            "profile",
        )
        self.group_algorithm_seconds = self._histogram(
            "scheduler_podgroup_scheduling_algorithm_duration_seconds",
            "Duration of a decision about a group.",
            _ATTEMPT,
        )

    def _preemption(self) -> None:
        self.preemption_attempts = self._counter(
            "scheduler_preemption_attempts_total",
            "Decisions about a pod for which evictions were considered.",
        )
        self.workload_preemption_attempts = self._counters(
            "scheduler_workload_preemption_attempts_total",
            "Decisions about a group for which evictions were considered.",
            "result",
        )
        self.victims = self._histogram(
            "scheduler_preemption_victims", "Victims of a plan for a pod.", _VICTIMS
        )
        self.workload_victims = self._histogram(
            "scheduler_workload_preemption_victims",
            "Victims of a plan for a group.",
            _WORKLOAD_VICTIMS,
        )
        self.disruptions = self._histograms(
            "scheduler_preemption_workload_disruptions",
            "Groups that a plan disrupts; plans that disrupt none are not observed.",
            _WORKLOAD_VICTIMS,
            "preemptor",
        )
        self.budget_violations = self._counters(
            "scheduler_preemption_pdb_violations_total",
            "Victims beyond what PodDisruptionBudgets allow.",
            "preemptor",
        )

    def _preemption_durations(self) -> None:
        self.evaluation_seconds = self._histograms(
            "scheduler_preemption_evaluation_duration_seconds",
            "Duration of a decision for which evictions were considered.",
            _PREEMPTION,
            "preemptor",
            "result",
        )
        self.execution_seconds = self._histograms(
            "scheduler_preemption_execution_duration_seconds",
            "From a plan until all its victims were evicted, or until a call for that failed.",
            _PREEMPTION,
            "preemptor",
            "result",
        )

    def _preemption_executions(self) -> None:
        """These have the names of kube-scheduler, and again those of KEP-4832."""
        self.executions = self._counters(
            "scheduler_preemption_goroutines_execution_total",
            "Plans whose victims were all evicted, or for which a call failed.",
            "result",
        )
        self.goroutine_seconds = self._histograms(
            "scheduler_preemption_goroutines_duration_seconds",
            "Duration of these executions; deprecated by kube-scheduler 1.37.",
            _PREEMPTION,
            "result",
        )
        self.operation_seconds = self._histograms(
            "scheduler_goroutines_duration_seconds",
            "The same by operation, under the name that KEP-4832 gives it.",
            _PREEMPTION,
            "operation",
        )
        self.operations = self._counters(
            "scheduler_goroutines_execution_total",
            "Executions by operation and result, under the name that KEP-4832 gives them.",
            "operation",
            "result",
        )

    def _handovers(self) -> None:
        self.begun = self._counters("reprieve_handovers_begun_total", "Plans that were opened.", "preemptor")
        self.ready = self._counters(
            "reprieve_handovers_ready_total", "Plans whose preemptor got the room they made.", "preemptor"
        )
        self.abandoned = self._counters(
            "reprieve_handovers_abandoned_total",
            "Plans that were abandoned, by reason.",
            "preemptor",
            "reason",
        )
        self.open = Gauge("reprieve_handovers_open", "Open plans.", registry=self.registry)
        self.handover_seconds = self._histograms(
            "reprieve_handover_duration_seconds",
            "From a plan until its preemptor got the room it made.",
            doubling(0.01, 20),
            "preemptor",
        )
        self.wasted = self._counter(
            "reprieve_wasted_evictions_total", "Evicted pods whose room their preemptor did not use."
        )
        self.spared = self._counter(
            "reprieve_spared_units_total",
            "Pods and groups that could have been preempted and were spared, or were protected beside them.",
        )
        self.ceiling = self._histogram(
            "reprieve_preemption_ceiling",
            "The priority above which no unit had to be considered for a plan.",
            _PRIORITIES,
        )
        self.disturbance = self._counters(
            "reprieve_disturbance_total",
            "What plans cost, by criterion; of priorities nothing is summed.",
            "criterion",
        )
        self.disturbance_saved = self._counters(
            "reprieve_disturbance_saved_total",
            "How much less that is than plans of PriorityCeiling would have cost.",
            "criterion",
        )
        self.disturbance_plans = self._counters(
            "reprieve_disturbance_plans_total",
            "Plans that preempt, by whether they are proved to disturb least.",
            "proved",
        )
        self.disturbance_gap = self._histogram(
            "reprieve_disturbance_gap",
            "By how much a plan that is not proved exceeds its bound, by the first criterion that does.",
            (0, *doubling(1, 12)),
        )
        self.planning_effort = self._histogram(
            "reprieve_planning_effort", "Work units that were spent on a plan.", doubling(1, 20)
        )
        self.effects = self._counters(
            "reprieve_effects_total", "Calls to the API server, by result.", "effect", "result"
        )

    def _resizes(self) -> None:
        self.resize_decisions = self._counters(
            "reprieve_resize_decisions_total",
            "Decisions about resizes in place.",
            "outcome",
        )
        self.resizes_together = self._counter(
            "reprieve_resize_decisions_together_total",
            "Decisions about resizes of gang members that were made in one go with other members.",
        )
        self.resizes_ended = self._counters(
            "reprieve_resizes_ended_total",
            "Resizes that were decided about at least once, by how they ended.",
            "end",
        )
        self.resize_victims = self._counter("reprieve_resize_victims_total", "Victims of plans for resizes.")
        self.resize_seconds = self._histogram(
            "reprieve_resize_duration_seconds",
            "From the first decision about a resize until its node granted it.",
            doubling(0.01, 20),
        )

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self.registry)

    def _counters(self, name: str, text: str, *labels: str) -> Callable[..., Counter]:
        """Call the result with the values of the labels; the cache saves half the time of an increment."""
        return cache(Counter(name, text, labels, registry=self.registry).labels)

    def _histogram(self, name: str, text: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(name, text, registry=self.registry, buckets=buckets)

    def _histograms(
        self, name: str, text: str, buckets: Sequence[float], *labels: str
    ) -> Callable[..., Histogram]:
        return cache(Histogram(name, text, labels, registry=self.registry, buckets=buckets).labels)


class _ReadAtScrape(Collector):
    """Reads sizes when Prometheus scrapes, so that nothing has to be counted in between."""

    def __init__(self, name: str, text: str, label: str, read: _Sizes) -> None:
        self._about = name, text, label
        self._read = read

    def collect(self) -> Iterable[Metric]:
        name, text, label = self._about
        family = GaugeMetricFamily(name, text, labels=[label])
        for value, count in self._read().items():
            family.add_metric([value], count)
        return [family]
