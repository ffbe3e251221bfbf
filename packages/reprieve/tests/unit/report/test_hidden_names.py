"""Which names a decision shows to a reader that may not get everything."""

import json
import re
from typing import TypeVar

import msgspec
import pytest
from msgspec.structs import replace
from tests.unit.report import texts
from tests.unit.scheduler.crowds import a_budget, a_group, a_member, only_decision
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.model.objects import KubernetesObject
from reprieve.placement.rejection_codes import Code, Reason
from reprieve.report.decisions import decision_lines
from reprieve.report.hidden_names import MayGet, may_get_all, named_in, without_hidden_names
from reprieve.scheduler.reporting.decision import Decision, Finding
from reprieve.scheduler.reporting.decision_document import document_of

T = TypeVar("T", bound=KubernetesObject)
DEMAND, VICTIMS = "lambs", "wolves"


def moved(thing: T, namespace: str) -> T:
    return msgspec.structs.replace(
        thing, metadata=msgspec.structs.replace(thing.metadata, namespace=namespace)
    )


def preempting() -> Decision:
    """A gang of one namespace preempts a group and a pod of another, and exceeds a budget there."""
    return only_decision(
        a_node("n1"),
        a_node("n2"),
        moved(a_budget("pdb-secret", allowed=0, app="web"), VICTIMS),
        moved(a_group("train-secret", 1, disruptedWhole=True), VICTIMS),
        moved(a_member("t-0-secret", "train-secret", cpu="3", priority=1, on="n1"), VICTIMS),
        moved(a_member("t-1-secret", "train-secret", cpu="1", priority=1, on="n2"), VICTIMS),
        moved(a_pod("web-secret", cpu="2", on="n2", labels={"app": "web"}), VICTIMS),
        moved(a_pod("dear-secret", cpu="1", on="n1", priority=5), VICTIMS),
        moved(a_group("urgent", 9, 2), DEMAND),
        *(moved(a_member(f"urgent-{i}", "urgent", cpu="3", priority=9), DEMAND) for i in range(2)),
    )


def in_namespace(only: str) -> MayGet:
    return lambda kind, namespace: namespace == only


def said(decision: Decision) -> str:
    return "\n".join([json.dumps(document_of(decision)), *texts(decision_lines(decision))])


def without_uids(text: str) -> str:
    return re.sub(r"uid-[-\w]+", "", text)


def test_a_decision_names_kinds_in_namespaces() -> None:
    assert named_in(preempting()) == {
        ("PodGroup", DEMAND),
        ("Pod", DEMAND),
        ("Pod", VICTIMS),
        ("PodGroup", VICTIMS),
        ("PodDisruptionBudget", VICTIMS),
    }


def test_a_reader_of_all_reads_all() -> None:
    made = preempting()
    assert without_hidden_names(made, may_get_all) is made


def test_the_preemptor_does_not_learn_the_names_of_victims_in_other_namespaces() -> None:
    made = preempting()
    shown = without_hidden_names(made, in_namespace(DEMAND))
    assert "secret" not in without_uids(said(shown))
    assert VICTIMS not in said(shown)
    (first, *_), document = shown.preemption.victims if shown.preemption else (), document_of(shown)
    assert (first.pod.kind, first.pod.uid, first.priority) == ("Pod", "uid-t-0-secret", 1)
    assert document["demand"]["name"] == "urgent"
    victim = document["preemption"]["victims"][0]
    assert (victim["pod"]["name"], victim["pod"]["namespace"], victim["unit"]) == ("", "", "PodGroup/")
    assert document["preemption"]["exceeded"] == [{"budget": "", "allowed": 0, "going": 1}]


def test_the_victim_does_not_learn_the_name_of_its_preemptor_in_another_namespace() -> None:
    shown = without_hidden_names(preempting(), in_namespace(VICTIMS))
    document = document_of(shown)
    assert "urgent" not in without_uids(said(shown))
    assert DEMAND not in said(shown)
    assert (document["demand"]["kind"], document["priority"]) == ("PodGroup", 9)
    assert document["preemption"]["victims"][0]["pod"]["name"] == "t-0-secret"


def test_a_refusal_of_a_hidden_gang_names_none_of_its_pods() -> None:
    made = only_decision(
        a_node("n1"),
        a_pod("low", cpu="1", on="n1"),
        a_pod("dear", cpu="3", on="n1", priority=50),
        moved(a_group("gang-secret", 9, 2), DEMAND),
        *(moved(a_member(f"g-{i}-secret", "gang-secret", cpu="3", priority=9), DEMAND) for i in range(2)),
    )
    assert "secret would not fit" in said(made)
    shown = without_hidden_names(made, in_namespace(VICTIMS))
    assert "secret" not in without_uids(said(shown))
    assert shown.eviction is not None
    assert made.eviction is not None
    assert shown.eviction.because.code == made.eviction.because.code


def test_a_reader_of_groups_alone_learns_neither_their_pods_nor_the_claims_of_those() -> None:
    made = only_decision(
        a_node("n1"),
        a_pod("dear", cpu="3", on="n1", priority=50),
        moved(a_group("gang", 9, 2), DEMAND),
        *(moved(a_member(f"g-{i}-secret", "gang", cpu="3", priority=9), DEMAND) for i in range(2)),
    )
    claims = Finding(Reason(Code.CLAIM_NOT_FOUND, "data-secret"), 1, curable=False)
    made = replace(made, findings=(*made.findings, claims))
    assert made.miss is not None
    assert "secret" in made.miss.pod.name
    assert ("Pod", DEMAND) in named_in(replace(made, places=()))
    shown = without_hidden_names(made, lambda kind, _: kind == "PodGroup")
    assert shown.demand.name == "gang"
    assert "secret" not in without_uids(said(shown))


@pytest.mark.parametrize("kind", ["Pod", "PodGroup", "PodDisruptionBudget"])
def test_each_kind_counts_for_itself(kind: str) -> None:
    shown = without_hidden_names(preempting(), lambda asked, _: asked != kind)
    text = json.dumps(document_of(shown)["preemption"]["victims"])
    hidden = {"Pod": '"name": "web-secret"', "PodGroup": "train-secret", "PodDisruptionBudget": "pdb-secret"}
    for one, name in hidden.items():
        assert (name in text) is (one != kind)
