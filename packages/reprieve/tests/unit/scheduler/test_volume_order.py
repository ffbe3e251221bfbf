"""A pod that needs existing volumes and new ones: the existing ones first, which others may want, too."""

from tests.unit.scheduler.making import a_claim, a_class, a_local_class, a_node, a_pod, a_volume, target
from tests.unit.scheduler.stage import Stage, stage_with

from reprieve.model.effects import BindVolume, SelectNode
from reprieve.model.events import Done, Failed

HERE = {"kubernetes.io/hostname": "n1"}
NEW, OLD, OTHER = a_claim("new"), a_claim("old", "local"), a_claim("other", "local")
DISK, SPARE = a_volume("disk", only_on="n1"), a_volume("spare", only_on="n1")
SELECT = SelectNode(target(NEW), "n1")


def asking(*claims: str) -> Stage:
    things = (a_node("n1", labels=HERE), a_class(), a_local_class(), NEW, OLD, OTHER, DISK, SPARE)
    return stage_with(*things, a_pod("p", claims=claims))


def test_a_new_volume_is_asked_for_when_the_existing_ones_are_promised() -> None:
    stage = asking("new", "old", "other")
    first = stage.take()
    assert [type(effect) for effect in first] == [BindVolume, BindVolume]
    assert stage.happens(Done(first[0])).take() == []
    assert stage.happens(Done(first[1])).take() == [SELECT]


def test_no_new_volume_is_asked_for_when_an_existing_one_is_refused() -> None:
    stage = asking("new", "old")
    (first,) = stage.take()
    assert SELECT not in stage.happens(Failed(first, "another client was faster")).take()


def test_a_new_volume_alone_is_asked_for_at_once() -> None:
    assert asking("new").take() == [SELECT]
