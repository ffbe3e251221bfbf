"""What the log tells of scheduling: what could not be done, and in whose words."""

import logging

import pytest

from reprieve.model.effects import Bind, Target
from reprieve.model.events import Done, Failed, Synced, Unknown
from reprieve.runtime.decision_log import DecisionLog

BIND = Bind(Target("Pod", "team", "a", "1"), "n1")


def told(
    caplog: pytest.LogCaptureFixture, *events: Done | Failed | Unknown | Synced
) -> list[tuple[int, str]]:
    with caplog.at_level(logging.INFO, "reprieve"):
        DecisionLog().observed(events, [], 0.0)
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_a_call_that_failed_is_told_in_the_words_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    said = 'pods "a" is forbidden: User "x" cannot create resource "pods/binding"'
    assert told(caplog, Failed(BIND, said)) == [(logging.WARNING, f"Bind of Pod team/a failed: {said}")]


def test_a_call_without_an_answer_is_told(caplog: pytest.LogCaptureFixture) -> None:
    sentence = "whether Bind of Pod team/a happened is not known: no answer"
    assert told(caplog, Unknown(BIND, "no answer")) == [(logging.WARNING, sentence)]


def test_what_went_well_is_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    assert told(caplog, Done(BIND)) == []
    assert told(caplog, Synced()) == [(logging.INFO, "all that the cluster has is known; scheduling begins")]
