"""What questions say of groups that name a class for preemption, and of pods that cost their group more."""

import json
from typing import Any

import pytest
from tests.unit.inquiry.asking_why import NOW, cluster_of

from reprieve.assembly.inquiries import PolicyChoice, inquiry_settings
from reprieve.inquiry.anonymisation import anonymised
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.exposure import exposure_report, running_view
from reprieve.inquiry.exposure_report import exposure_json, exposure_lines
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.snapshot_file import pruned
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.whatif import WhatIfReport, whatif
from reprieve.inquiry.why import Evidence, WhyReport
from reprieve.inquiry.why_answers import why_object
from reprieve.model.annotations import DISRUPTION_COST
from reprieve.preemption.preemption_priority import ANNOTATION
from reprieve.report.decisions import decision_lines
from reprieve.scheduler.reporting.decision_document import decision_of, document_of
from tests.scenarios.making import world_objects
from tests.scenarios.reading import ClassLine, GroupLine, PodLine, WorldLine

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
STEADY: dict[str, object] = {"class": "steady", "namespaces": ["default"]}
TRAIN = GroupLine(priority=5, annotations={ANNOTATION: "steady"})


def a_world(priority: int, group: GroupLine = TRAIN, start: int = 2, **more: Any) -> WorldLine:
    """``start``: of t1, which is the younger one."""
    return WorldLine(
        nodes={"n1": "cpu 2"},
        classes={"steady": ClassLine(value=50)},
        groups={"train": group},
        pods={
            "t0": PodLine(on="n1", cpu=1, group="train", start=1),
            "t1": PodLine(**{"on": "n1", "cpu": 1, "group": "train", "start": start, **more}),
            "new": PodLine(cpu=1, priority=priority, start=None),
        },
    )


def asking(world: WorldLine, *classes: dict[str, object]) -> Asking:
    args = {"preemptionPriorityClasses": list(classes)}
    document = {**HEAD, "profiles": [{"pluginConfig": [{"name": "Reprieve", "args": args}]}]}
    chosen = inquiry_settings(PolicyChoice("file", document), cluster_of(world))
    return Asking(chosen.settings, chosen.policy)


def asked(world: WorldLine, *classes: dict[str, object]) -> WhatIfReport:
    settings = asking(world, *classes).settings
    question = WhatIfQuestion(cluster_of(world), settings, existing=(ObjectName("default", "new", "Pod"),))
    (report,) = whatif(question, NOW).reports
    return report


def why(name: str, world: WorldLine, *classes: dict[str, object]) -> WhyReport:
    evidence = Evidence(cluster_of(world), (), NOW)
    return why_object(ObjectName("default", name, "Pod"), evidence, asking(world, *classes))


def said(report: WhyReport) -> dict[str, str]:
    return {statement.code: statement.text for statement in report.statements}


# --- preemption priority -------------------------------------------------------------------------


def test_why_names_the_class_of_a_pod_that_runs() -> None:
    assert said(why("t0", a_world(9), STEADY))["PreemptionPriority"] == (
        "PodGroup/default/train names the class steady for preemption: only demands of a priority above 50 "
        "may preempt it. It was scheduled with 5, and preempts with that."
    )


def test_why_says_that_a_class_is_ignored() -> None:
    text = said(why("t0", a_world(9)))["InvalidPreemptionPriority"]
    assert 'namespace default may not name the class "steady"' in text


def test_a_demand_that_waits_is_told_what_keeps_it_out() -> None:
    report = asked(a_world(9), STEADY)
    assert report.refusal is not None
    assert report.refusal.text == (
        "no running pod has a priority below 9 as a victim: 2 pods of lower priority have a higher one for "
        "preemption, which their groups name"
    )


def test_a_decision_shows_both_priorities_and_is_read_as_written() -> None:
    (decision,) = {d.id: d for d in asked(a_world(60), STEADY).decisions if d.preemption}.values()
    assert decision.preemption is not None
    (victim,) = decision.preemption.victims
    assert (victim.priority, victim.own_priority) == (50, 5)
    document = json.loads(json.dumps(document_of(decision)))
    assert document["preemption"]["victims"][0]["ownPriority"] == 5
    again = decision_of(document)
    assert [line.text for line in decision_lines(again)] == [line.text for line in decision_lines(decision)]
    assert any("50 (own 5)" in line.text for line in decision_lines(again))


@pytest.mark.parametrize(("classes", "shown"), [((STEADY,), "50 (own 5)"), ((), "5")])
def test_exposure(classes: tuple[dict[str, object], ...], shown: str) -> None:
    world = a_world(9)
    (policy,) = asking(world, *classes).settings.policies.values()
    report = exposure_report(running_view(cluster_of(world).seen), policy, NOW)
    lines = [line.text for line in exposure_lines(report, wide=True)]
    assert any(line.startswith("t0") and shown in line for line in lines)
    assert any("steady (preemption priority)" in line for line in lines) is bool(classes)
    pod: Any = exposure_json(report)
    first = pod["pods"][0]
    assert first.get("schedulingPriority") == (5 if classes else None)
    assert first.get("preemptionPriorityClass") == ("steady" if classes else None)
    assert first["preemptableFrom"][0]["priority"] == (51 if classes else 6)


def test_an_anonymous_snapshot_names_the_class_by_its_new_name() -> None:
    world = a_world(9)
    bodies = [*world_objects(world, world.groups)]
    objects = [ApiObject(b["kind"], b["apiVersion"], json.dumps(b).encode()) for b in bodies]
    hidden = [
        json.loads(one.body) for one in anonymised(pruned(ClusterObjects(tuple(objects), NOW)))[0].objects
    ]
    (group,) = (thing for thing in hidden if thing["kind"] == "PodGroup")
    (known,) = (thing for thing in hidden if thing["kind"] == "PriorityClass")
    assert group["metadata"]["annotations"][ANNOTATION] == known["metadata"]["name"] != "steady"


# --- members that differ -------------------------------------------------------------------------


def test_a_pod_that_costs_more_is_spared_and_the_reason_is_given() -> None:
    report = asked(a_world(9, GroupLine(priority=5), start=1, annotations={DISRUPTION_COST: "3"}))
    assert [victim.pod.name for victim in report.victims] == ["t0"]
    assert [(spared.unit, spared.because.code) for spared in report.room.spared] == [
        ("Pod/default/t1", "CostsMore")
    ]


def test_a_cost_within_a_group_decides_only_where_every_criterion_is_equal() -> None:
    report = asked(a_world(9, GroupLine(priority=5), annotations={DISRUPTION_COST: "3"}))
    assert [victim.pod.name for victim in report.victims] == ["t1"], "it started later"


def test_a_pod_that_its_gang_needs_is_spared_and_the_reason_is_given() -> None:
    report = asked(a_world(9, GroupLine(priority=5, min=1)))
    assert [victim.pod.name for victim in report.victims] == ["t1"]
    assert [(spared.unit, spared.because.code) for spared in report.room.spared] == [
        ("Pod/default/t0", "NeededByGang")
    ]
