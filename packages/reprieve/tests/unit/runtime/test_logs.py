"""The log: every line is JSON, as much as is wanted, and no secrets."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.model.effects import Bind, Target
from reprieve.model.events import Done, Event, EvictionsRead, Failed, Synced, Unknown
from reprieve.model.moment import on_one_clock
from reprieve.model.workloads import PastEviction
from reprieve.runtime.logs import DECISIONS, DecisionLog, log_to
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import (
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


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    root, ours, decisions = (logging.getLogger(name) for name in (None, "reprieve", DECISIONS))
    handlers, levels = root.handlers[:], [(log, log.level) for log in (root, ours, decisions)]
    yield
    root.handlers[:] = handlers
    for log, level in levels:
        log.setLevel(level)


def lines(verbosity: int = 0) -> list[dict[str, Any]]:
    told = io.StringIO()
    log_to(told, verbosity)
    logging.getLogger("reprieve.x").info("it %s", "begins")
    logging.getLogger("reprieve.x").debug("a detail")
    logging.getLogger(DECISIONS).info("Pod a/b: Placed", extra={"nodes": ("n1",)})
    logging.getLogger("asyncio").info("not ours")
    return [json.loads(line) for line in told.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("verbosity", "said"),
    [
        (0, ["it begins"]),
        (2, ["it begins", "Pod a/b: Placed"]),
        (4, ["it begins", "a detail", "Pod a/b: Placed"]),
    ],
)
def test_how_much_is_told(verbosity: int, said: list[str]) -> None:
    assert [line["msg"] for line in lines(verbosity)] == said


def test_a_line_has_its_parts() -> None:
    first, decision = lines(2)
    assert (first["level"], first["logger"]) == ("info", "reprieve.x")
    assert decision["nodes"] == ["n1"]


@pytest.mark.parametrize(
    "secret", ["Authorization: Bearer abc.def", "token eyJhbGci.eyJzdWIi.c2ln", "Basic dXNlcjpwYXNz"]
)
def test_no_secret_gets_out(secret: str) -> None:
    told = io.StringIO()
    log_to(told)
    try:
        raise ValueError(secret)
    except ValueError:
        logging.getLogger("reprieve.x").exception("it said %s", secret)
    assert secret.rpartition(" ")[2] not in told.getvalue()
    assert "[hidden]" in json.loads(told.getvalue())["error"]


# --- what is logged of scheduling ------------------------------------------------------------------


BIND = Bind(Target("Pod", "team", "a", "1"), "n1")


def told(caplog: pytest.LogCaptureFixture, *events: Event) -> list[tuple[int, str]]:
    with caplog.at_level(logging.INFO, "reprieve"):
        DecisionLog().on_observed(events, [], on_one_clock(0.0))
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_a_call_that_failed_is_told_in_the_words_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    said = 'pods "a" is forbidden: User "x" cannot create resource "pods/binding"'
    assert told(caplog, Failed(BIND, said)) == [(logging.WARNING, f"Bind of Pod team/a failed: {said}")]
    caplog.clear()
    assert [level for level, _ in told(caplog, Failed(BIND, "not found", missing=True))] == [logging.INFO]


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
        (GrowthEnded(POD, GrowthEnd.GRANTED, 9.0, 4.0), ["Pod team/a: resize granted"]),
    ],
)
def test_how_a_plan_ended(caplog: pytest.LogCaptureFixture, record: PlanRecord, lines: list[str]) -> None:
    with caplog.at_level(logging.INFO, DECISIONS):
        DecisionLog().on_recorded([record])
    assert [record.getMessage() for record in caplog.records] == lines


def test_the_end_of_a_plan_names_its_decision(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, DECISIONS):
        DecisionLog().on_recorded([PlanEnded(*PLAN, EndReason.NODE_GONE, Stage.DRAINING)])
    (line,) = caplog.records
    assert {name: vars(line)[name] for name in ("decision", "stage", "seconds")} == {
        "decision": "d-1",
        "stage": "draining",
        "seconds": 4.0,
    }
