"""Gangs whose members differ: placed in any order, within the effort of a decision."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.report import texts
from tests.unit.scheduler.crowds import a_group, a_member, only_decision
from tests.unit.scheduler.making import a_node, a_pod
from tests.unit.scheduler.serving import served

from reprieve.model.objects import KubernetesObject
from reprieve.placement.profile import Profile
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import PRIORITY_CEILING, REPRIEVE
from reprieve.report.decisions import decision_lines
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.reporting.decision_document import document_of
from reprieve.scheduler.settings import SCHEDULER_NAME

ON_N1: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}


def named_node(name: str, cpu: str = "4") -> KubernetesObject:
    return a_node(name, cpu=cpu, labels={"kubernetes.io/hostname": name})


def pair(**second: Any) -> list[KubernetesObject]:
    """The first could be anywhere, and the second only on n1."""
    return [
        a_group("g", 9, 2),
        a_member("g-0", cpu="4", priority=9),
        a_member("g-1", cpu="4", priority=9, **ON_N1, **second),
    ]


def tight() -> list[KubernetesObject]:
    """Only if the member of 3 goes to the smaller node, which both orders leave for last."""
    sizes = ("3", "2", "2")
    members = [a_member(f"g-{i}", cpu=cpu, priority=9) for i, cpu in enumerate(sizes)]
    return [named_node("n1", "4"), named_node("n2", "3"), a_group("g", 9, 3), *members]


# A search of the model finds that nothing has to go here.
CEILING = replace(REPRIEVE, search=PRIORITY_CEILING)


def with_effort(units: int, *things: KubernetesObject, policy: Policy = REPRIEVE) -> Decision:
    profiles = {SCHEDULER_NAME: Profile(planning_effort=units)}
    return only_decision(*things, policy=policy, profiles=profiles)


def places(decision: Decision) -> dict[str, str]:
    return {pod.name: node for pod, node in decision.places}


def test_a_member_leaves_a_node_to_the_one_that_needs_it() -> None:
    decision = only_decision(named_node("n1"), named_node("n2"), *pair())
    assert (decision.outcome, places(decision)) == (Outcome.PLACED, {"g-0": "n2", "g-1": "n1"})


def test_no_pod_is_evicted_in_vain() -> None:
    low = a_pod("low", cpu="4", on="n3", priority=1)
    decision = only_decision(named_node("n1"), named_node("n2"), named_node("n3"), low, *pair())
    assert (decision.outcome, decision.preemption) == (Outcome.PLACED, None)


def test_room_is_made_where_the_members_fit_in_another_order() -> None:
    things = [
        named_node("n1"),
        named_node("n2"),
        a_pod("low", cpu="4", on="n1", priority=1),
        a_pod("low-2", cpu="1", on="n2", priority=1),
        *pair(),
    ]
    cluster = served(*things).comes_true().drained().comes_true()
    assert {pod.metadata.name: pod.spec.node_name for pod in cluster.pods()} == {"g-0": "n2", "g-1": "n1"}


def test_a_search_that_has_to_go_back() -> None:
    decision = only_decision(*tight())
    assert (decision.outcome, decision.unproved) == (Outcome.PLACED, None)
    assert places(decision) == {"g-0": "n2", "g-1": "n1", "g-2": "n1"}


def test_what_the_effort_does_not_suffice_for_is_not_proved() -> None:
    decision = with_effort(4, *tight())
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.unproved is not None
    assert decision.unproved.code == "EffortSpent"
    assert decision.text.endswith("; not proved: the effort of 1 placement was spent")
    assert document_of(decision)["unproved"] == {
        "code": "EffortSpent",
        "text": "not proved: the effort of 1 placement was spent",
    }
    said = texts(decision_lines(decision))
    assert "  That it does not fit is not proved: the effort of 1 placement was spent." in said


def test_victims_that_may_not_be_needed() -> None:
    low = a_pod("low", cpu="4", on="n3", priority=1)
    decision = with_effort(4, named_node("n3"), low, *tight(), policy=CEILING)
    assert (decision.outcome, decision.victims) == (Outcome.PREEMPTS, ("Pod/default/low",))
    said = texts(decision_lines(decision))
    assert "  That it needs these victims is not proved: the effort of 1 placement was spent." in said


def test_without_effort_the_order_is_fixed() -> None:
    decision = with_effort(0, named_node("n1"), named_node("n2"), *pair())
    assert (decision.outcome, decision.unproved) == (Outcome.UNSCHEDULABLE, None)


@pytest.mark.parametrize("units", [0, 10_000])
def test_equal_members_need_no_search(units: int) -> None:
    gang: list[KubernetesObject] = [
        a_group("g", 9, 3),
        *(a_member(f"g-{i}", cpu="3", priority=9) for i in range(3)),
    ]
    decision = with_effort(units, named_node("n1"), named_node("n2"), *gang)
    assert (decision.outcome, decision.unproved) == (Outcome.UNSCHEDULABLE, None)


def test_members_that_are_not_needed_come_along_if_there_is_room() -> None:
    more = a_member("g-2", cpu="1", priority=9)
    decision = only_decision(named_node("n1"), named_node("n2", "5"), *pair(), more)
    assert places(decision) == {"g-0": "n2", "g-1": "n1", "g-2": "n2"}
