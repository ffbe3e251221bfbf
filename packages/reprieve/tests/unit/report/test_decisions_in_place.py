"""Decisions about pods that want more where they run, as people read them and as programs do."""

from dataclasses import replace

from msgspec import structs
from tests.unit.report import texts
from tests.unit.scheduler.making import a_node, a_pod, wanting
from tests.unit.scheduler.stage import Stage

from reprieve.model.events import Seen, Synced
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.report.decisions import decision_lines
from reprieve.report.hidden_names import without_hidden_names
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.reporting.decision_document import decision_of, document_of
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

GROWS = wanting(a_pod("db", cpu="2", priority=9, on="n1"), "3")


def decision(*others: Pod) -> Decision:
    settings = Settings(policies={SCHEDULER_NAME: replace(REPRIEVE, resizes=DeferredResizes())})
    things: list[KubernetesObject] = [a_node("n1"), a_node("n2"), GROWS, *others]
    (found,) = Stage(Scheduler(settings)).happens(*map(Seen, things), Synced()).decisions
    return found


def test_a_resize_that_preempts() -> None:
    found = decision(a_pod("low", cpu="2", on="n1"))
    heading, price, then, *_ = texts(decision_lines(found))
    assert heading == f"Pod default/db (priority 9): decision {found.id}"
    assert price == "  It fits after preemption: preempting 1 pod on n1."
    assert then == "  Then db gets 3 cpu on n1."
    assert found.preemption is not None
    assert found.preemption.choice_text == ("no other placement is possible; proved: no plan disturbs less")
    told = document_of(found)
    resources = {"cpu": {"has": 2000, "wants": 3000}}
    assert told["growth"] == {"node": "n1", "resources": resources, "beside": [], "others": 0}
    assert told["preemption"]["victims"][0]["pod"]["name"] == "low"


def test_it_fits() -> None:
    found = decision()
    fits = "It fits without preemption: db gets 3 cpu on n1, once the kubelet acts."
    assert texts(decision_lines(found))[1:] == [f"  {fits}"]
    assert document_of(found)["outcome"] == "FitsInPlace"
    text = "Pod default/db: there is room for 3 cpu on n1: waits for the kubelet"
    assert f"{found.demand}: {found.text}" == text


def test_a_resize_that_cannot_preempt() -> None:
    lines = texts(decision_lines(decision(a_pod("dear", cpu="2", priority=20, on="n1"))))
    assert lines[1:4] == [
        "  n1 has no room for 3 cpu.",
        "  It lacks 1 cpu on n1.",
        "  Preemption cannot help: no running pod has a priority below 9.",
    ]
    assert lines[-1].split() == ["1", "does", "not", "help", "has", "insufficient", "cpu", "left"]


def test_members_that_were_decided_in_one_go_are_named_to_those_that_may_read_them() -> None:
    found = decision()
    assert found.growth is not None
    few = structs.replace(found, growth=structs.replace(found.growth, beside=("t-1", "t-2"), others=2))
    assert texts(decision_lines(few))[-1] == "  Decided in one go with 2 other members of its gang: t-1, t-2."
    many = structs.replace(found, growth=structs.replace(found.growth, beside=("t-1", "t-2"), others=30))
    assert texts(decision_lines(many))[-1] == "  Decided in one go with 30 other members of its gang."
    assert decision_of(document_of(few)).growth == few.growth
    hidden = without_hidden_names(few, lambda kind, namespace: False).growth
    assert hidden is not None
    assert hidden.beside == ()
