"""PodGroups, CompositePodGroups and Workloads: every spelling, one form, and back again."""

from typing import Any

import pytest
from tests.unit.cluster.api.examples import COMPOSITE, OLDER_POD_GROUP, POD_GROUP, WORKLOAD, changed, without

from reprieve.cluster.api.codec import Decoded, Unreadable, decode_value
from reprieve.model.objects import (
    CompositePodGroup,
    GangPolicy,
    PodGroup,
    PodGroupSpec,
    Workload,
    WorkloadRef,
)

KEPT = PodGroupSpec(
    gang=GangPolicy(min_count=4),
    disrupted_whole=True,
    priority=900,
    priority_class_name="high",
    preemption_policy="Never",
    topology_key="rack",
    workload_ref=WorkloadRef(workload_name="job", template_name="workers"),
    parent="whole",
)


def group(value: dict[str, Any]) -> PodGroup:
    result = decode_value(value)
    assert isinstance(result, Decoded), result
    assert isinstance(result.object, PodGroup)
    return result.object


def wrong(value: dict[str, Any]) -> tuple[str, str]:
    result = decode_value(value)
    assert isinstance(result, Unreadable), result
    return result.problem.path, result.problem.expected


@pytest.mark.parametrize(
    "version", ["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3", "reprieve.dev/v1alpha1"]
)
def test_the_newer_spelling(version: str) -> None:
    assert group(changed(POD_GROUP, "apiVersion", version)).spec == KEPT


def test_the_older_spelling() -> None:
    expected = PodGroupSpec(
        gang=GangPolicy(min_count=4),
        disrupted_whole=True,
        priority=900,
        priority_class_name="high",
        topology_key="rack",
        workload_ref=WorkloadRef(workload_name="job", template_name="workers"),
    )
    assert group(OLDER_POD_GROUP).spec == expected


def test_the_older_condition_gets_its_newer_name() -> None:
    conditions = [condition.type for condition in group(OLDER_POD_GROUP).status.conditions]
    assert conditions == ["PodGroupInitiallyScheduled"]


def test_the_basic_policy() -> None:
    for example in (POD_GROUP, OLDER_POD_GROUP):
        assert group(changed(example, "spec.schedulingPolicy", {"basic": {}})).spec.gang is None


@pytest.mark.parametrize(("mode", "whole"), [({"single": {}}, False), ({"all": {}}, True), (None, False)])
def test_disruption_modes(mode: object, whole: bool) -> None:
    assert group(changed(POD_GROUP, "spec.disruptionMode", mode)).spec.disrupted_whole is whole


@pytest.mark.parametrize(("mode", "whole"), [("Pod", False), ("PodGroup", True), (None, False)])
def test_older_disruption_modes_in_either_place(mode: object, whole: bool) -> None:
    in_policy = changed(
        without(OLDER_POD_GROUP, "spec.disruptionMode"), "spec.schedulingPolicy.disruptionMode", mode
    )
    assert group(changed(OLDER_POD_GROUP, "spec.disruptionMode", mode)).spec.disrupted_whole is whole
    assert group(in_policy).spec.disrupted_whole is whole


@pytest.mark.parametrize(
    ("path", "value", "where", "expected"),
    [
        ("disruptionMode", {}, "disruptionMode", "expected exactly one of single and all, got neither"),
        (
            "disruptionMode",
            {"single": {}, "all": {}},
            "disruptionMode",
            "expected exactly one of single and all, got single and all",
        ),
        ("schedulingPolicy", {}, "schedulingPolicy", "expected exactly one of basic and gang, got neither"),
        (
            "schedulingPolicy",
            {"basic": {}, "gang": {"minCount": 2}},
            "schedulingPolicy",
            "expected exactly one of basic and gang, got basic and gang",
        ),
        (
            "schedulingPolicy",
            {"gang": {}},
            "schedulingPolicy.gang.minCount",
            "expected a value, because it is required",
        ),
        (
            "schedulingPolicy",
            {"gang": {"minCount": 0}},
            "schedulingPolicy.gang.minCount",
            "expected an integer of at least 1",
        ),
        ("disruptionMode", "PodGroup", "disruptionMode", "expected an object, got a string"),
        (
            "schedulingPolicy.disruptionMode",
            "PodGroup",
            "schedulingPolicy.disruptionMode",
            "expected no such field in this version of the API",
        ),
        (
            "podGroupTemplateRef",
            {"workload": {"workloadName": "job"}},
            "podGroupTemplateRef",
            "expected no such field in this version of the API",
        ),
        (
            "schedulingConstraints.topology",
            [{"key": "a"}, {"key": "b"}],
            "schedulingConstraints.topology",
            "expected a list no longer than 1",
        ),
    ],
)
def test_what_is_wrong_with_a_group(path: str, value: object, where: str, expected: str) -> None:
    assert wrong(changed(POD_GROUP, f"spec.{path}", value)) == (f"spec.{where}", expected)


