"""The scheduler's picture of the cluster when that is strange: lost nodes, old news, namesakes."""

import msgspec
from tests.unit.scheduler.making import a_node, a_pod, bound, finished, later, target
from tests.unit.scheduler.stage import Stage, stage_with

from reprieve.model.effects import Bind
from reprieve.model.events import Done, Seen

NODE = a_node("n1", cpu="4")


def room(stage: Stage) -> int:
    """How many pods of one core find a place now."""
    return len(stage.see(*(a_pod(f"probe{i}", cpu="1", priority=-1) for i in range(10))).binds())


# --- nodes that come and go ----------------------------------------------------------------------


def test_a_pod_on_a_node_that_is_not_known_yet_counts_when_it_is() -> None:
    stage = stage_with(a_pod("early", cpu="3", on="n1"))
    assert room(stage) == 0
    stage.see(NODE)
    assert len(stage.after(10.0).binds()) == 1


def test_a_node_that_vanishes_takes_its_pods_out_of_the_picture() -> None:
    stage = stage_with(NODE, a_pod("there", cpu="3", on="n1"), a_pod("p", cpu="2")).lose(NODE)
    assert stage.after(600.0).binds() == {}


def test_a_node_that_comes_back_has_its_pods_again() -> None:
    stage = stage_with(NODE, a_pod("there", cpu="3", on="n1")).lose(NODE).see(later(NODE, uid="new"))
    assert room(stage) == 1


def test_pods_that_left_meanwhile_do_not_come_back_with_the_node() -> None:
    gone, done = a_pod("gone", cpu="2", on="n1"), a_pod("done", cpu="2", on="n1")
    stage = stage_with(NODE, gone, done).lose(NODE, gone).see(finished(done), later(NODE, uid="new"))
    assert room(stage) == 4


def test_a_promise_outlives_its_node() -> None:
    """The bind may have worked; if the node comes back, the pod counts there."""
    pod = a_pod("p", cpu="3")
    stage = stage_with(NODE, pod)
    stage.succeed()
    stage.lose(NODE).take()
    assert room(stage.see(later(NODE, uid="new"))) == 1


def test_a_promise_that_ended_while_its_node_was_away_is_over() -> None:
    pod = a_pod("p", cpu="3")
    stage = stage_with(NODE, pod)
    stage.take()
    stage.lose(NODE, pod).take()
    assert room(stage.see(later(NODE, uid="new"))) == 4


def test_the_end_of_a_namesake_leaves_the_node_alone() -> None:
    stage = stage_with(later(NODE, uid="new")).lose(NODE)
    assert room(stage) == 4


def test_a_node_that_was_made_anew_is_gone_when_it_goes() -> None:
    """There is no reason to read its first report, which says the same as the last one of the old node."""
    again = later(NODE, uid="new")
    stage = stage_with(NODE).see(again).lose(again)
    assert room(stage) == 0


# --- a watch that goes back in time --------------------------------------------------------------


def test_old_news_of_a_pod_are_not_believed() -> None:
    pod = a_pod("p", cpu="3")
    stage = stage_with(NODE, bound(pod, "n1")).see(pod).after(600.0)
    assert stage.decisions == []
    assert room(stage) == 1


def test_old_news_of_a_node_are_not_believed() -> None:
    """Also when the last report said nothing new."""
    news = later(later(a_node("n1", cpu="2")))
    stage = stage_with(later(a_node("n1", cpu="2")), news).see(a_node("n1", cpu="64"))
    assert room(stage) == 2


def test_old_news_of_a_pods_predecessor_are_not_believed() -> None:
    old = a_pod("p", cpu="3", uid="old")
    new = later(later(a_pod("p", cpu="1", uid="new")))
    stage = stage_with(NODE, new)
    assert stage.binds() == {"p": "n1"}
    stage.see(bound(old, "n1"), finished(old))
    assert stage.happens(Done(Bind(target(new), "n1"))).after(600.0).binds() == {}
    assert room(stage) == 3


def test_the_same_news_twice_are_no_news() -> None:
    pod = a_pod("p", cpu="3")
    stage = stage_with(NODE, pod).happens(Seen(pod), Seen(NODE), Seen(pod)).after(600.0)
    assert len(stage.decisions) == 1


def test_a_version_that_is_no_number_is_believed() -> None:
    """What versions look like is the API server's own business."""
    pod = a_pod("p", cpu="3")
    opaque = later(bound(pod, "n1"))
    opaque = msgspec.structs.replace(
        opaque, metadata=msgspec.structs.replace(opaque.metadata, resource_version="f00")
    )
    stage = stage_with(NODE, bound(pod, "n2")).see(opaque)
    assert room(stage) == 1


def test_old_news_of_what_cannot_be_honoured_are_not_believed() -> None:
    pod = a_pod("p")
    stage = stage_with(later(pod)).happens(Seen(pod, unserved=("spec.resourceClaims",)))
    assert stage.see(NODE).after(1.0).binds() == {"p": "n1"}
