"""Claims that wait for their pod's node: first the volume, then the pod, or somewhere else."""

import pytest
from tests.unit.scheduler.making import (
    a_claim,
    a_class,
    a_local_class,
    a_node,
    a_pod,
    a_volume,
    bound,
    claim_bound,
    later,
    target,
    with_node_selected,
)
from tests.unit.scheduler.stage import Stage, notes, promises, stage_with

from reprieve.model.effects import Bind, BindVolume, Effect, SelectNode
from reprieve.model.events import Done, Failed, Gone, Unknown
from reprieve.model.objects import KubernetesObject

HOST = "kubernetes.io/hostname"
NODES = [a_node(name, labels={HOST: name}) for name in ("n1", "n2")]
CLAIM = a_claim("c")
POD = a_pod("p", claims=["c"])
SELECT = SelectNode(target(CLAIM), "n1")
BIND = Bind(target(POD), "n1")


def made_for_the_pod() -> Stage:
    """A volume is being made for a pod on the first of two nodes."""
    stage = stage_with(*NODES, a_class(), CLAIM, POD)
    assert stage.take() == [SELECT]
    return stage


def shown(stage: Stage) -> Stage:
    """The claim is shown with the node that was selected."""
    return stage.happens(Done(SELECT)).see(with_node_selected(CLAIM, "n1"))


def binds_only(effects: list[Effect]) -> list[Bind]:
    return [effect for effect in effects if isinstance(effect, Bind)]


# --- volumes that are made -----------------------------------------------------------------------


def test_the_pod_is_bound_when_its_volume_was_made() -> None:
    stage = shown(made_for_the_pod())
    assert stage.after(30.0).take() == []
    volume = a_volume("pv", "lazy")
    assert stage.see(volume, claim_bound(with_node_selected(CLAIM, "n1"), "pv")).take() == [BIND]
    stage.happens(Done(BIND)).see(bound(POD, "n1"))
    assert promises(stage) == 0


def test_a_volume_may_be_shown_after_its_claim() -> None:
    stage = shown(made_for_the_pod()).see(claim_bound(with_node_selected(CLAIM, "n1"), "pv"))
    assert stage.take() == []
    assert stage.see(a_volume("pv", "lazy")).take() == [BIND]


def test_a_volume_that_turned_out_elsewhere_is_no_use() -> None:
    """The pod goes where its volume is."""
    stage = shown(made_for_the_pod())
    stage.see(a_volume("pv", "lazy", only_on="n2"), claim_bound(with_node_selected(CLAIM, "n1"), "pv"))
    assert "node n1 does not match the node affinity of PersistentVolume pv" in notes(stage.take())
    assert stage.after(1.0).take() == [Bind(target(POD), "n2")]


def test_the_room_is_kept_while_the_volume_is_made() -> None:
    stage = stage_with(a_node("n1", cpu="4"), a_class(), CLAIM, a_pod("p", cpu="3", claims=["c"]))
    assert stage.see(a_pod("q", cpu="2")).binds() == {}


def test_a_provisioner_that_takes_the_node_back_sends_the_pod_elsewhere() -> None:
    stage = shown(made_for_the_pod()).see(later(with_node_selected(CLAIM, "n1"), annotations={}))
    assert any("got no volume for node n1" in note for note in notes(stage.take()))
    stage.see(later(NODES[0])).after(1.0)
    assert [decision.nodes for decision in stage.decisions][1:] == [("n1",)], "it may well try again"


def test_a_claim_without_its_node_yet_was_not_taken_back() -> None:
    stage = made_for_the_pod().see(later(CLAIM)).happens(Done(SELECT)).see(later(later(CLAIM)))
    assert stage.take() == []
    assert len(stage.decisions) == 1


def test_a_step_that_fails_brings_the_pod_back_in_line() -> None:
    stage = made_for_the_pod().happens(Failed(SELECT, "forbidden"))
    told = notes(stage.take())
    assert told == ["PersistentVolumeClaim default/c could not be prepared: forbidden"] * 2
    assert stage.after(1.0).take() == [SELECT]


def test_a_step_whose_answer_was_lost_is_sent_again() -> None:
    stage = made_for_the_pod().happens(Unknown(SELECT, "timeout"))
    assert stage.take() == [SELECT]
    assert stage.lose(POD).happens(Unknown(SELECT, "timeout")).take() == [], "it is not needed any more"


def test_volumes_have_ten_minutes() -> None:
    stage = shown(made_for_the_pod())
    assert stage.after(599.0).take() == []
    assert notes(stage.after(1.0).take()) == ["volumes were not ready within 600 s"] * 2
    assert stage.after(1.0).take() == [SELECT]


