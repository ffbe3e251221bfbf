"""A decision that is written and read again is the same, and versions are read as far as they can be."""

import json
from collections.abc import Callable
from math import inf

import pytest
from hypothesis import example, given
from hypothesis.strategies import floats
from msgspec.structs import replace
from tests.unit.report import texts
from tests.unit.report.test_decisions import choosing, disturbing_least, in_two_racks, preempting, refused
from tests.unit.report.test_decisions_in_place import decision as growing
from tests.unit.scheduler.crowds import only_decision
from tests.unit.scheduler.making import a_node, a_pod, leaving

from reprieve.model.json import Json
from reprieve.report.decisions import decision_lines
from reprieve.report.v1alpha1 import decision_v1alpha1
from reprieve.scheduler.reporting.decision import Decision, json_numbers
from reprieve.scheduler.reporting.decision_document import (
    UnreadableDecisionError,
    decision_of,
    document_of,
    encoded,
    exact_stamp,
    moment_of,
    read_decision,
)


def waiting() -> Decision:
    return only_decision(a_node("n1"), leaving(a_pod("old", cpu="4", on="n1")), a_pod("new", cpu="1"))


def placed() -> Decision:
    return only_decision(a_node("n1"), a_pod("new"))


def no_nodes() -> Decision:
    return only_decision(a_pod("new"))


def resized() -> Decision:
    return growing(a_pod("dear", cpu="2", priority=20, on="n1"))


MADE = [preempting, choosing, disturbing_least, in_two_racks, refused, waiting, placed, no_nodes, resized]


@pytest.mark.parametrize("make", MADE)
def test_it_is_read_as_it_was_written(make: Callable[[], Decision]) -> None:
    made = make()
    document = json.loads(json.dumps(document_of(made)))
    assert decision_of(document) == made == read_decision(encoded(made))
    assert document_of(decision_of(document)) == document


@pytest.mark.parametrize("make", MADE)
def test_a_document_of_v1alpha1_is_shown_as_before(make: Callable[[], Decision]) -> None:
    made = make()
    document = json.loads(json.dumps(decision_v1alpha1(made)))
    read = decision_of(document)
    assert texts(decision_lines(read)) == texts(decision_lines(made))
    assert decision_v1alpha1(read) == document


def test_what_was_not_measured_or_is_infinite_is_null() -> None:
    made = disturbing_least()
    assert made.preemption is not None and made.preemption.quality is not None
    quality = replace(
        made.preemption.quality, cost=json_numbers([("HighestPriority", -inf), ("LostWork", 0.5)])
    )
    made = replace(made, preemption=replace(made.preemption, quality=quality))
    assert document_of(made)["preemption"]["quality"]["cost"] == {"HighestPriority": None, "LostWork": 0.5}
    assert read_decision(encoded(made)) == made


@given(floats(0.0, 4e9))
@example(1767225614.8752542)
@example(0.9999999999)
def test_moments_are_read_as_they_were_written(moment: float) -> None:
    assert moment_of(exact_stamp(moment)) == pytest.approx(moment, abs=1e-9, rel=0)
    if moment > 1e8:
        assert moment_of(exact_stamp(moment)) == moment, (
            "so that what is read from a journal is what was live"
        )


def test_moments_have_no_more_digits_than_they_need() -> None:
    texts = [exact_stamp(moment) for moment in (0.0, 1.5, 1767225614.8752542, inf)]
    assert texts[:2] == ["1970-01-01T00:00:00Z", "1970-01-01T00:00:01.5Z"]
    assert texts[2].startswith("2026-01-01T00:00:14.87525415")
    assert texts[3].startswith("9999-12-31T")


def test_fields_of_a_later_version_are_left_out() -> None:
    document: Json = json.loads(encoded(preempting()))
    later = {**document, "mood": "calm", "preemption": {**document["preemption"], "colour": {"of": "sky"}}}
    for victim in later["preemption"]["victims"]:
        victim["shoe"] = 42
    assert decision_of(later) == preempting()


def test_what_a_writer_left_out_has_its_default() -> None:
    document = document_of(choosing())
    for later in ("podsSpared", "exhaustive", "victimNodes", "plans", "broken", "quality"):
        del document["preemption"][later]
    room = decision_of(document).preemption
    assert room is not None
    assert (room.plans, room.exhaustive) == (1, False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 7},
        {"outcome": "Perhaps"},
        {"at": "noon"},
        {"demand": None},
        {"preemption": "all"},
        {"findings": 1},
    ],
)
@pytest.mark.parametrize("written", [document_of, decision_v1alpha1])
def test_what_is_no_decision_is_a_sentence(wrong: Json, written: Callable[[Decision], Json]) -> None:
    if written is decision_v1alpha1 and wrong.keys() & {"preemption", "findings"}:
        wrong = {"victims": "all"}
    with pytest.raises(UnreadableDecisionError, match="not a Decision"):
        decision_of({**written(choosing()), **wrong})


def test_what_is_no_json_is_a_sentence_and_so_is_a_later_version() -> None:
    with pytest.raises(UnreadableDecisionError, match="not a Decision"):
        read_decision(b"[1")
    with pytest.raises(UnreadableDecisionError, match=r"a Decision of reprieve.dev/v2, and this version"):
        decision_of({**document_of(choosing()), "apiVersion": "reprieve.dev/v2"})


def test_what_an_older_version_of_v1alpha1_did_not_write_has_its_default() -> None:
    document = decision_v1alpha1(choosing())
    for later in ("victimNodes", "plans", "beyondBudgets", "unproved"):
        del document[later]
    assert decision_of(document).preemption is not None
