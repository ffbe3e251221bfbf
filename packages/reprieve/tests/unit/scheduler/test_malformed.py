"""What cannot be read or honoured keeps one pod pending, with its field named, and stops no other."""

import pytest
from tests.unit.scheduler.making import a_node, a_pod, bound, later, respecified
from tests.unit.scheduler.stage import Stage, notes, remains, stage_with

from reprieve.model.effects import Announce, Effect, Target, Tone
from reprieve.model.events import Gone, Seen, Unread
from reprieve.model.objects import Problem, Ref

MUCH = a_pod("odd", cpu="much")
UNREADABLE = Unread(
    Target("Pod", "default", "odd", "uid-odd"),
    Problem(
        ref=Ref(kind="Pod", namespace="default", name="odd"),
        path="spec.containers",
        expected="expected a list",
    ),
)


def test_a_malformed_pod_waits_and_is_told_which_field_is_wrong() -> None:
    stage = stage_with(a_node(), MUCH)
    told = notes(stage.take())
    assert len(told) == 2
    assert all("spec.containers[0].resources.requests.cpu" in note for note in told)
    assert stage.after(600.0).decisions == []


def test_a_malformed_pod_stops_nothing() -> None:
    stage = stage_with(a_node(), a_pod("odd", cpu="much", priority=9), a_pod("p"))
    assert stage.binds() == {"p": "n1"}


def test_a_pod_that_was_put_right_is_placed() -> None:
    stage = stage_with(a_node(), MUCH).see(respecified(MUCH, containers=a_pod("odd").spec.containers))
    assert stage.binds() == {"odd": "n1"}


def test_the_same_fault_is_told_once() -> None:
    stage = stage_with(a_node(), MUCH)
    stage.take()
    assert stage.see(later(MUCH), later(later(MUCH))).take() == []


def test_a_field_we_cannot_honour_keeps_the_pod_waiting() -> None:
    pod = a_pod("odd")
    stage = stage_with(a_node()).happens(Seen(pod, unserved=("spec.resourceClaims",)))
    assert all("spec.resourceClaims: not supported" in note for note in notes(stage.take()))
    assert stage.see(a_node("n2")).after(600.0).decisions == []


def test_a_pod_that_no_longer_uses_the_field_is_placed() -> None:
    pod = a_pod("odd")
    stage = stage_with(a_node()).happens(Seen(pod, unserved=("spec.resourceClaims",)))
    stage.take()
    assert stage.see(later(pod)).binds() == {"odd": "n1"}
    stage = stage_with(a_node("n1", unschedulable=True), pod).happens(Seen(later(pod), unserved=("spec.x",)))
    assert stage.see(later(a_node("n1"))).after(600.0).binds() == {}


# --- what cannot even be decoded -----------------------------------------------------------------


def warnings(effects: list[Effect]) -> list[Announce]:
    return [effect for effect in effects if isinstance(effect, Announce) and effect.tone is Tone.WARNING]


def test_an_unreadable_pod_is_announced_once() -> None:
    stage = stage_with(a_node()).happens(UNREADABLE, UNREADABLE)
    (warning,) = warnings(stage.take())
    assert warning.target == UNREADABLE.target
    assert warning.note == "Pod default/odd: spec.containers: expected a list"


def test_an_unreadable_pod_is_not_placed_by_what_was_known_of_it() -> None:
    stage = stage_with(a_pod("odd")).happens(UNREADABLE)
    assert stage.see(a_node()).after(600.0).binds() == {}


def test_a_pod_that_became_readable_is_placed() -> None:
    stage = stage_with(a_node()).happens(UNREADABLE)
    stage.take()
    assert stage.see(a_pod("odd")).binds() == {"odd": "n1"}
    stage = stage_with(a_pod("odd")).happens(UNREADABLE).see(later(a_pod("odd")), a_node())
    assert stage.after(600.0).binds() == {"odd": "n1"}


def test_a_running_pod_that_became_unreadable_still_takes_room() -> None:
    stage = stage_with(a_node(cpu="4"), a_pod("odd", cpu="3", on="n1")).happens(UNREADABLE)
    assert stage.see(a_pod("p", cpu="2")).binds() == {}


def test_nothing_is_kept_of_an_unreadable_pod_that_is_gone() -> None:
    stage = stage_with(a_node()).happens(UNREADABLE, Gone(UNREADABLE.target))
    assert remains(stage.scheduler) == []
    assert len(warnings(stage.happens(UNREADABLE).take())) == 2, "the next one of that name is told again"


@pytest.mark.parametrize("kind", ["Node", "PersistentVolumeClaim", "PodDisruptionBudget"])
def test_other_things_may_be_unreadable_too(kind: str) -> None:
    problem = Problem(ref=Ref(kind=kind, namespace="", name="x"), path="spec", expected="expected an object")
    stage = stage_with(a_node(), a_pod("p")).happens(Unread(Target(kind, "", "x", "uid-x"), problem))
    assert stage.binds() == {"p": "n1"}


# --- what runs and is malformed ------------------------------------------------------------------


def test_a_malformed_running_pod_takes_the_room_that_can_be_read() -> None:
    containers = [
        {"name": "a", "resources": {"requests": {"cpu": "3"}}},
        {"name": "b", "resources": {"requests": {"cpu": "much"}}},
    ]
    stage = stage_with(a_node(cpu="4"), a_pod("odd", containers=containers, on="n1"))
    assert stage.see(a_pod("p", cpu="2")).binds() == {}
    assert stage.see(a_pod("q", cpu="1")).binds() == {"q": "n1"}


def test_a_malformed_node_offers_what_can_be_read() -> None:
    stage = stage_with(a_node("n1", cpu="lots"), a_node("n2", cpu="4"), a_pod("p"))
    assert stage.binds() == {"p": "n2"}
    assert stage.see(a_pod("light", cpu="0")).binds().keys() == {"light"}


def test_a_malformed_pod_that_another_client_binds_is_theirs() -> None:
    stage: Stage = stage_with(a_node(), MUCH).see(bound(MUCH, "n1"))
    assert stage.decisions == []
    assert remains(stage.scheduler) == []
