"""What the log says of scheduling: which calls failed, in the words of the server, and how plans ended."""

import logging

import pytest

from reprieve.model.effects import Bind, Target
from reprieve.model.events import Done, Event, EvictionsRead, Failed, Synced, Unknown
from reprieve.model.workloads import PastEviction
from reprieve.runtime.decision_log import DecisionLog
from reprieve.runtime.logs import DECISIONS
from reprieve.scheduler.handover import Stage
from reprieve.scheduler.plan_records import (
    ChainContinued,
    EndReason,
    GrowthEnd,
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    Preemptor,
    StageReached,
    VictimsJudged,
)

BIND = Bind(Target("Pod", "team", "a", "1"), "n1")


def told(caplog: pytest.LogCaptureFixture, *events: Event) -> list[tuple[int, str]]:
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


def test_what_is_known_of_evictions_is_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    one = PastEviction(workload="Job/team/b", key="uid-p", at=7.0)
    known = (
        "eviction counts are known since 1970-01-01 00:00:05 UTC: 1 eviction of 1 workload read from events"
    )
    assert told(caplog, EvictionsRead((one,), 5.0)) == [(logging.INFO, known)]


def test_what_is_lost_of_evictions_is_told_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    ((level, text),) = told(caplog, EvictionsRead((), 5.0, "events cannot be listed: forbidden"))
    assert level == logging.WARNING
    assert text.endswith("0 evictions of 0 workloads read from events; events cannot be listed: forbidden")


POD, VICTIM = Target("Pod", "team", "a", "1"), Target("Pod", "team", "b", "2")
PLAN = ("d-1", POD, Preemptor.POD, 1, 9.0, 4.0)


@pytest.mark.parametrize(
    ("record", "lines"),
    [
        (PlanOpened(*PLAN), []),
        (StageReached(*PLAN, Stage.MARKING), []),
        (PlanEnded(*PLAN, EndReason.OUTRANKED, Stage.MARKING), ["Pod team/a: plan ended: Outranked"]),
        (VictimsJudged(*PLAN, used=(VICTIM,)), []),
        (VictimsJudged(*PLAN, wasted=(VICTIM,)), ["Pod team/a: 1 pod evicted in vain"]),
        (ChainContinued(*PLAN, 3), ["Pod team/a: continues a chain of evictions"]),
        (GrowthEnded(POD, GrowthEnd.GRANTED, 9.0, 4.0), ["Pod team/a: resize granted"]),
    ],
)
def test_how_a_plan_ended(caplog: pytest.LogCaptureFixture, record: PlanRecord, lines: list[str]) -> None:
    with caplog.at_level(logging.INFO, DECISIONS):
        DecisionLog().recorded([record])
    assert [record.getMessage() for record in caplog.records] == lines


def test_the_end_of_a_plan_names_its_decision(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, DECISIONS):
        DecisionLog().recorded([PlanEnded(*PLAN, EndReason.NODE_GONE, Stage.DRAINING)])
    (line,) = caplog.records
    assert {name: vars(line)[name] for name in ("decision", "stage", "seconds")} == {
        "decision": "d-1",
        "stage": "draining",
        "seconds": 4.0,
    }
