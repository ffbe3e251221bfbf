"""What metrics say after small stories, told to a scheduler that is watched."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, bound, leaving, target
from tests.unit.scheduler.test_trees import a_tree

from reprieve.model.effects import Bind, Effect, Evict, SetCondition
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Synced, Unknown
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject
from reprieve.placement.rejection_codes import Code
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from reprieve.runtime.observers import ObservedScheduler
from reprieve.runtime.telemetry import ABANDONED, PLUGIN_BY_CODE, PREEMPTORS, Telemetry
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.plan_records import EndReason, Preemptor
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings


@dataclass(slots=True)
class Measured:
    """A watched scheduler; the clock goes on by a tenth of a second with every decision."""

    telemetry: Telemetry = field(default_factory=Telemetry)
    now: float = 1000.0
    wanted: list[Effect] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    _machine: ObservedScheduler | None = None

    def __post_init__(self) -> None:
        scheduler = Scheduler(self.settings)
        self.telemetry.read_from(scheduler.pending, scheduler.known)
        self._machine = ObservedScheduler(scheduler, lambda: self.now + 0.1, [self.telemetry])

    def happens(self, *events: Event) -> "Measured":
        assert self._machine is not None
        self.wanted += self._machine.observe(events, on_one_clock(self.now))
        while (decided := self._machine.decide(on_one_clock(self.now))) is not None:
            self.wanted += decided.effects
        return self

    def see(self, *things: KubernetesObject) -> "Measured":
        return self.happens(*map(Seen, things))

    def begin(self, *things: KubernetesObject) -> "Measured":
        return self.happens(*map(Seen, things), Synced())

    def succeed(self, seconds: float = 0.0) -> "Measured":
        """Everything that is wanted is done after a while, until nothing more is."""
        while self.wanted:
            self.now += seconds
            effects, self.wanted = self.wanted, []
            self.happens(*map(Done, effects))
        return self

    def fail(self, kind: type[Effect]) -> "Measured":
        """The wanted effects of this kind fail, the others are done."""
        effects, self.wanted = self.wanted, []
        return self.happens(*(Failed(e, "no") if isinstance(e, kind) else Done(e) for e in effects))

    def says(self, name: str, **labels: str) -> float:
        """The value of a metric; 0 if there is none."""
        families = text_string_to_metric_families(self.telemetry.text().decode())
        found = [s.value for f in families for s in f.samples if s.name == name and s.labels == labels]
        return found[0] if found else 0.0


def crowded(**asking: Any) -> Measured:
    """A full node, and an important pod arrives."""
    old = [a_pod(f"old-{i}", cpu="2", on="n1") for i in range(2)]
    return Measured().begin(a_node("n1"), *old, a_pod("new", priority=9, **{"cpu": "4", **asking}))


# --- pods that find a place ----------------------------------------------------------------------


def test_a_pod_that_is_bound() -> None:
    measured = Measured().begin(a_node("n1"), a_pod("p"))
    assert measured.says("scheduler_schedule_attempts_total", result="scheduled", profile="reprieve") == 0
    measured.succeed(seconds=2.0)
    assert measured.says("scheduler_schedule_attempts_total", result="scheduled", profile="reprieve") == 1
    assert measured.says("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="1") == 2.0
    assert measured.says("scheduler_pod_scheduling_attempts_sum") == 1
    labels = {"result": "scheduled", "profile": "reprieve"}
    assert measured.says("scheduler_scheduling_attempt_duration_seconds_sum", **labels) == 2.0
    assert round(measured.says("scheduler_scheduling_algorithm_duration_seconds_sum"), 6) == 0.1
    assert measured.says("reprieve_effects_total", effect="Bind", result="done") == 1


def test_a_bind_that_fails_is_an_error_and_counts_as_an_attempt() -> None:
    measured = Measured().begin(a_node("n1"), a_pod("p")).fail(Bind)
    assert measured.says("scheduler_schedule_attempts_total", result="error", profile="reprieve") == 1
    measured.now += 5.0
    measured.happens().succeed()
    assert measured.says("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="2") == 1
    assert measured.says("scheduler_pod_scheduling_attempts_sum") == 2


def test_how_much_is_known() -> None:
    theirs = a_pod("theirs", schedulerName="another", on="n1")
    cluster = Measured().begin(a_node("n1"), theirs, a_pod("p"), a_pod("large", cpu="100"))
    sizes = {
        kind: cluster.says("scheduler_cache_size", type=kind) for kind in ("nodes", "pods", "assumed_pods")
    }
    assert sizes == {"nodes": 1, "pods": 2, "assumed_pods": 1}


def test_how_pods_come_into_queues() -> None:
    came = "scheduler_queue_incoming_pods_total"
    cluster = Measured().begin(a_node("n1"), a_pod("p", cpu="100"), a_pod("theirs", schedulerName="another"))
    assert cluster.says(came, queue="active", event="UnscheduledPodAdd") == 1
    assert cluster.says(came, queue="unschedulable", event="ScheduleAttemptFailure") == 1
    cluster.now += 20.0
    cluster.see(a_node("n2", cpu="200")).succeed()
    assert cluster.says(came, queue="active", event="BackoffComplete") == 1
    assert cluster.says(came, queue="unschedulable", event="ScheduleAttemptFailure") == 1


def test_a_bind_whose_answer_is_lost_is_counted_when_it_shows_and_once() -> None:
    pod, cluster = a_pod("p"), Measured().begin(a_node("n1"))
    (bind,) = cluster.see(pod).wanted
    cluster.happens(Unknown(bind, "no answer")).see(bound(pod, "n1"))
    for _ in range(2):
        assert cluster.says("scheduler_schedule_attempts_total", result="scheduled", profile="reprieve") == 1
        cluster.happens(Done(bind))


def test_of_pods_that_are_gone_nothing_is_remembered() -> None:
    """Nor of a group that never was: its name came with them alone."""
    pods = [a_member("m", "nobody-made-it"), a_pod("p", cpu="100"), a_pod("theirs", schedulerName="another")]
    cluster = Measured().begin(a_node("n1"), *pods).succeed()
    cluster.happens(*(Gone(target(pod)) for pod in pods)).succeed()
    kept = {name: value for name, value in vars(cluster.telemetry).items() if isinstance(value, dict)}
    assert {name: {} for name in kept} == kept


def test_a_pod_that_fits_nowhere() -> None:
    measured = Measured().begin(a_node("n1"), a_pod("p", cpu="9"))
    assert measured.says("scheduler_schedule_attempts_total", result="unschedulable", profile="reprieve") == 1
    assert measured.says("scheduler_pending_pods", queue="unschedulable") == 1
    assert measured.says("scheduler_preemption_attempts_total") == 1
    evaluated = {"preemptor": "pod", "result": "Unschedulable"}
    assert measured.says("scheduler_preemption_evaluation_duration_seconds_count", **evaluated) == 1


def test_time_in_which_a_pod_was_gated_does_not_count() -> None:
    measured = Measured().begin(a_node("n1"), a_pod("p", schedulingGates=[{"name": "quota"}]))
    assert measured.says("scheduler_pending_pods", queue="gated") == 1
    measured.now += 100.0
    measured.see(bound(a_pod("p"), "")).succeed(seconds=1.0)
    assert measured.says("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="1") == 1.0


def test_where_none_may_be_evicted_none_tries() -> None:
    measured = Measured(settings=Settings(policies={})).begin(a_node("n1"), a_pod("p", cpu="9"))
    assert measured.says("scheduler_preemption_attempts_total") == 0


# --- plans ---------------------------------------------------------------------------------------


def test_a_plan_that_comes_true() -> None:
    measured = crowded()
    assert measured.says("reprieve_handovers_begun_total", preemptor="pod") == 1
    assert measured.says("reprieve_handovers_open") == 1
    assert measured.says("scheduler_preemption_attempts_total") == 1
    assert measured.says("scheduler_preemption_victims_sum") == 2
    assert measured.says("scheduler_pending_pods", queue="gated") == 1
    measured.succeed(seconds=0.5)
    called = {"preemptor": "pod", "result": "success"}
    assert measured.says("scheduler_preemption_execution_duration_seconds_sum", **called) == 1.5
    assert measured.says("scheduler_preemption_goroutines_execution_total", result="success") == 1
    assert measured.says("scheduler_preemption_goroutines_duration_seconds_sum", result="success") == 1.5
    done = {"operation": "preemption", "result": "success"}
    assert measured.says("scheduler_goroutines_execution_total", **done) == 1
    assert measured.says("scheduler_goroutines_duration_seconds_sum", operation="preemption") == 1.5
    measured.now += 10.0
    measured.happens(*(Gone(target(a_pod(f"old-{i}"))) for i in range(2)))
    assert measured.says("reprieve_handovers_ready_total", preemptor="pod") == 1
    assert measured.says("reprieve_handover_duration_seconds_sum", preemptor="pod") == 12.0
    assert measured.says("reprieve_handovers_open") == 0
    measured.succeed().see(bound(a_pod("new", cpu="4", priority=9), "n1"))
    assert measured.says("reprieve_wasted_evictions_total") == 0


def rejected(measured: Measured, plugin: str) -> float:
    return measured.says("scheduler_unschedulable_pods", plugin=plugin, profile="reprieve")


def test_pods_that_wait_by_the_plugin_that_rejects_them() -> None:
    nodes = [a_node("n1"), a_node("n2", unschedulable=True)]
    measured = Measured().begin(*nodes, a_pod("large", cpu="64"), a_pod("larger", cpu="65"))
    assert (rejected(measured, "NodeResourcesFit"), rejected(measured, "NodeUnschedulable")) == (2, 2)
    measured.happens(Gone(target(a_pod("large"))))
    assert (rejected(measured, "NodeResourcesFit"), rejected(measured, "NodeUnschedulable")) == (1, 1)
    measured.see(a_node("n3", cpu="80"))
    measured.now += 60.0
    measured.happens()
    assert (rejected(measured, "NodeResourcesFit"), rejected(measured, "NodeUnschedulable")) == (0, 0)


def test_the_pods_of_a_group_count_while_it_is_rejected() -> None:
    pods = [a_member(f"g{i}", cpu="4", priority=9) for i in range(2)]
    measured = Measured().begin(a_node("n1"), a_group("g", 9, 2), *pods)
    assert rejected(measured, "NodeResourcesFit") == 2
    measured.happens(*(Gone(target(pod)) for pod in pods))
    assert rejected(measured, "NodeResourcesFit") == 0


def test_so_do_the_pods_of_a_tree_until_its_last_group_does_not_wait() -> None:
    groups = [a_group(name, 9, 1, parent="job") for name in ("lead", "work")]
    pods = [
        a_member(f"{group.metadata.name}-0", group.metadata.name, cpu="4", priority=9) for group in groups
    ]
    namesake = a_group("job", 9, 1)
    measured = Measured().begin(a_node("n1"), a_tree("job", gang={"minCount": 2}), *groups, namesake, *pods)
    assert rejected(measured, "NodeResourcesFit") == 2
    measured.happens(Gone(target(pods[0])))
    measured.happens(Gone(target(pods[1])))
    assert rejected(measured, "NodeResourcesFit") == 0


def test_every_reason_is_that_of_a_plugin() -> None:
    assert PLUGIN_BY_CODE.keys() == set(Code)


def test_a_pod_that_was_spared_and_under_which_ceiling() -> None:
    cheap, dear = a_pod("cheap", cpu="2", on="n1"), a_pod("dear", cpu="2", on="n1", priority=5)
    measured = Measured().begin(a_node("n1"), cheap, dear, a_pod("new", cpu="2", priority=9))
    assert measured.says("reprieve_spared_units_total") == 1
    assert measured.says("reprieve_preemption_ceiling_bucket", le="0.0") == 1


def test_what_a_gang_disturbs_and_saves() -> None:
    pods = [a_pod(f"p{i}", cpu="3", on=f"n{i}") for i in range(2)]
    members = [a_member(f"g-{i}", cpu="3", priority=9) for i in range(2)]
    policies = {SCHEDULER_NAME: replace(REPRIEVE, search=LEAST_DISTURBANCE)}
    measured = Measured(settings=Settings(policies=policies)).begin(
        a_node("n0"), a_node("n1"), *pods, a_group("g", 9, 2), *members
    )
    assert measured.says("reprieve_disturbance_plans_total", proved="true") == 1
    assert measured.says("reprieve_disturbance_total", criterion="PodsStopped") == 2
    assert measured.says("reprieve_disturbance_saved_total", criterion="PodsStopped") == 0
    assert measured.says("reprieve_planning_effort_count") == 1


def test_budgets_that_are_broken() -> None:
    old = a_pod("old", cpu="4", on="n1", labels={"app": "a"})
    measured = Measured().begin(a_node("n1"), a_budget("b", 0, app="a"), old)
    measured.see(a_pod("new", cpu="4", priority=9))
    assert measured.says("scheduler_preemption_pdb_violations_total", preemptor="pod") == 1


def a_whole_group(name: str, priority: int, *on: str) -> list[KubernetesObject]:
    pods = [
        a_member(f"{name}-{i}", name, cpu="4", priority=priority, on=on[i] if on else "") for i in range(2)
    ]
    return [a_group(name, priority, 2, disruptedWhole=True), *pods]


def a_whole_tree(name: str, priority: int, *on: str) -> list[KubernetesObject]:
    leaves = [a_group(f"{name}-{i}", priority, 1, parent=name) for i in range(2)]
    pods = [
        a_member(f"{name}-{i}-0", f"{name}-{i}", cpu="4", priority=priority, on=on[i] if on else "")
        for i in range(2)
    ]
    return [a_tree(name, priority, gang={"minCount": 2}, disruptedWhole=True), *leaves, *pods]


@pytest.mark.parametrize("made", [a_whole_group, a_whole_tree])
def test_a_group_that_takes_the_room_of_a_group(made: Callable[..., list[KubernetesObject]]) -> None:
    nodes = [a_node(f"n{i}") for i in range(2)]
    measured = Measured().begin(*nodes, *made("old", 1, "n0", "n1"), *made("new", 9))
    waiting = {"result": "waiting_on_preemption", "profile": "reprieve"}
    assert measured.says("scheduler_podgroup_schedule_attempts_total", **waiting) == 1
    assert measured.says("scheduler_workload_preemption_attempts_total", result="Success") == 1
    assert measured.says("scheduler_workload_preemption_victims_sum") == 2
    assert measured.says("scheduler_preemption_workload_disruptions_sum", preemptor="podgroup") == 1
    assert measured.says("scheduler_preemption_victims_count") == 0
    assert measured.says("reprieve_handovers_begun_total", preemptor="podgroup") == 1


# --- plans that are given up ---------------------------------------------------------------------


def abandoned(measured: Measured, reason: str, preemptor: str = "pod") -> float:
    return measured.says("reprieve_handovers_abandoned_total", preemptor=preemptor, reason=reason)


def until_evicting(measured: Measured) -> Measured:
    while not any(isinstance(effect, Evict) for effect in measured.wanted):
        effects, measured.wanted = measured.wanted, []
        measured.happens(*map(Done, effects))
    return measured


def test_an_eviction_that_fails() -> None:
    measured = until_evicting(crowded()).fail(Evict)
    assert abandoned(measured, "failed") == 1
    assert measured.says("scheduler_preemption_goroutines_execution_total", result="error") == 1
    assert measured.says("scheduler_goroutines_execution_total", operation="preemption", result="error") == 1
    assert measured.says("reprieve_effects_total", effect="Evict", result="failed") == 2


def test_a_victim_that_cannot_be_marked() -> None:
    measured = crowded()
    effects, measured.wanted = measured.wanted, []
    measured.happens(*map(Done, effects)).fail(SetCondition)
    assert abandoned(measured, "failed") == 1


def test_a_preemptor_that_is_deleted_wastes_what_was_evicted() -> None:
    measured = crowded().succeed()
    measured.see(leaving(a_pod("new", cpu="4", priority=9)))
    assert abandoned(measured, "preemptor_gone") == 1
    measured.happens(Gone(target(a_pod("new"))))
    assert measured.says("reprieve_wasted_evictions_total") == 2


def test_a_preemptor_that_finds_another_place_wastes_what_was_evicted() -> None:
    measured = crowded().succeed()
    measured.now += 60.0
    measured.see(a_node("n2"))
    assert abandoned(measured, "placed_elsewhere") == 1
    assert measured.says("reprieve_wasted_evictions_total") == 0, "the bind may fail"
    measured.succeed().see(bound(a_pod("new", cpu="4", priority=9), "n2"))
    assert measured.says("reprieve_wasted_evictions_total") == 2


def test_a_node_that_is_gone() -> None:
    measured = crowded().succeed().happens(Gone(target(a_node("n1"))))
    assert abandoned(measured, "node_gone") == 1


def test_a_more_important_demand_takes_the_room_too() -> None:
    measured = crowded().succeed().see(a_pod("newer", cpu="4", priority=10))
    assert abandoned(measured, "outranked") == 1
    assert measured.says("reprieve_handovers_open") == 1


def test_a_victim_that_never_leaves() -> None:
    measured = crowded().succeed()
    measured.now += 1000.0
    measured.happens()
    assert abandoned(measured, "stuck") == 1


def test_every_end_of_a_plan_is_counted() -> None:
    assert set(ABANDONED) == set(EndReason) - {EndReason.ROOM_USED}
    assert set(PREEMPTORS) == set(Preemptor)


def test_a_scheduler_that_starts_has_no_plans() -> None:
    measured = crowded()
    assert measured.says("reprieve_handovers_open") == 1
    measured.telemetry.read_from(dict)
    assert measured.says("reprieve_handovers_open") == 0
