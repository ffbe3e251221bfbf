"""Which demands could preempt the running pods of a cluster, and how that reads."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report import texts

from reprieve.cluster.api.selector_text import label_requirements
from reprieve.inquiry import decoded_cluster
from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.inquiry.exposure import (
    ExposedPod,
    ExposureReport,
    PodFilter,
    PodShape,
    PreemptingClass,
    ShapeSyntaxError,
    exposure_report,
    parse_shape,
    shape_manifest,
    with_class_for_shape,
)
from reprieve.inquiry.exposure_report import exposure_json, exposure_lines, names
from reprieve.model.snapshot import Snapshot, build
from reprieve.preemption.eviction_limit import EvictionLimit, WithinLimit
from reprieve.preemption.policy import RULES, Policy
from reprieve.preemption.searches import REPRIEVE
from tests.scenarios.making import decoded, moment, world_objects
from tests.scenarios.reading import BudgetLine, ClassLine, GroupLine, PodLine, WorldLine

NOW = moment(5)
GOLDEN = Path(__file__).with_name("golden") / "exposure"
CLASSES = {
    "batch": ClassLine(value=10),
    "batch-10min": ClassLine(value=10, minimum=1000, seconds=600),
    "patient": ClassLine(value=500, preemption="Never"),
    "service": ClassLine(value=500),
    "urgent": ClassLine(value=1000),
}
PODS = {
    "spot": PodLine(on="n1", class_name="batch", labels={"app": "spot"}),
    "web": PodLine(on="n1", class_name="service", labels={"app": "web"}),
    "young": PodLine(on="n1", class_name="batch-10min", scheduled=2),
    "t-0": PodLine(on="n1", class_name="batch", priority=10, group="train"),
    "t-1": PodLine(on="n2", class_name="batch", priority=10, group="train"),
    "other": PodLine(on="n2", class_name="batch", namespace="team-b"),
    "waits": PodLine(class_name="urgent"),
    "leaving": PodLine(on="n2", class_name="batch", terminating=True),
    "static": PodLine(on="n2", class_name="urgent", annotations={"kubernetes.io/config.mirror": "x"}),
    "bare": PodLine(on="n2", priority=-5),
}
BUDGETS = {"web": BudgetLine(selects={"app": "web"}, allowed=0)}


def a_view(**more: PodLine) -> Snapshot:
    world = WorldLine(
        nodes={"n1": "cpu 4", "n2": "cpu 4"},
        classes=CLASSES,
        pods={**PODS, **more},
        groups={"train": GroupLine(class_name="batch", disruption="all")},
        budgets=BUDGETS,
    )
    return build(map(decoded, world_objects(world, world.groups))).snapshot


def a_report(policy: Policy | None = REPRIEVE, **asked: Any) -> ExposureReport:
    return exposure_report(a_view(), policy, NOW, **asked)


def pods_of(report: ExposureReport) -> dict[str, ExposedPod]:
    return {pod.name: pod for pod in report.pods}


def class_of(report: ExposureReport, name: str) -> PreemptingClass:
    (found,) = (one for one in report.classes if one.name == name)
    return found


def test_a_class_that_only_pods_name_is_not_forgotten() -> None:
    view = a_view(relic=PodLine(on="n1", class_name="deleted", priority=700))
    found = class_of(exposure_report(view, REPRIEVE, NOW), "deleted")
    assert (found.value, found.exists, found.now) == (700, False, 6)


def test_a_budget_that_must_be_kept_holds_every_priority_off() -> None:
    web = pods_of(a_report(replace(REPRIEVE, breaks_no_budget=True)))["web"]
    assert (web.lowest, web.preemptors, web.held_by_budget) == (None, (), True)


def test_without_preemption_no_pod_is_exposed() -> None:
    assert a_report(None).pods == ()


def test_only_what_a_priority_may_ever_preempt() -> None:
    found = pods_of(a_report(at_priority=500))
    assert {name: pod.open_from for name, pod in found.items()} == {
        "spot": NOW,
        "young": moment(12),
        "t-0": NOW,
        "t-1": NOW,
        "other": NOW,
        "bare": NOW,
    }


@pytest.mark.parametrize(
    ("namespace", "labels", "expected"),
    [
        ("team-b", "", ["pod/other"]),
        ("", "app in (spot, web)", ["pod/spot", "pod/web"]),
        ("team-b", "app", []),
    ],
)
def test_a_filter_shows_fewer(namespace: str, labels: str, expected: list[str]) -> None:
    report = a_report(shown=PodFilter(namespace, label_requirements(labels)))
    assert names(report) == expected
    assert report.running == len(expected)


# --- how it reads --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("golden", "asked", "shown"),
    [
        ("all", {}, {"namespaces": True}),
        ("wide", {"shown": PodFilter("default")}, {"wide": True}),
        ("at-priority", {"shown": PodFilter("default"), "at_priority": 500}, {}),
        ("none", {"shown": PodFilter("nowhere")}, {}),
    ],
)
def test_the_text(golden: str, asked: dict[str, Any], shown: dict[str, bool]) -> None:
    lines = texts(exposure_lines(a_report(**asked), **shown))
    assert "\n".join([*lines, ""]) == (GOLDEN / f"{golden}.txt").read_text()


def test_without_headers_there_are_the_rows_alone() -> None:
    lines = texts(exposure_lines(a_report(shown=PodFilter("team-b")), headers=False))
    assert [line.split()[0] for line in lines] == ["other"]


def test_the_json_of_a_pod() -> None:
    document = exposure_json(a_report(at_priority=500))
    young = next(pod for pod in document["pods"] if pod["name"] == "young")
    assert young == {
        "namespace": "default",
        "name": "young",
        "uid": "Pod-young",
        "node": "n1",
        "priority": 10,
        "priorityClass": "batch-10min",
        "unit": "Pod",
        "unitPods": 1,
        "podsStopped": 1,
        "preemptableFrom": [
            {"at": "2026-01-02T00:05:00.000Z", "priority": 1000},
            {"at": "2026-01-02T00:12:00.000Z", "priority": 11},
        ],
        "preemptableBy": ["urgent"],
        "protections": [
            {
                "code": "Toleration",
                "by": ["batch-10min"],
                "reason": "priority class batch-10min tolerates preemption",
                "minimumPriority": 1000,
                "until": "2026-01-02T00:12:00.000Z",
            }
        ],
        "budgets": [],
        "heldByBudget": False,
        "openFrom": "2026-01-02T00:12:00.000Z",
    }
    assert document["kind"] == "ExposureReport"


# --- the eviction limit --------------------------------------------------------------------------

LIMITED = replace(REPRIEVE, rules=(*RULES, WithinLimit(EvictionLimit(2, 600.0, 900))))


def limited_report() -> ExposureReport:
    """web was evicted twice, and its pods are protected until one of the evictions is ten minutes old."""
    jobs = {"job-a": PodLine(on="n1", class_name="batch", owner="Job/job"), "job-b": PodLine(on="n2")}
    evictions = {"Job/default/job": [moment(1), moment(4)], "Pod/default/job-b": [moment(4)]}
    return exposure_report(replace(a_view(**jobs), evictions=evictions), LIMITED, NOW)


def test_a_workload_that_was_evicted_too_often_is_protected() -> None:
    found = pods_of(limited_report())
    assert [(one.from_priority, one.until, one.by) for one in found["job-a"].protections] == [
        (900, moment(11), ("Job/default/job",))
    ]
    assert [(level.since, level.priority) for level in found["job-a"].levels] == [
        (NOW, 900),
        (moment(11), 11),
    ]
    assert found["job-b"].protections == ()


def test_tables_and_json_name_the_limit() -> None:
    report = limited_report()
    wide = "\n".join(line.text for line in exposure_lines(report, wide=True))
    assert "until 00:11:00 UTC, then 11" in wide
    assert "evictionLimit (Job default/job)" in wide
    (pod,) = (pod for pod in exposure_json(report)["pods"] if pod["name"] == "job-a")
    assert pod["protections"] == [
        {
            "code": "EvictionLimit",
            "by": ["Job/default/job"],
            "reason": "its workload, Job default/job, was evicted 2 times within 10 min",
            "minimumPriority": 900,
            "until": "2026-01-02T00:11:00.000Z",
        }
    ]


def test_a_shape_has_resources_in_order() -> None:
    shape = parse_shape("cpu=4, memory=8Gi,nvidia.com/gpu=1")
    assert shape == PodShape((("cpu", "4"), ("memory", "8Gi"), ("nvidia.com/gpu", "1")))
    assert str(shape) == "cpu 4, memory 8Gi, nvidia.com/gpu 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu", "expected RESOURCE=QUANTITY, as in cpu=4,memory=8Gi, got 'cpu'"),
        ("cpu=4,", "expected RESOURCE=QUANTITY, as in cpu=4,memory=8Gi, got ''"),
        ("cpu=four", "cpu: expected a quantity above zero, as in 4 or 8Gi, got 'four'"),
        ("cpu=0", "cpu: expected a quantity above zero, as in 4 or 8Gi, got '0'"),
        ("cpu=1,cpu=2", "cpu is given twice"),
    ],
)
def test_what_is_no_shape(text: str, message: str) -> None:
    with pytest.raises(ShapeSyntaxError) as caught:
        parse_shape(text)
    assert str(caught.value) == message


def test_taints_of_requested_devices_are_tolerated() -> None:
    body = shape_manifest(parse_shape("cpu=1,nvidia.com/gpu=1")).body
    assert body["spec"]["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def test_the_cluster_gets_a_class_of_that_priority() -> None:
    before = decoded_cluster.decoded(ClusterObjects((), 0.0))
    found = with_class_for_shape(before, 2_000_000_000).by_name.find("PriorityClass", "", "reprieve-exposure")
    assert found is not None
    assert found["value"] == 2_000_000_000
    assert not before.by_name.has_kind("PriorityClass")
