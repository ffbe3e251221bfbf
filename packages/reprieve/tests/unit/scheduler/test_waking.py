"""A demand that did not fit is retried when something changed that could help, and not before."""

import pytest
from tests.unit.scheduler.making import (
    a_claim,
    a_class,
    a_namespace,
    a_node,
    a_pod,
    bound,
    finished,
    later,
    leaving,
    target,
)
from tests.unit.scheduler.stage import Stage, stage_with

from reprieve.model.events import Done
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject

ZONE = "topology.kubernetes.io/zone"
NEAR_WEB = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def zone(name: str) -> Json:
    return {ZONE: name}


def decisions_after(stage: Stage, *things: KubernetesObject) -> int:
    """How often something is decided within a minute of a change."""
    before = len(stage.after(30.0).decisions)
    return len(stage.see(*things).after(60.0).decisions) - before


# --- room ----------------------------------------------------------------------------------------

SMALL = a_node("n1", cpu="2")
HOLDER = a_pod("holder", cpu="1", on="n1")


def crowded() -> Stage:
    """A pod that wants the whole of a small node, on which another one runs."""
    return stage_with(SMALL, HOLDER, a_pod("p", cpu="2"))


@pytest.mark.parametrize(
    "change",
    [
        a_node("n2", cpu="2"),
        later(a_node("n1", cpu="3")),
        finished(HOLDER),
        later(a_pod("holder", cpu="0", on="n1")),
    ],
    ids=["a new node", "a larger node", "a pod that ends", "a pod that shrinks"],
)
def test_room_wakes_what_waits_for_room(change: KubernetesObject) -> None:
    stage = crowded()
    assert decisions_after(stage, change) == 1
    assert stage.binds().keys() == {"p"}


@pytest.mark.parametrize(
    "change",
    [
        later(a_node("n1", cpu="2", labels={"a": "b"})),
        later(a_node("n1", cpu="2", taints=[{"key": "k", "effect": "PreferNoSchedule"}])),
        later(a_node("n1", cpu="1")),
        later(a_pod("holder", cpu="1", on="n1", labels={"app": "web"})),
        leaving(HOLDER),
        a_pod("other", cpu="1", on="n1"),
        a_namespace("new", team="a"),
        a_claim("c"),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_nothing_else_does(change: KubernetesObject) -> None:
    assert decisions_after(crowded(), change) == 0


def test_a_pod_that_is_deleted_leaves_room() -> None:
    assert crowded().after(30.0).lose(HOLDER).after(1.0).binds() == {"p": "n1"}


def test_the_backoff_goes_before_the_wake_up() -> None:
    stage = crowded().see(finished(HOLDER))
    assert stage.after(0.9).binds() == {}
    assert stage.after(0.1).binds() == {"p": "n1"}


def test_five_minutes_are_the_longest_sleep() -> None:
    stage = crowded()
    assert len(stage.after(299.0).decisions) == 1
    assert len(stage.after(1.0).decisions) == 2


# --- nodes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (a_node(unschedulable=True), later(a_node())),
        (a_node(taints=[{"key": "k", "effect": "NoSchedule"}]), later(a_node())),
        (a_node(), later(a_node(labels={"disk": "ssd"}))),
    ],
    ids=["uncordoned", "untainted", "labelled"],
)
def test_a_node_that_becomes_usable_wakes(before: KubernetesObject, after: KubernetesObject) -> None:
    selector = {"disk": "ssd"} if "disk" in after.metadata.labels else {}
    stage = stage_with(before, a_pod("p", nodeSelector=selector))
    assert decisions_after(stage, after) == 1
    assert stage.binds() == {"p": "n1"}


def test_a_heartbeat_wakes_none() -> None:
    stage = stage_with(a_node(unschedulable=True), a_pod("p"))
    assert decisions_after(stage, later(a_node(unschedulable=True))) == 0


# --- company -------------------------------------------------------------------------------------


def test_a_pod_that_wants_company_is_woken_when_we_promise_it() -> None:
    """Nothing is seen of the other pod but our own promise, and then that it was kept."""
    nodes = [a_node("n1", labels=zone("a"))]
    fan = a_pod("fan", affinity={"podAffinity": {REQUIRED: [NEAR_WEB]}})
    web = a_pod("web", labels={"app": "web"})
    stage = stage_with(*nodes, fan).after(30.0)
    assert stage.binds() == {}
    assert stage.see(web).binds() == {"web": "n1", "fan": "n1"}


def test_a_pod_that_must_be_apart_is_woken_when_the_others_node_is_gone() -> None:
    n1, n2 = a_node("n1", labels=zone("a")), a_node("n2", labels=zone("a"))
    web = a_pod("web", labels={"app": "web"}, on="n1")
    stage = stage_with(n1, n2, web, a_pod("p", affinity={"podAntiAffinity": {REQUIRED: [NEAR_WEB]}}))
    assert stage.after(30.0).binds() == {}
    assert stage.lose(n1).binds() == {"p": "n2"}


# --- volumes -------------------------------------------------------------------------------------


def test_a_pod_that_waits_for_a_claim_is_woken_when_it_exists() -> None:
    stage = stage_with(a_node(), a_class(), a_pod("p", claims=["c"]))
    assert decisions_after(stage, a_claim("c")) == 1
    assert stage.decisions[-1].nodes == ("n1",)


def test_a_promise_that_is_withdrawn_leaves_room() -> None:
    """A pod that is deleted before it was bound."""
    first = a_pod("first", cpu="4")
    stage = stage_with(a_node(), first, a_pod("second", cpu="4"))
    (effect, *_) = stage.take()
    assert stage.after(30.0).happens(Done(effect)).lose(first).binds() == {"second": "n1"}
    assert stage.decisions[-1].demand == target(a_pod("second", cpu="4"))


def test_a_pod_that_was_bound_elsewhere_leaves_room() -> None:
    first = a_pod("first", cpu="4")
    stage = stage_with(a_node("n1"), first, a_pod("second", cpu="4")).after(30.0)
    stage.take()
    assert stage.see(bound(first, "n2")).binds() == {"second": "n1"}
