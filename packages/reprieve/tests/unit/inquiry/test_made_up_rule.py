"""A made-up rule of eligibility: with one function and one line, all that tells of rules tells of it."""

import asyncio
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.inquiry.asking import ask
from tests.unit.inquiry.asking_why import NOW, asking, cluster_of, decided, why
from tests.unit.inquiry.objects import node, pod
from tests.unit.report import texts
from tests.unit.scheduler.making import a_node, a_pod, later
from tests.unit.scheduler.serving import served

from reprieve.assembly import scheduler_settings
from reprieve.assembly.page_questions import AskedCluster, ClusterQuestions
from reprieve.inquiry.exposure import exposure_report, running_view
from reprieve.inquiry.exposure_report import exposure_json, exposure_lines
from reprieve.model.events import Change
from reprieve.page.sources import WhyQuestion
from reprieve.placement.demand import Demand
from reprieve.preemption.eligibility import (
    NOT_PROTECTED,
    Advice,
    ProtectedPods,
    Protection,
    Verdict,
    protecting,
)
from reprieve.preemption.policy import RULES
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import Units
from reprieve.report.decisions import decision_lines
from reprieve.report.hidden_names import without_hidden_names
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.reporting.decision_document import decision_of, document_of
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings
from tests.scenarios.making import moment
from tests.scenarios.reading import ClassLine, PodLine, WorldLine

CURTAIN = moment(90)
AUDIENCE = 5000  # preempts at any time


def on_stage(units: Units, demand: Demand, now: float) -> Verdict:
    """Nothing below the audience preempts a pod of a play before the curtain falls."""
    plays = [compiled.pod.metadata.labels.get("play", "") for compiled in units.view.pods.compiled]
    held = np.array([bool(play) and demand.priority < AUDIENCE for play in plays], np.bool_)

    def told(row: int) -> Protection:
        return Protection(
            code="OnStage",
            by=(plays[row],),
            from_priority=AUDIENCE,
            until=CURTAIN,
            reason=f"{plays[row]} is being played",
            pods=f"of the play {plays[row]}",
            ends=f"the performance of {plays[row]}",
        )

    until = np.where(held, CURTAIN, NOT_PROTECTED)
    pods = ProtectedPods(until, told, ended_by=frozenset({Change.POD_RELABELED}))
    return protecting(
        units, pods, now, lambda *_: Advice("OnStage", "A part in a play.", "label the pod: play=NAME")
    )


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_settings, "RULES", (*RULES, on_stage))


def a_world(**more: PodLine) -> WorldLine:
    classes = {"urgent": ClassLine(value=100), "audience": ClassLine(value=AUDIENCE)}
    pods = {"hamlet": PodLine(on="n1", cpu=4, labels={"play": "hamlet"}), **more}
    return WorldLine(nodes={"n1": "cpu 4"}, classes=classes, pods=pods)


WAITING = a_world(etl=PodLine(cpu=4, class_name="urgent", start=None))


# --- decisions, what-if and why ------------------------------------------------------------------

SENTENCE = "1 pod of the play hamlet is protected until 01:30:00 UTC"


def test_a_refusal_has_its_words() -> None:
    decision = decided(WAITING, "etl").decision
    assert decision.retry_at == CURTAIN
    assert decision.eviction is not None
    assert (decision.eviction.because.code, decision.eviction.because.text) == ("OnStage", SENTENCE)
    lines = texts(decision_lines(decision))
    assert f"  Preemption cannot help: {SENTENCE}." in lines
    assert any(line.startswith("  The performance of hamlet ends at") for line in lines)
    assert document_of(decision)["eviction"]["protected"] == [
        {
            "code": "OnStage",
            "by": ["hamlet"],
            "pods": 1,
            "which": "of the play hamlet",
            "first": "2026-01-02T01:30:00Z",
            "ends": "the performance of hamlet",
        }
    ]
    assert decision_of(document_of(decision)).eviction == decision.eviction
    assert without_hidden_names(decision, lambda *_: False).retry_at == CURTAIN


def test_what_if_has_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = datetime.fromisoformat("2026-03-02T10:30:00+00:00").timestamp()
    monkeypatch.setattr(f"{__name__}.CURTAIN", end)
    cluster = [node("n1"), pod("macbeth", 8, on="n1", level="low", labels={"play": "macbeth"})]
    told = ask(tmp_path, cluster, [pod("new", 8, level="urgent")]).output
    assert (
        "Preemption cannot help yet: 1 pod of the play macbeth is protected until 10:30:00 UTC.\n"
        "The scheduler tries again at 10:30:00 UTC" in told
    )


def test_a_protection_without_an_end_is_told_without_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.CURTAIN", float("inf"))
    eviction = decided(WAITING, "etl").decision.eviction
    assert eviction is not None
    text = "1 pod of the play hamlet is protected from preemption by priority 100"
    assert eviction.because.text == text


