"""Pods in namespaces that are being deleted: a server lets none of them start."""

from tests.unit.scheduler.making import a_namespace, a_node, a_pod, later, leaving
from tests.unit.scheduler.serving import Served, served, until
from tests.unit.scheduler.stage import notes, remains

from reprieve.model.effects import Announce, Bind, Evict, Nominate
from reprieve.scheduler.plans.handover import Stage

THERE = a_namespace("default")
ENDING = leaving(THERE)
NODE, OLD, NEW = a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9)


def test_a_pod_that_fits_is_not_bound_there_and_told_why_once() -> None:
    cluster = served(ENDING, NODE, NEW)
    assert cluster.wanted(Bind) == []
    assert "namespace default is being deleted" in notes(cluster.stage.wanted)[0]
    cluster.does()
    cluster.stage.after(3600)
    assert cluster.wanted(Announce) == []
    assert cluster.stage.decisions == []


def test_no_pod_goes_for_it() -> None:
    assert served(THERE, NODE, OLD, NEW).wanted(Nominate) == ["new"]
    assert served(ENDING, NODE, OLD, NEW).wanted(Nominate) == []


def test_a_plan_is_called_off_when_the_deletion_begins() -> None:
    cluster = until(served(THERE, NODE, OLD, NEW), Stage.MARKING).show(ENDING)
    assert cluster.comes_true().places() == {"old": "n1"}
    assert cluster.wanted(Evict) == []


def test_a_bind_that_was_refused_for_it_is_not_tried_again() -> None:
    cluster = served(THERE, NODE, NEW)
    cluster.show(ENDING).fails(Bind)
    cluster.stage.after(3600)
    assert cluster.wanted(Bind) == []


def namesake(cluster: Served) -> Served:
    return cluster.show(later(later(THERE), uid="another"))


def test_a_namesake_that_comes_later_is_another_namespace() -> None:
    assert namesake(served(ENDING, NODE, NEW)).wanted(Bind) == ["new"]
    cluster = served(ENDING, NODE, NEW).gone("default", kind="Namespace")
    assert cluster.wanted(Bind) == ["new"]


def test_nothing_is_remembered_of_it() -> None:
    cluster = served(ENDING, NODE, NEW).does().gone("new")
    assert remains(cluster.stage.scheduler) == []
