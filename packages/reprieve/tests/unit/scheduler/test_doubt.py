"""A bind whose answer was lost may have happened: until the cluster shows, no other pod gets the room."""

from tests.unit.scheduler.making import a_node, a_pod, bound, target
from tests.unit.scheduler.stage import Stage, promises, stage_with

from reprieve.model.effects import Bind
from reprieve.model.events import Done, Failed, Unknown

POD = a_pod("p", cpu="3")
BIND = Bind(target(POD), "n1")


def doubtful() -> Stage:
    stage = stage_with(a_node("n1", cpu="4"), POD)
    assert stage.take() == [BIND]
    return stage.happens(Unknown(BIND, "no answer"))


def test_a_refusal_does_not_end_the_doubt() -> None:
    stage = doubtful().after(10.0)
    assert stage.take() == [BIND]
    stage.happens(Failed(BIND, "not allowed")).see(a_pod("other", cpu="3"))
    assert "other" not in stage.binds()
    assert promises(stage) == 1


def test_it_is_sent_again_until_the_cluster_shows() -> None:
    stage = doubtful()
    for _ in range(3):
        assert stage.after(10.0).binds() == {"p": "n1"}
        stage.happens(Failed(BIND, "not allowed"))
    assert promises(stage.see(bound(POD, "n1"))) == 0
    stage.take()
    assert stage.after(60.0).take() == []


def test_success_ends_the_doubt() -> None:
    stage = doubtful().after(10.0)
    stage.take()
    stage.happens(Done(BIND)).see(bound(POD, "n1"))
    assert promises(stage) == 0
