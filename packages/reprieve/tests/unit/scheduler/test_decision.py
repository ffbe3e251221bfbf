"""Decisions: an id that says which, and a size that does not grow with the cluster."""

from msgspec.structs import replace
from tests.unit.scheduler.making import a_node, a_pod
from tests.unit.scheduler.stage import Stage, stage_with

from reprieve.model.effects import Target
from reprieve.model.events import Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision, Outcome, decision_id

DEMAND = Target("Pod", "a", "p", "")

TAINTED = [a_node(f"n{i:03}", taints=[{"key": f"t{i % 50}", "effect": "NoSchedule"}]) for i in range(120)]


def only_decision(*things: KubernetesObject) -> Decision:
    (decision,) = stage_with(*things).decisions
    return decision


def test_the_same_input_gives_the_same_id() -> None:
    assert decision_id(DEMAND, "POD", 7, 5.5) == decision_id(DEMAND, "POD", 7, 5.5)
    assert decision_id(DEMAND, "POD", 7, 5.5).startswith("d-")


def test_other_worlds_and_other_demands_have_other_ids() -> None:
    demands = [replace(DEMAND, uid=uid) for uid in ("a", "b", "a/1")]
    ids = {decision_id(demand, "POD", version, 5.5) for demand in demands for version in range(1000)}
    assert len(ids) == 3000


def test_demands_of_objects_without_uid_have_their_own_ids() -> None:
    others = [replace(DEMAND, kind="PodGroup"), replace(DEMAND, namespace="b"), replace(DEMAND, name="q")]
    ids = {decision_id(demand, "POD", 7, 5.5) for demand in (DEMAND, *others)}
    assert len(ids | {decision_id(DEMAND, "RESIZE", 7, 5.5)}) == 5


def test_a_scheduler_that_begins_anew_does_not_use_ids_again() -> None:
    things: list[KubernetesObject] = [a_node("n1"), a_pod("p", cpu="64")]
    schedulers = (Stage(now=now).happens(*map(Seen, things), Synced()) for now in (5.5, 7.5))
    before, after = (stage.decisions[0] for stage in schedulers)
    assert before.text == after.text
    assert before.id != after.id


def test_two_schedulers_that_see_the_same_decide_the_same() -> None:
    things: list[KubernetesObject] = [a_node("n1"), a_pod("p"), a_pod("q", cpu="64")]
    assert stage_with(*things).decisions == stage_with(*things).decisions


def test_no_two_decisions_share_an_id() -> None:
    """Also when nothing happened between them."""
    stage = stage_with(a_node("n1"), *(a_pod(f"p{i}", cpu=f"{64 + i}") for i in range(20))).after(3000.0)
    assert len({decision.id for decision in stage.decisions}) == len(stage.decisions) > 100


def test_a_decision_says_how_often_each_reason_was_found() -> None:
    nodes = [a_node("n1", cpu="1"), a_node("n2", cpu="1"), a_node("n3", unschedulable=True)]
    decision = only_decision(*nodes, a_pod("p", cpu="2"))
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert [(str(finding.reason.code), finding.nodes) for finding in decision.findings] == [
        ("ExceedsCapacity", 2),
        ("NodeUnschedulable", 1),
    ]


def test_a_reason_names_the_first_nodes_of_many() -> None:
    nodes = [a_node(f"n{number}", cpu="1") for number in (7, 3, 9, 1, 5, 2, 8)]
    for order in (nodes, nodes[::-1]):
        (finding,) = only_decision(*order, a_pod("p", cpu="2")).findings
        assert (finding.nodes, finding.examples) == (7, ("n1", "n2", "n3", "n5", "n7"))


def test_the_most_frequent_reasons_are_kept() -> None:
    decision = only_decision(*TAINTED, a_pod("p"))
    assert {len(finding.examples) for finding in decision.findings} == {3}
    assert len(decision.findings) == 20
    assert [finding.nodes for finding in decision.findings] == [3] * 20
    assert decision.considered == 120


def test_a_decision_in_words() -> None:
    assert only_decision(a_node("n1"), a_pod("p")).text == "Pod default/p goes to n1"
    assert only_decision(a_pod("p")).text == "no nodes available to schedule pods"
    text = only_decision(a_node("n1", cpu="1"), a_pod("p", cpu="2")).text
    assert text.startswith("0/1 nodes are available: ")
    assert "cpu" in text


def test_nothing_is_decided_for_nothing() -> None:
    assert Scheduler().decide(on_one_clock(0.0)) is None
