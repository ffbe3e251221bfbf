"""Pods in line get the best node there is, the important ones first; people learn why the others wait."""

from tests.unit.scheduler.making import a_node, a_pod, bound, finished, leaving, respecified, target
from tests.unit.scheduler.stage import Stage, notes, remains, stage_with

from reprieve.model.effects import Announce, Bind, SetCondition
from reprieve.model.events import Done, Failed, Seen, Synced, Unknown
from reprieve.model.moment import Due
from reprieve.scheduler.reporting.decision import Outcome


def test_a_pod_is_bound_to_the_best_node() -> None:
    """To the emptiest, all else being equal."""
    stage = stage_with(a_node("n1"), a_node("n2"), a_pod("there", cpu="2", on="n1"), a_pod("p"))
    assert stage.take() == [Bind(target(a_pod("p")), "n2")]
    (decision,) = stage.decisions
    assert (decision.demand, decision.outcome) == (target(a_pod("p")), Outcome.PLACED)
    assert (decision.nodes, decision.considered) == (("n2",), 2)


def test_nothing_is_decided_before_everything_was_seen() -> None:
    stage = Stage().happens(Seen(a_node("n1")), Seen(a_pod("p")))
    assert stage.decisions == []
    assert stage.happens(Seen(a_node("n2", cpu="64")), Synced()).binds() == {"p": "n2"}


def test_the_important_go_first() -> None:
    stage = stage_with(
        a_node("n1", cpu="2"), a_pod("small", cpu="2"), a_pod("large", cpu="2", priority=7), a_pod("none")
    )
    assert [decision.demand.name for decision in stage.decisions] == ["large", "none", "small"]
    assert stage.binds() == {"large": "n1"}


def test_a_promised_pod_takes_room_before_it_is_seen_there() -> None:
    stage = stage_with(a_node("n1", cpu="4"), a_pod("a", cpu="3"), a_pod("b", cpu="3"))
    assert stage.binds() == {"a": "n1"}
    assert stage.see(bound(a_pod("a", cpu="3"), "n1")).binds() == {}


def test_pods_of_others_take_room_and_are_left_alone() -> None:
    stranger = a_pod("stranger", cpu="3", schedulerName="default-scheduler")
    stage = stage_with(a_node("n1", cpu="4"), stranger)
    assert stage.decisions == []
    stage.see(bound(stranger, "n1"), a_pod("p", cpu="2"))
    assert [decision.outcome for decision in stage.decisions] == [Outcome.UNSCHEDULABLE]


def test_a_pod_that_has_ended_takes_no_room() -> None:
    done = a_pod("done", cpu="4", on="n1")
    assert stage_with(a_node("n1"), finished(done), a_pod("p", cpu="4")).binds() == {"p": "n1"}
    stage = stage_with(a_node("n1"), done, a_pod("p", cpu="4"))
    assert stage.binds() == {}
    assert stage.see(finished(done)).after(1.0).binds() == {"p": "n1"}


def test_a_pod_that_is_being_deleted_is_not_placed() -> None:
    assert stage_with(a_node("n1"), leaving(a_pod("p"))).decisions == []
    stage = stage_with(a_node("n1", cpu="1"), a_pod("p", cpu="2")).see(leaving(a_pod("p", cpu="2")))
    assert stage.see(a_node("n2")).after(1000.0).binds() == {}


def test_scheduling_gates_hold_a_pod_back_until_they_are_gone() -> None:
    gated = a_pod("p", schedulingGates=[{"name": "quota"}])
    stage = stage_with(a_node("n1"), gated)
    assert stage.see(a_node("n2")).after(1000.0).decisions == []
    assert stage.see(respecified(gated, scheduling_gates=())).binds() == {"p": "n1"}


def test_a_pod_that_asks_for_less_is_looked_at_again_at_once() -> None:
    pod = a_pod("p", cpu="8")
    stage = stage_with(a_node("n1", cpu="4"), pod)
    assert stage.binds() == {}
    smaller = respecified(pod, containers=a_pod("p", cpu="1").spec.containers)
    assert stage.see(smaller).binds() == {"p": "n1"}


# --- what people are told ------------------------------------------------------------------------


def test_people_are_told_that_a_pod_was_placed() -> None:
    stage = stage_with(a_node("n1"), a_pod("p"))
    stage.succeed()
    assert notes(stage.take()) == ["Successfully assigned default/p to n1"]


def test_people_are_told_why_a_pod_waits() -> None:
    stage = stage_with(a_node("n1", cpu="1"), a_node("n2", unschedulable=True), a_pod("p", cpu="2"))
    condition, announcement = stage.take()
    assert isinstance(condition, SetCondition)
    assert isinstance(announcement, Announce)
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
    assert (
        condition.message
        == announcement.note
        == (
            "0/2 nodes are available: 1 node is too small: the pod needs more cpu than its capacity, "
            "1 node is marked unschedulable; preemption cannot help: "
            "preemption is off for pods of this scheduler"
        )
    )
    assert "nearest miss: n1 is short of cpu by 1" in stage.decisions[0].text


def test_nothing_is_said_twice() -> None:
    stage = stage_with(a_node("n1", cpu="1"), a_pod("p", cpu="2"))
    assert len(stage.succeed()) == 2
    stage.after(900.0)
    assert len(stage.decisions) == 4
    assert stage.take() == []


def test_something_new_is_said() -> None:
    stage = stage_with(a_node("n1", cpu="1"), a_pod("p", cpu="2"))
    stage.succeed()
    stage.see(a_node("n2", unschedulable=True)).after(1.0)
    assert len(stage.take()) == 2


def test_that_as_much_is_short_on_more_nodes_is_no_news() -> None:
    stage = stage_with(a_node("n1", cpu="1"), a_pod("p", cpu="2"))
    stage.succeed()
    stage.see(a_node("n2", cpu="500m")).after(1.0)
    assert "0/2 nodes" in stage.decisions[-1].text
    assert stage.take() == []


def test_what_could_not_be_written_is_written_next_time() -> None:
    for end in (Failed, Unknown):
        stage = stage_with(a_node("n1", cpu="1"), a_pod("p", cpu="2"))
        condition, announcement = stage.take()
        stage.happens(end(condition, "conflict"), Done(announcement)).after(300.0)
        assert stage.take() == [condition, announcement]


def test_a_pod_that_waits_among_many_nodes_gets_a_short_note() -> None:
    nodes = [a_node(f"n{i}", taints=[{"key": f"t{i}", "effect": "NoSchedule"}]) for i in range(200)]
    stage = stage_with(*nodes, a_pod("p"))
    condition, announcement = stage.take()
    assert isinstance(condition, SetCondition)
    assert isinstance(announcement, Announce)
    assert len(condition.message) <= 1024
    assert len(announcement.note) <= 1024


def test_nothing_is_kept_of_pods_that_are_gone() -> None:
    pods = [a_pod(f"p{i}", cpu="3") for i in range(20)]
    stage = stage_with(a_node("n1"), *pods)
    stage.succeed()
    assert remains(stage.scheduler) != []
    stage.lose(*pods).after(600.0)
    assert remains(stage.scheduler) == []
    assert stage.scheduler.next_time() == Due()