@pytest.mark.parametrize(
    ("path", "value", "where", "expected"),
    [
        (
            "schedulingPolicy.disruptionMode",
            "PodGroup",
            "spec",
            "expected disruptionMode here or in schedulingPolicy, got it in both",
        ),
        ("disruptionMode", "All", "spec", "expected Pod or PodGroup as disruptionMode, got 'All'"),
        ("disruptionMode", {"all": {}}, "spec.disruptionMode", "expected a string, got an object"),
        (
            "workloadRef",
            {"workloadName": "job", "templateName": "w"},
            "spec.workloadRef",
            "expected no such field in this version of the API",
        ),
        (
            "preemptionPolicy",
            "Never",
            "spec.preemptionPolicy",
            "expected no such field in this version of the API",
        ),
    ],
)
def test_what_is_wrong_with_an_older_group(path: str, value: object, where: str, expected: str) -> None:
    assert wrong(changed(OLDER_POD_GROUP, f"spec.{path}", value)) == (where, expected)


def test_a_group_must_say_its_policy() -> None:
    required = "expected a value, because it is required"
    assert wrong(without(POD_GROUP, "spec.schedulingPolicy")) == ("spec.schedulingPolicy", required)
    assert wrong(without(POD_GROUP, "spec")) == ("spec", required)


def test_claims_of_a_group_are_not_served() -> None:
    result = decode_value(changed(POD_GROUP, "spec.resourceClaims", [{"name": "gpu"}]))
    assert isinstance(result, Decoded)
    assert result.unserved == ("spec.resourceClaims",)


# --- composite groups and workloads --------------------------------------------------------------


def test_a_composite_group() -> None:
    result = decode_value(COMPOSITE)
    assert isinstance(result, Decoded)
    assert isinstance(result.object, CompositePodGroup)
    assert result.object.spec == PodGroupSpec(
        gang=GangPolicy(min_count=2),
        workload_ref=WorkloadRef(workload_name="job", template_name="whole"),
    )


def workload(value: dict[str, Any]) -> Workload:
    result = decode_value(value)
    assert isinstance(result, Decoded), result
    assert isinstance(result.object, Workload)
    return result.object


def test_a_workload_and_its_templates() -> None:
    thing = workload(WORKLOAD)
    (driver,) = thing.pod_group_templates
    (whole,) = thing.composite_pod_group_templates
    (workers,) = whole.pod_group_templates
    assert (driver.name, driver.spec) == ("driver", PodGroupSpec())
    assert (whole.name, whole.spec.gang) == ("whole", GangPolicy(min_count=2))
    assert (workers.name, workers.spec.gang, workers.spec.priority) == ("workers", GangPolicy(min_count=4), 7)


def test_older_workloads() -> None:
    policy = {"gang": {"minCount": 3}}
    v1alpha2 = changed(
        changed(WORKLOAD, "apiVersion", "scheduling.k8s.io/v1alpha2"),
        "spec",
        {"podGroupTemplates": [{"name": "w", "schedulingPolicy": policy, "disruptionMode": "PodGroup"}]},
    )
    v1alpha1 = changed(
        changed(WORKLOAD, "apiVersion", "scheduling.k8s.io/v1alpha1"),
        "spec",
        {"podGroups": [{"name": "w", "policy": policy}]},
    )
    (newer,) = workload(v1alpha2).pod_group_templates
    (older,) = workload(v1alpha1).pod_group_templates
    assert newer.spec == PodGroupSpec(gang=GangPolicy(min_count=3), disrupted_whole=True)
    assert older.spec == PodGroupSpec(gang=GangPolicy(min_count=3))


def test_problems_of_templates_are_located() -> None:
    path = "spec.compositePodGroupTemplates.0.podGroupTemplates.0.schedulingPolicy"
    where, _ = wrong(changed(WORKLOAD, path, {}))
    assert where == "spec.compositePodGroupTemplates[0].podGroupTemplates[0].schedulingPolicy"


def test_claims_of_templates_are_not_served() -> None:
    path = "spec.compositePodGroupTemplates.0.podGroupTemplates.0.resourceClaims"
    result = decode_value(changed(WORKLOAD, path, [{"name": "gpu"}]))
    assert isinstance(result, Decoded)
    assert result.unserved == ("spec.compositePodGroupTemplates[0].podGroupTemplates[0].resourceClaims",)
