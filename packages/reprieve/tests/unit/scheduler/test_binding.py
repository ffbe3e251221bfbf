"""A bind may fail, get lost, or be overtaken by others; the promise ends as the cluster shows."""

import pytest
from tests.unit.scheduler.making import a_node, a_pod, bound, finished, later, leaving, target
from tests.unit.scheduler.stage import Stage, notes, promises, stage_with

from reprieve.model.effects import Bind
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Unknown

POD = a_pod("p", cpu="3")
NODE = a_node("n1", cpu="4")
BIND = Bind(target(POD), "n1")


def bind_under_way() -> Stage:
    stage = stage_with(NODE, POD)
    assert stage.take() == [BIND]
    return stage


def has_room(stage: Stage) -> bool:
    """Whether another pod of the same size would get the node now."""
    return "probe" in stage.see(a_pod("probe", cpu="3", priority=9)).binds()


# --- it fails ------------------------------------------------------------------------------------


def test_a_failed_bind_gives_the_room_back() -> None:
    assert not has_room(bind_under_way())
    assert has_room(bind_under_way().happens(Failed(BIND, "no quota")))


def test_a_failed_bind_is_told_and_tried_again_after_a_backoff() -> None:
    stage = bind_under_way().happens(Failed(BIND, "no quota"))
    assert notes(stage.take()) == ["binding failed: no quota"] * 2
    assert stage.after(0.9).take() == []
    assert stage.after(0.1).binds() == {"p": "n1"}


def test_a_bind_that_keeps_failing_is_tried_less_and_less() -> None:
    stage = bind_under_way()
    for _ in range(5):
        stage.happens(Failed(BIND, "no quota"))
        stage.after(10.0)
    times = [decision.at for decision in stage.decisions]
    assert times == [0.0, 1.0, 12.0, 24.0, 38.0, 50.0]


def test_a_failed_bind_of_a_pod_that_is_being_deleted_is_not_tried_again() -> None:
    stage = bind_under_way().see(leaving(POD)).happens(Failed(BIND, "is being deleted"))
    assert has_room(stage)
    assert stage.lose(a_pod("probe", cpu="3")).after(1000.0).binds() == {}


# --- it succeeds ---------------------------------------------------------------------------------


def test_the_promise_stands_until_the_pod_is_seen_there() -> None:
    stage = bind_under_way().happens(Done(BIND)).after(3600.0)
    assert promises(stage) == 1
    assert not has_room(stage)
    stage.see(bound(POD, "n1"))
    assert promises(stage) == 0
    assert not has_room(stage)


@pytest.mark.parametrize(
    "events", [[Done(BIND), Seen(bound(POD, "n1"))], [Seen(bound(POD, "n1")), Done(BIND)]]
)
def test_success_and_sight_may_come_in_any_order(events: list[Event]) -> None:
    stage = bind_under_way().happens(*events).after(3600.0)
    assert promises(stage) == 0
    assert len(stage.decisions) == 1
    assert notes(stage.take()) == ["Successfully assigned default/p to n1"]


def test_what_is_seen_of_the_pod_before_the_bind_changes_nothing() -> None:
    stage = bind_under_way().see(later(POD, labels={"a": "b"})).happens(Done(BIND)).see(later(later(POD)))
    assert promises(stage) == 1
    assert len(stage.after(3600.0).decisions) == 1


# --- the answer is lost --------------------------------------------------------------------------


def test_a_lost_answer_keeps_the_promise() -> None:
    stage = bind_under_way().happens(Unknown(BIND, "timeout"))
    assert stage.after(9.9).take() == []
    assert not has_room(stage)


def test_a_lost_answer_is_settled_by_sight() -> None:
    stage = bind_under_way().happens(Unknown(BIND, "timeout")).see(bound(POD, "n1"))
    assert promises(stage) == 0
    assert stage.after(3600.0).take() == []


def test_a_lost_answer_is_asked_for_again_after_ten_seconds() -> None:
    stage = bind_under_way().happens(Unknown(BIND, "timeout"))
    assert stage.next_time() == 10.0
    assert stage.after(10.0).take() == [BIND]
    assert stage.after(3600.0).take() == [], "one request at a time"
    assert stage.happens(Unknown(BIND, "timeout")).after(10.0).take() == [BIND]


def test_asking_again_may_show_that_it_had_worked() -> None:
    stage = bind_under_way().happens(Unknown(BIND, "timeout")).after(10.0).happens(Done(BIND))
    stage.take()
    assert stage.see(bound(POD, "n1")).after(3600.0).binds() == {}
    assert promises(stage) == 0


def test_a_pod_that_is_gone_is_not_asked_for_again() -> None:
    stage = bind_under_way().happens(Unknown(BIND, "timeout")).lose(POD)
    assert stage.after(3600.0).take() == []


# --- others act meanwhile ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end", [Done(BIND), Failed(BIND, "it runs on node n1 already"), Unknown(BIND, "timeout")]
)
def test_another_client_binds_it_to_the_same_node(end: Event) -> None:
    stage = bind_under_way().see(bound(POD, "n1")).happens(end).after(3600.0)
    assert promises(stage) == 0
    assert not has_room(stage)
    assert len(stage.decisions) == 2


def test_another_client_binds_it_to_another_node() -> None:
    stage = bind_under_way().see(bound(POD, "n2")).happens(Failed(BIND, "it runs on node n2 already"))
    assert has_room(stage)
    stage.take()
    assert stage.see(a_node("n2", cpu="4"), a_pod("q", cpu="3")).after(10.0).binds() == {}, "n2 is taken"


def test_the_pod_ends_meanwhile() -> None:
    stage = bind_under_way().see(finished(POD)).happens(Failed(BIND, "it has ended"))
    assert has_room(stage)
    assert promises(stage) == 1


@pytest.mark.parametrize("end", [Done(BIND), Failed(BIND, "not found"), Unknown(BIND, "timeout")])
def test_the_pod_is_deleted_meanwhile(end: Event) -> None:
    stage = bind_under_way().happens(Gone(target(POD)), end)
    assert promises(stage) == 0
    assert has_room(stage)
    assert stage.lose(a_pod("probe", cpu="3")).after(3600.0).binds() == {}


@pytest.mark.parametrize("end", [Done(BIND), Failed(BIND, "not found"), Unknown(BIND, "timeout")])
@pytest.mark.parametrize("announced", [True, False])
def test_a_namesake_is_a_pod_of_its_own(end: Event, announced: bool) -> None:
    """How the bind of the first ended says nothing of the second, whether its end was shown or not."""
    namesake = later(later(a_pod("p", cpu="3", uid="another")))
    stage = bind_under_way().happens(*[Gone(target(POD))] * announced, Seen(namesake))
    assert stage.take() == [Bind(target(namesake), "n1")]
    stage.happens(end, Failed(Bind(target(namesake), "n1"), "no quota"))
    stage.take()
    assert stage.after(1.0).take() == [Bind(target(namesake), "n1")]


def test_the_end_of_a_namesake_is_not_the_pods_end() -> None:
    stage = bind_under_way().lose(a_pod("p", uid="another"))
    assert promises(stage) == 1
    assert not has_room(stage)