def test_why_a_pod_waits_and_how_long() -> None:
    report = why("pod/etl", WAITING)
    said = {statement.code: statement.text for statement in report.statements}
    assert said["OnStage"] == f"It cannot help: {SENTENCE}."
    assert report.remedies[0].code == "WaitForOnStage"
    assert report.remedies[0].text == (
        "Wait until 01:30:00 UTC, when the performance of hamlet ends: then it runs on n1, after "
        "preempting default/hamlet."
    )


def test_why_says_of_a_running_pod_what_protects_it() -> None:
    said = {statement.code: statement.text for statement in why("pod/hamlet", WAITING).statements}
    assert said["OnStage"] == (
        "Hamlet is being played: demands of a priority below 5000 may not preempt it until 01:30:00 UTC."
    )


def test_what_would_have_protected_a_victim() -> None:
    world = a_world(extra=PodLine(on="n1", cpu=0), etl=PodLine(cpu=4, priority=AUDIENCE, start=None))
    report = why("pod/hamlet", world, [decided(world, "etl")])
    remedies = {remedy.code: (remedy.text, remedy.how) for remedy in report.remedies}
    assert remedies["OnStage"] == ("A part in a play.", "label the pod: play=NAME")


def test_a_plan_lists_what_was_protected_where_it_made_room() -> None:
    small = {
        "hamlet": PodLine(on="n1", cpu=2, labels={"play": "hamlet"}),
        "spot": PodLine(on="n1", cpu=2),
    }
    world = replace_pods(a_world(), **small, etl=PodLine(cpu=2, class_name="urgent", start=None))
    preemption = decided(world, "etl").decision.preemption
    assert preemption is not None
    assert [victim.pod.name for victim in preemption.victims] == ["spot"]
    (spared,) = preemption.spared
    assert (spared.unit, spared.because.code, spared.because.text) == (
        "Pod/default/hamlet",
        "OnStage",
        SENTENCE,
    )


def replace_pods(world: WorldLine, **pods: PodLine) -> WorldLine:
    return WorldLine(nodes=world.nodes, classes=world.classes, pods=pods)


# --- exposure and the page -----------------------------------------------------------------------


def test_exposure_says_until_when_and_from_which_priority_on() -> None:
    view = running_view(cluster_of(a_world()).seen)
    report = exposure_report(view, replace(REPRIEVE, rules=(*RULES, on_stage)), NOW)
    (actor,) = report.pods
    assert [(level.since, level.priority) for level in actor.levels] == [(NOW, AUDIENCE), (CURTAIN, 1)]
    assert actor.preemptors == ("audience",)
    text = "\n".join(texts(exposure_lines(report, wide=True)))
    assert "until 01:30:00 UTC, then 1" in text
    (document,) = exposure_json(report)["pods"]
    assert document["protections"] == [
        {
            "code": "OnStage",
            "by": ["hamlet"],
            "reason": "hamlet is being played",
            "minimumPriority": AUDIENCE,
            "until": "2026-01-02T01:30:00.000Z",
        }
    ]


def test_the_page_gets_its_words() -> None:
    async def read(_: float | None) -> AskedCluster:
        return AskedCluster(lambda: cluster_of(WAITING), ())

    async def asked() -> tuple[Any, Any]:
        questions = ClusterQuestions(read)
        return await questions.exposure("default", None), await questions.why(
            WhyQuestion(pod="default/etl"), None
        )

    exposed, told = asyncio.run(asked())
    (protection,) = exposed["pods"][0]["protections"]
    assert (protection["reason"], protection["minimumPriority"]) == ("hamlet is being played", AUDIENCE)
    assert SENTENCE in told["text"]


def test_commands_ask_with_the_rule_as_registered() -> None:
    policies = asking(cluster_of(WAITING)).settings.policies.values()
    assert all(on_stage in policy.rules for policy in policies)


# --- waking --------------------------------------------------------------------------------------


def last_of(*changes: Any, after: float = 0.0) -> Decision:
    rules = (*RULES, on_stage)
    settings = Settings(policies={SCHEDULER_NAME: replace(REPRIEVE, rules=rules)})
    actor = a_pod("hamlet", cpu="4", on="n1", labels={"play": "hamlet"})
    cluster = served(a_node(), actor, a_pod("etl", cpu="4", priority=9), settings=settings)
    first: Decision = cluster.stage.decisions[-1]
    assert (first.outcome, first.retry_at) == (Outcome.UNSCHEDULABLE, CURTAIN)
    cluster.show(*(later(actor, **change) for change in changes))
    cluster.stage.after(after)
    return cluster.stage.decisions[-1]


def test_a_demand_is_decided_when_the_curtain_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.CURTAIN", 90.0)
    decision = last_of(after=90.0)
    assert (decision.outcome, decision.at) == (Outcome.PREEMPTS, 90.0)


def test_a_change_that_the_rule_names_wakes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.CURTAIN", 90.0)
    decision = last_of({"labels": {}}, after=20.0)
    assert decision.outcome is Outcome.PREEMPTS
    assert decision.at < 30.0
