"""A decision that is written as JSON and read again is shown as before."""

import json
from collections.abc import Callable

import pytest

from reprieve.report.decision_documents import UnreadableDecisionError, decision_of
from reprieve.report.decisions import decision_json, decision_lines
from reprieve.scheduler.decision import Decision
from tests.unit.report import texts
from tests.unit.report.test_decisions import choosing, disturbing_least, in_two_racks, preempting, refused
from tests.unit.report.test_decisions_in_place import decision as growing
from tests.unit.scheduler.crowds import only_decision
from tests.unit.scheduler.making import a_node, a_pod, leaving


def waiting() -> Decision:
    return only_decision(a_node("n1"), leaving(a_pod("old", cpu="4", on="n1")), a_pod("new", cpu="1"))


def placed() -> Decision:
    return only_decision(a_node("n1"), a_pod("new"))


def no_nodes() -> Decision:
    return only_decision(a_pod("new"))


def resized() -> Decision:
    return growing(a_pod("dear", cpu="2", priority=20, on="n1"))


@pytest.mark.parametrize(
    "make",
    [
        preempting,
        choosing,
        disturbing_least,
        in_two_racks,
        refused,
        waiting,
        placed,
        no_nodes,
        resized,
    ],
)
def test_it_is_shown_as_before(make: Callable[[], Decision]) -> None:
    made = make()
    document = json.loads(json.dumps(decision_json(made)))
    read = decision_of(document)
    assert texts(decision_lines(read)) == texts(decision_lines(made))
    assert decision_json(read) == document


@pytest.mark.parametrize(
    "wrong", [{"id": 7}, {"outcome": "Perhaps"}, {"at": "noon"}, {"demand": None}, {"victims": "all"}]
)
def test_what_is_no_decision_is_a_sentence(wrong: dict[str, object]) -> None:
    with pytest.raises(UnreadableDecisionError, match="is not a Decision"):
        decision_of({**decision_json(choosing()), **wrong})


def test_what_an_older_version_did_not_write_has_its_default() -> None:
    document = decision_json(choosing())
    for later in ("victimNodes", "plans", "beyondBudgets", "unproved"):
        del document[later]
    assert decision_of(document).preemption is not None
