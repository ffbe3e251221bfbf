"""Victims of all kinds: bound or on their way, single or as a group."""

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_claim, a_class, a_node, a_pod, finished, later, target
from tests.unit.scheduler.serving import OPEN, STEPS, served, until
from tests.unit.scheduler.stage import notes

from reprieve.model.conditions import MARK
from reprieve.model.effects import Bind, Evict, Nominate, SetCondition
from reprieve.model.events import Done, Failed
from reprieve.model.objects import KubernetesObject
from reprieve.scheduler.plans.handover import Stage

NODE, NEW = a_node("n1"), a_pod("new", cpu="2", priority=9)
FULL = [a_pod("low", cpu="3", on="n1"), a_pod("dear", cpu="3", priority=20, on="n2")]


# --- victims that are not bound yet --------------------------------------------------------------


def test_a_victim_whose_bind_is_under_way_is_evicted_after_it() -> None:
    cluster = served(NODE, a_pod("low", cpu="3"))
    cluster.show(NEW)
    assert cluster.outcomes() == ["Placed", "Preempts"]
    for step in STEPS:
        cluster.does(Bind, step)
    assert cluster.pod("low").metadata.deletion_timestamp is not None
    assert cluster.comes_true().places() == {"new": "n1"}


@pytest.mark.parametrize("stage", [Stage.NOMINATED, Stage.MARKING])
def test_a_victim_whose_bind_failed_is_not_evicted_any_more(stage: Stage) -> None:
    cluster = served(NODE, a_pod("low", cpu="3")).show(NEW)
    until(cluster, stage).fails(Bind)
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.conditions("low").get(MARK, "False") == "False"
    cluster.stage.after(10.0)
    assert cluster.show(a_node("n2")).comes_true().places() == {"new": "n1", "low": "n2"}


@pytest.mark.parametrize("stage", [Stage.NOMINATED, Stage.MARKING])
def test_a_victim_whose_bind_failed_stays_when_the_others_are_evicted(stage: Stage) -> None:
    low = a_pod("low", cpu="2", on="n1")
    cluster = served(NODE, low).show(a_pod("late", cpu="2")).show(a_pod("new", cpu="4", priority=9))
    until(cluster, stage).fails(Bind)
    assert until(cluster, Stage.EVICTING).wanted(Evict) == ["low"]
    assert cluster.comes_true().places() == {"new": "n1"}
    assert "late" in [pod.metadata.name for pod in cluster.pods()]


def test_a_victim_that_is_marked_and_whose_bind_failed_is_marked_until_that_is_cleared() -> None:
    low, late = a_pod("low", cpu="2", on="n1"), a_pod("late", cpu="2")
    cluster = until(served(NODE, low).show(late).show(a_pod("new", cpu="4", priority=9)), Stage.MARKING)
    (mark,) = cluster.take(SetCondition, names=["late"])
    cluster.stage.happens(Done(mark), *cluster.applied(mark))
    victims = cluster.fails(Bind).stage.scheduler._state.ledger.victims
    assert target(late) in victims.marked
    cluster.does(SetCondition)
    assert target(late) not in victims.marked


def test_a_namesake_of_a_victim_is_another_pod() -> None:
    """The victim is replaced between two sights, as after a relist: it is gone, and the other one stays."""
    cluster = until(served(NODE, a_node("n2"), *FULL, NEW), Stage.DRAINING)
    (victim,) = [pod for pod in cluster.pods() if pod.metadata.deletion_timestamp]
    del cluster.objects[target(victim)]
    namesake = a_pod("low", cpu="1", on="n2", uid="another")
    renewed = later(victim, uid="another", deletion_timestamp=None).metadata
    cluster.show(msgspec.structs.replace(namesake, metadata=renewed))
    assert cluster.comes_true().places() == {"new": "n1", "low": "n2", "dear": "n2"}


def test_a_victim_that_finishes_is_waited_for_no_longer() -> None:
    """It is still shown, until its kubelet and the API server are done with it."""
    cluster = until(served(NODE, a_node("n2"), *FULL, NEW), Stage.DRAINING)
    (victim,) = [pod for pod in cluster.pods() if pod.metadata.deletion_timestamp]
    cluster.show(finished(victim))
    assert cluster.stage.scheduler._state.ledger.terminating.under_way == []
    assert cluster.wanted(Bind) == ["new"]