def test_each_attempt_has_its_own_ten_minutes() -> None:
    stage = made_for_the_pod().after(590.0).happens(Failed(SELECT, "busy"))
    stage.take()
    assert stage.after(1.0).take() == [SELECT]
    assert stage.after(599.0).take() == []
    assert stage.after(1.0).take() != []


def test_a_namesake_has_its_own_ten_minutes() -> None:
    stage = made_for_the_pod().after(590.0).lose(POD)
    stage.see(later(later(a_pod("p", claims=["c"], uid="another"))))
    stage.take()
    assert stage.after(599.0).take() == []


def test_a_claim_that_is_gone_brings_the_pod_back_in_line() -> None:
    stage = made_for_the_pod().happens(Gone(target(CLAIM)))
    assert stage.take() != []
    again = later(later(a_claim("c")), uid="another")
    assert stage.see(again).after(1.0).take() == [SelectNode(target(again), "n1")]


def test_a_node_that_is_gone_sends_the_pod_elsewhere() -> None:
    stage = made_for_the_pod().lose(NODES[0])
    assert notes(stage.take()) == ["node n1 is gone"] * 2
    assert stage.after(1.0).take() == [SelectNode(target(CLAIM), "n2")]


def test_a_pod_that_is_gone_needs_no_volume() -> None:
    stage = shown(made_for_the_pod()).lose(POD)
    stage.see(a_volume("pv", "lazy"), claim_bound(with_node_selected(CLAIM, "n1"), "pv"))
    assert stage.after(1000.0).take() == []
    assert promises(stage) == 0


def test_a_pod_that_was_bound_by_another_client_needs_no_help() -> None:
    stage = shown(made_for_the_pod()).see(bound(POD, "n2")).after(1000.0)
    assert stage.take() == []


# --- volumes that exist --------------------------------------------------------------------------

V1 = a_volume("v1", only_on="n1")
LOCAL: list[KubernetesObject] = [a_local_class(), V1]


def test_an_existing_volume_is_promised_first() -> None:
    claim = a_claim("c", "local")
    stage = stage_with(*NODES, *LOCAL, claim, POD)
    step = BindVolume(target(V1), target(claim))
    assert stage.take() == [step]
    assert stage.happens(Done(step)).take() == []
    assert stage.see(claim_bound(claim, "v1")).take() == [BIND]


def two_that_want_one_volume() -> tuple[Stage, Effect]:
    claims = [a_claim(name, "local") for name in ("c1", "c2")]
    pods = [a_pod("a", claims=["c1"]), a_pod("b", claims=["c2"])]
    stage = stage_with(*NODES, *LOCAL, *claims, *pods)
    step = stage.take()[0]
    assert step == BindVolume(target(V1), target(claims[0]))
    return stage, step


def test_a_volume_is_promised_once() -> None:
    stage, _ = two_that_want_one_volume()
    assert [len(decision.nodes) for decision in stage.decisions] == [1, 0]


@pytest.mark.parametrize("why", ["the step failed", "the pod is gone"])
def test_a_volume_that_is_free_again_goes_to_the_next(why: str) -> None:
    stage, step = two_that_want_one_volume()
    stage.after(30.0)
    first = a_pod("a", claims=["c1"])
    stage.happens(Failed(step, "conflict") if why == "the step failed" else Gone(target(first)))
    assert BindVolume(target(V1), target(a_claim("c2", "local"))) in stage.take()


# --- claims that pods share ----------------------------------------------------------------------

TWIN = a_pod("twin", claims=["c"])


def twins() -> Stage:
    stage = stage_with(*NODES, a_class(), CLAIM, POD, TWIN)
    assert stage.take() == [SELECT, SELECT], "both go where the volume will be"
    return stage


def test_pods_that_share_a_claim_go_to_its_node() -> None:
    stage = shown(twins())
    stage.see(a_volume("pv", "lazy"), claim_bound(with_node_selected(CLAIM, "n1"), "pv"))
    assert stage.binds() == {"p": "n1", "twin": "n1"}


def test_a_promise_that_others_share_outlives_the_first() -> None:
    """Otherwise a third pod could have the volume made elsewhere."""
    stage = twins().lose(POD)
    stage.take()
    third = a_pod("third", claims=["c"], nodeSelector={HOST: "n2"})
    assert [decision.nodes for decision in stage.see(third).decisions][-1] == ()


def test_a_step_that_fails_brings_all_back_what_needs_it() -> None:
    stage = twins().happens(Failed(SELECT, "forbidden"))
    assert {effect.target.name for effect in stage.take()} == {"p", "twin"}
    assert promises(stage) == 0
