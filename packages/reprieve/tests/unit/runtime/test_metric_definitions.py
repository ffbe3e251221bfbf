"""Names, labels and buckets are those of kube-scheduler 1.37, so that dashboards made for it work."""

import pytest
from prometheus_client import Counter, Gauge, Histogram

from reprieve.runtime.metric_definitions import Metrics


def doubled(first: float, count: int) -> list[float]:
    return [first * 2**i for i in range(count)]


ATTEMPT, EXECUTION = doubled(0.001, 15), doubled(0.001, 16)

# Name: labels, and the buckets of a histogram.
OF_KUBE_SCHEDULER: dict[str, tuple[set[str], list[float]]] = {
    "scheduler_schedule_attempts_total": ({"result", "profile"}, []),
    "scheduler_scheduling_attempt_duration_seconds": ({"result", "profile"}, ATTEMPT),
    "scheduler_scheduling_algorithm_duration_seconds": (set(), ATTEMPT),
    "scheduler_pod_scheduling_sli_duration_seconds": ({"attempts"}, doubled(0.01, 20)),
    "scheduler_pod_scheduling_attempts": (set(), doubled(1, 5)),
    "scheduler_pending_pods": ({"queue"}, []),
    "scheduler_queue_incoming_pods_total": ({"queue", "event"}, []),
    "leader_election_master_status": ({"name"}, []),
    "rest_client_requests_total": ({"code", "method", "host"}, []),
    "rest_client_request_duration_seconds": (
        {"verb", "host"},
        [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    ),
    "scheduler_preemption_attempts_total": (set(), []),
    "scheduler_preemption_victims": (set(), doubled(1, 7)),
    "scheduler_preemption_evaluation_duration_seconds": ({"preemptor", "result"}, EXECUTION),
    "scheduler_preemption_execution_duration_seconds": ({"preemptor", "result"}, EXECUTION),
    "scheduler_preemption_goroutines_execution_total": ({"result"}, []),
    "scheduler_preemption_goroutines_duration_seconds": ({"result"}, EXECUTION),
    "scheduler_unschedulable_pods": ({"plugin", "profile"}, []),
    "scheduler_preemption_workload_disruptions": ({"preemptor"}, doubled(1, 11)),
    "scheduler_preemption_pdb_violations_total": ({"preemptor"}, []),
    "scheduler_workload_preemption_attempts_total": ({"result"}, []),
    "scheduler_workload_preemption_victims": (set(), doubled(1, 11)),
    "scheduler_podgroup_schedule_attempts_total": ({"result", "profile"}, []),
    "scheduler_podgroup_scheduling_attempt_duration_seconds": ({"result", "profile"}, ATTEMPT),
    "scheduler_podgroup_scheduling_algorithm_duration_seconds": (set(), ATTEMPT),
}


# KEP-4832 names these two, which kube-scheduler has under other names.
OF_THE_DESIGN: dict[str, tuple[set[str], list[float]]] = {
    "scheduler_goroutines_duration_seconds": ({"operation"}, EXECUTION),
    "scheduler_goroutines_execution_total": ({"operation", "result"}, []),
}
FOREIGN = OF_KUBE_SCHEDULER | OF_THE_DESIGN


def made() -> dict[str, tuple[set[str], list[float]]]:
    metrics = Metrics(lambda: {"active": 1})
    found: dict[str, tuple[set[str], list[float]]] = {"scheduler_pending_pods": ({"queue"}, [])}
    for collector in metrics.registry._collector_to_names:
        if isinstance(collector, Counter | Gauge | Histogram):
            name = collector._name + ("_total" if isinstance(collector, Counter) else "")
            buckets = list(collector._kwargs["buckets"]) if isinstance(collector, Histogram) else []
            found[name] = (set(collector._labelnames), buckets)
    return found


@pytest.mark.parametrize("name", FOREIGN)
def test_a_metric_of_kube_scheduler(name: str) -> None:
    assert made()[name] == FOREIGN[name]


def test_what_kube_scheduler_does_not_have_has_our_name() -> None:
    assert {name for name in made() if name not in FOREIGN} == {
        name for name in made() if name.startswith("reprieve_")
    }


def test_pods_that_wait_are_counted_when_a_pod_asks() -> None:
    queues = {"active": 1}
    metrics = Metrics(lambda: queues)
    queues["backoff"] = 7
    assert b'scheduler_pending_pods{queue="backoff"} 7.0' in metrics.text()


def test_two_schedulers_have_metrics_of_their_own() -> None:
    one, other = Metrics(dict), Metrics(dict)
    one.preemption_attempts.inc()
    assert b"scheduler_preemption_attempts_total 1.0" in one.text()
    assert b"scheduler_preemption_attempts_total 0.0" in other.text()