def test_a_victim_of_two_plans_counts_as_leaving_while_one_of_its_evictions_is_in_flight() -> None:
    """The other was refused. If no answer comes to this one either, its plan has an end all the same."""
    both = [a_pod(name, cpu="2", priority=9) for name in ("a", "b")]
    cluster = served(NODE, a_pod("low", cpu="3", on="n1"), *both).does(Nominate).does(SetCondition)
    first, second = cluster.take(Evict)
    assert first == second
    cluster.stage.happens(Failed(first, "refused"))
    assert second.target in cluster.stage.scheduler._state.ledger.terminating
    cluster.stage.after(300.0)
    assert "preemption failed at Pod default/low: it has not left within 300 s" in notes(cluster.stage.wanted)


def test_a_pod_stays_if_the_answer_to_an_eviction_that_no_plan_needs_any_more_is_lost() -> None:
    """It may leave all the same, which will be seen. If it does not, a later plan may evict it."""
    cluster = until(served(NODE, a_pod("low", cpu="3", on="n1"), NEW), Stage.EVICTING).gone("new")
    cluster.loses(Evict, done=False)
    cluster.stage.after(600.0)
    assert cluster.show(a_pod("next", cpu="2", priority=9)).comes_true().places() == {"next": "n1"}


def test_a_victim_whose_volumes_are_being_prepared_is_withdrawn() -> None:
    low = a_pod("low", cpu="3", claims=["data"])
    cluster = served(NODE, a_class(), a_claim("data"), low).show(NEW)
    assert cluster.wanted(Evict) == []
    cluster.does(Nominate)
    assert cluster.wanted(Evict) == []
    assert cluster.does(Bind).places() == {"new": "n1"}
    assert cluster.conditions("low") == {}, "it was not marked"
    assert "it is preempted before it started" in " ".join(notes(cluster.stage.wanted))


# --- groups as victims ---------------------------------------------------------------------------


def a_whole_group() -> list[KubernetesObject]:
    group = a_group("train", 5, disruptedWhole=True)
    return [group, *(a_member(f"t{i}", "train", cpu="3", priority=5, on=f"n{i + 1}") for i in range(2))]


def test_a_group_that_goes_as_a_whole_is_marked_after_its_pods_and_evicted_at_once() -> None:
    cluster = served(NODE, a_node("n2"), *a_whole_group(), NEW)
    assert until(cluster, Stage.COMMITTING).wanted(Evict) == []
    assert [cluster.conditions(name)[MARK] for name in ("t0", "t1")] == ["True", "True"]
    assert until(cluster, Stage.EVICTING).wanted(Evict) == ["t0", "t1"]
    assert cluster.conditions("train", "PodGroup")[MARK] == "True"
    assert cluster.comes_true().places() == {"new": "n1"}


def test_no_pod_waits_for_members_on_other_nodes() -> None:
    cluster = until(served(NODE, a_node("n2"), *a_whole_group(), NEW), Stage.DRAINING)
    assert cluster.gone("t0").does(Bind).places() == {"new": "n1", "t1": "n2"}
    assert cluster.gone("t1").comes_true().unfinished() == {}


def test_a_member_that_is_deleted_while_its_group_is_marked_may_make_enough_room_alone() -> None:
    cluster = until(served(NODE, a_node("n2"), *a_whole_group(), NEW), Stage.COMMITTING)
    cluster.deleted("t0")
    assert cluster.does(SetCondition).wanted(Evict) == []
    assert cluster.comes_true().places() == {"new": "n1", "t1": "n2"}
    assert cluster.conditions("t1")[MARK] == "False"


@pytest.mark.parametrize("stage", OPEN)
def test_a_group_of_victims_may_be_deleted_in_the_meantime(stage: Stage) -> None:
    cluster = until(served(NODE, a_node("n2"), *a_whole_group(), NEW), stage)
    cluster.gone("train", kind="PodGroup")
    assert cluster.comes_true().places() == {"new": "n1"}


def test_a_member_on_a_node_that_is_gone_stops_nothing() -> None:
    cluster = served(NODE, *a_whole_group(), NEW)
    assert until(cluster, Stage.EVICTING).wanted(Evict) == ["t0"]
    assert cluster.comes_true().places() == {"new": "n1", "t1": "n2"}
