"""Another scheduler takes over in the middle of a plan, and knows nothing but what the API server holds."""

from collections.abc import Iterable

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, leaving, target
from tests.unit.scheduler.serving import STEPS, TIME, Served, nominated_to, served
from tests.unit.scheduler.stage import Stage as Acts
from tests.unit.scheduler.stage import notes

from reprieve.model.conditions import MARK
from reprieve.model.effects import Announce, Bind, Effect, Nominate, SetCondition, Target
from reprieve.model.events import Synced
from reprieve.model.objects import KubernetesObject
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.handover import is_marked

NODE, OLD, NEW = a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_another_scheduler_goes_on_where_the_first_was(steps: int) -> None:
    cluster = served(NODE, OLD, NEW)
    for step in STEPS[:steps]:
        cluster.does(step)
    cluster = cluster.restarted()
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("steps", [2, 3])
def test_after_a_restart_none_is_evicted_beyond_the_plan(steps: int) -> None:
    """A cheaper victim came in the meantime."""
    cluster = served(NODE, a_pod("old", cpu="3", priority=5, on="n1"), NEW)
    for step in STEPS[:steps]:
        cluster.does(step)
    cluster.show(a_node("n2"), a_pod("cheap", cpu="4", on="n2"))
    cluster.take()
    cluster = cluster.restarted()
    assert cluster.comes_true().places() == {"new": "n1", "cheap": "n2"}


def preempted(effects: Iterable[Effect]) -> list[Announce]:
    return [e for e in effects if isinstance(e, Announce) and e.reason == "Preempted"]


def test_a_pod_that_is_on_its_way_is_told_why_by_the_next_though_the_first_may_have() -> None:
    cluster = served(NODE, OLD, NEW)
    for step in STEPS:
        cluster.does(step)
    (before,) = preempted(cluster.stage.wanted)
    (after,) = preempted(cluster.restarted().stage.wanted)
    assert (after.target, after.suffix) == (before.target, before.suffix), "a server keeps one of them"
    (decision,) = cluster.stage.decisions
    assert after.note == before.note
    assert decision.id in after.note
    assert after.related == Target("Pod", "default", "new", ""), "the mark has no UID"


def test_a_pod_that_leaves_for_other_reasons_is_told_nothing() -> None:
    assert preempted(served(NODE, leaving(OLD)).stage.wanted) == []


def test_after_a_restart_reserved_room_is_respected() -> None:
    halves = [a_pod(name, cpu="2", on="n1") for name in ("old", "older")]
    cluster = served(NODE, *halves, a_pod("new", cpu="4", priority=9))
    for step in STEPS:
        cluster.does(step)
    cluster.gone("old").show(a_pod("peer", cpu="2", priority=9))
    cluster = cluster.restarted()
    assert cluster.wanted(Bind) == []
    assert cluster.comes_true().places() == {"new": "n1"}


def test_a_nomination_from_before_that_leads_nowhere_is_cleared() -> None:
    cluster = served(NODE, a_pod("dear", cpu="3", priority=9, on="n1"), nominated_to(NEW, "n1"))
    assert cluster.nominations() == [("new", "")]
    assert cluster.show(a_pod("small", cpu="1")).wanted(Bind) == ["small"]


def test_a_nomination_to_a_node_that_is_gone_reserves_nothing() -> None:
    cluster = served(NODE, nominated_to(NEW, "n0"), OLD, a_pod("older", cpu="1", priority=9, on="n1"))
    assert cluster.comes_true().places() == {"new": "n1", "older": "n1"}


# --- groups --------------------------------------------------------------------------------------


def test_a_gang_does_not_care_in_which_order_it_is_listed() -> None:
    """Its running pods may be listed after those that wait, and the group itself at last."""
    pods = [a_member("g-0", cpu="2", priority=9), a_member("g-1", cpu="2", priority=9, on="n1")]
    cluster = served(NODE, *pods, a_group("g", 9, 2))
    assert notes(cluster.stage.wanted) == []
    assert cluster.does(Bind).places() == {"g-0": "n1", "g-1": "n1"}


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_another_scheduler_goes_on_with_the_plan_of_a_gang(steps: int) -> None:
    old = [a_pod(f"old-{i}", cpu="3", priority=5, on=f"n{i}") for i in (1, 2)]
    pods = [a_member(f"g-{i}", cpu="3", priority=9) for i in range(2)]
    cluster = served(NODE, a_node("n2"), *old, a_group("g", 9, 2), *pods)
    for step in STEPS[:steps]:
        cluster.does(step)
    if steps >= 2:
        cluster.show(a_node("n3"), a_pod("cheap", cpu="4", on="n3"))
    cluster.take()
    cluster = cluster.restarted().comes_true()
    assert {cluster.places()[name] for name in ("g-0", "g-1")} == {"n1", "n2"}
    assert steps < 2 or cluster.places()["cheap"] == "n3"
    assert cluster.unfinished() == {}


def test_marks_whose_preemptor_is_gone_are_cleared_after_a_while() -> None:
    cluster = served(NODE, OLD, NEW).does(Nominate).does(SetCondition)
    cluster.take()
    del cluster.objects[cluster.named("new")]
    cluster = cluster.restarted()
    cluster.stage.after(29.0)
    assert cluster.wanted(SetCondition) == []
    cluster.stage.after(1.0)
    assert cluster.does().conditions("old") == {MARK: "False"}
    assert cluster.unfinished() == {}


# --- in the middle of marking --------------------------------------------------------------------


def half_marked() -> Served:
    """Two had to go for ``new``, and only one of them was told."""
    halves = [a_pod(name, cpu="2", priority=5, on="n1") for name in ("old", "older")]
    cluster = served(NODE, *halves, a_pod("new", cpu="4", priority=9)).does(Nominate)
    (first, *_) = cluster.take(SetCondition, names=["old", "older"])
    cluster.applied(first)
    assert [pod.metadata.name for pod in cluster.pods() if is_marked(pod)] == ["old"]
    return cluster


def test_a_pod_that_was_marked_before_a_crash_counts_as_gone() -> None:
    """One elsewhere costs less than two, and not less than the one that was not marked yet."""
    cluster = half_marked()
    cluster.objects.update((target(thing), thing) for thing in other_node("same", priority=5))
    cluster = cluster.restarted()
    assert [victim.name for victim in cluster.plan().victims] == ["old", "older"]
    assert cluster.comes_true().places() == {"new": "n1", "same": "n2"}


def test_what_else_it_costs_decides() -> None:
    """One elsewhere that is less important than the one that was not marked yet."""
    cluster = half_marked()
    cluster.objects.update((target(thing), thing) for thing in other_node("cheap", priority=1))
    cluster = cluster.restarted()
    assert [victim.name for victim in cluster.plan().victims] == ["cheap"]
    cluster.comes_true().stage.after(30.0)
    assert cluster.comes_true().places() == {"new": "n2", "old": "n1", "older": "n1"}
    assert cluster.conditions("old")[MARK] == "False"


def other_node(name: str, priority: int) -> list[KubernetesObject]:
    return [a_node("n2"), a_pod(name, cpu="4", priority=priority, on="n2")]


def test_a_pod_that_was_leaving_long_before_a_restart_is_soon_counted_on_no_longer() -> None:
    stage = Acts(Scheduler(), now=TIME.timestamp() + 250)
    stage.see(NODE, leaving(OLD), NEW).happens(Synced()).take()

    def is_stuck() -> bool:
        return any(isinstance(e, Announce) and e.reason == "PreemptionStuck" for e in stage.take())

    stage.after(59)
    assert not is_stuck()
    stage.after(1)
    assert is_stuck()
