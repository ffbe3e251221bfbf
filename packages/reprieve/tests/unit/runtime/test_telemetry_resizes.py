"""What metrics say of pods that want more where they run."""

from dataclasses import replace

from tests.unit.runtime.test_telemetry import Measured
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, granted, later, leaving, respecified, target, wanting

from reprieve.model.events import Gone
from reprieve.model.objects import Pod
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

GROWS = wanting(a_pod("grows", cpu="2", priority=9, on="n1"), "3")
LOW = a_pod("low", cpu="2", on="n1")


def measured(*others: Pod) -> Measured:
    policies = {SCHEDULER_NAME: replace(REPRIEVE, resizes=DeferredResizes())}
    return Measured(settings=Settings(policies=policies)).begin(a_node("n1"), GROWS, *others)


def ended(one: Measured, end: str) -> tuple[float, float]:
    """How many resizes ended so, and how many pods were evicted for nothing."""
    return one.says("reprieve_resizes_ended_total", end=end), one.says("reprieve_wasted_evictions_total")


def test_a_resize_that_makes_room() -> None:
    one = measured(LOW)
    assert one.says("reprieve_resize_decisions_total", outcome="Preempts") == 1
    assert one.says("reprieve_resize_victims_total") == 1
    assert one.says("scheduler_preemption_victims_sum") == 1
    one.now += 5
    one.see(granted(GROWS))
    assert ended(one, "granted") == (1, 0)
    assert one.says("reprieve_resize_duration_seconds_sum") == 5


def test_its_decisions_are_no_attempts_to_schedule() -> None:
    one = measured(a_pod("dear", cpu="2", priority=20, on="n1"))
    assert one.says("reprieve_resize_decisions_total", outcome="Unschedulable") == 1
    assert one.says("scheduler_schedule_attempts_total", result="unschedulable", profile="reprieve") == 0


SMALL = respecified(granted(GROWS), containers=a_pod(cpu="2").spec.containers)


def test_a_resize_that_is_withdrawn_wastes_what_was_evicted() -> None:
    one = measured(LOW).succeed().see(SMALL)
    assert ended(one, "withdrawn") == (1, 1)


def test_a_resize_that_is_withdrawn_before_an_eviction_is_sent_wastes_nothing() -> None:
    one = measured(LOW).see(SMALL)
    assert ended(one, "withdrawn") == (1, 0)


def test_a_resize_that_can_never_be() -> None:
    one = measured(LOW).succeed()
    one.see(later(later(wanting(a_pod("grows", cpu="2", priority=9, on="n1"), "9", "Infeasible"))))
    assert ended(one, "infeasible") == (1, 1)


def test_a_pod_that_goes() -> None:
    one = measured()
    one.see(leaving(GROWS))
    assert ended(one, "gone") == (1, 0)
    one.see(later(leaving(GROWS)))
    assert ended(one, "gone") == (1, 0)


# --- plans for them ------------------------------------------------------------------------------


def plans(one: Measured, **labels: str) -> float:
    kind = "abandoned" if labels else "ready"
    return one.says(f"reprieve_handovers_{kind}_total", preemptor="resize", **labels)


def test_a_plan_for_a_resize_is_ready_when_its_victim_is_gone() -> None:
    one = measured(LOW)
    assert one.says("reprieve_handovers_begun_total", preemptor="resize") == 1
    assert one.says("reprieve_handovers_open") == 1
    one.succeed(seconds=1.0).happens(Gone(target(LOW)))
    assert plans(one) == 1
    assert one.says("reprieve_handovers_open") == 0


def test_a_plan_for_a_resize_that_the_node_grants_first() -> None:
    one = measured(LOW).succeed().see(granted(GROWS))
    assert plans(one) == 1


def test_a_plan_for_a_resize_that_the_node_grants_before_an_eviction_is_sent() -> None:
    one = measured(LOW).see(granted(GROWS))
    assert (plans(one), plans(one, reason="placed_elsewhere")) == (0, 1)


def test_members_of_a_gang_that_are_decided_in_one_go() -> None:
    policies = {SCHEDULER_NAME: replace(REPRIEVE, resizes=DeferredResizes())}
    members = [wanting(a_member(f"g{i}", "train", cpu="2", priority=9, on=f"n{i}"), "3") for i in range(1, 3)]
    others = [a_pod(f"low{i}", cpu="2", on=f"n{i}") for i in range(1, 3)]
    one = Measured(settings=Settings(policies=policies)).begin(
        a_node("n1"), a_node("n2"), a_group("train", 9, 2), *members, *others
    )
    assert one.says("reprieve_resize_decisions_together_total") == 2
    assert measured(LOW).says("reprieve_resize_decisions_together_total") == 0
