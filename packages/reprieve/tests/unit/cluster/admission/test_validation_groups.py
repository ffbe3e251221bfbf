"""Groups and workloads that are refused, in both spellings."""

import pytest
from tests.unit.cluster.admission.admitting import (
    COMPOSITE,
    GROUP,
    OLDER_GROUP,
    OLDER_WORKLOAD,
    TREE,
    WORKLOAD,
    admitted,
    create,
    created,
    named,
    priority_class,
    refusal,
    refused_at,
    update,
    with_value,
)

from reprieve.model.conditions import RUN_STARTED
from reprieve.model.json import Json

BASIC: Json = {"basic": {}}
CLAIM = {"name": "gpu", "resourceClaimName": "gpu"}


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("spec", None, "spec.schedulingPolicy"),
        ("spec.schedulingPolicy", {}, "spec.schedulingPolicy"),
        ("spec.schedulingPolicy", {"basic": {}, "gang": {"minCount": 1}}, "spec.schedulingPolicy"),
        ("spec.schedulingPolicy", {"gang": {}}, "spec.schedulingPolicy.gang.minCount"),
        ("spec.schedulingPolicy.gang.minCount", 0, "spec.schedulingPolicy.gang.minCount"),
        ("spec.schedulingPolicy.gang.minCount", "4", "spec.schedulingPolicy.gang.minCount"),
        ("spec.schedulingPolicy.gang.minCount", 2**31, "spec.schedulingPolicy.gang.minCount"),
        ("spec.disruptionMode", {}, "spec.disruptionMode"),
        ("spec.disruptionMode", {"single": {}, "all": {}}, "spec.disruptionMode"),
        ("spec.disruptionMode", "PodGroup", "spec.disruptionMode"),
        ("spec.schedulingConstraints", {"topology": [{"key": "a"}, {"key": "b"}]},
         "spec.schedulingConstraints.topology"),
        ("spec.schedulingConstraints", {"topology": [{}]}, "spec.schedulingConstraints.topology[0].key"),
        ("spec.workloadRef", {"workloadName": "w"}, "spec.workloadRef.templateName"),
        ("spec.parentCompositePodGroupName", "top", "spec.workloadRef"),
        ("spec.resourceClaims", [CLAIM] * 5, "spec.resourceClaims"),
        ("spec.resourceClaims", [CLAIM, CLAIM], "spec.resourceClaims[1].name"),
        ("spec.resourceClaims", [{"name": "gpu"}], "spec.resourceClaims[0]"),
        ("spec.podGroupTemplateRef", {"workload": {}}, "spec.podGroupTemplateRef"),
        ("metadata.name", "Train", "metadata.name"),
    ],
)  # fmt: skip
def test_a_group_is_refused(path: str, value: object, blamed: str) -> None:
    assert blamed in refused_at(create(with_value(GROUP, path, value)))


def test_a_priority_below_zero_is_one() -> None:
    low = with_value(GROUP, "spec.priorityClassName", "low")
    assert created(low, priority_class("low", -5))["spec"]["priority"] == -5


def test_a_basic_group_can_be_disrupted_whole_only_in_the_newer_spelling() -> None:
    assert created({**GROUP, "spec": {"schedulingPolicy": BASIC, "disruptionMode": {"all": {}}}})
    older = {**OLDER_GROUP, "spec": {"schedulingPolicy": BASIC, "disruptionMode": "PodGroup"}}
    assert refused_at(create(older)) == ["spec.disruptionMode"]
    inside = {**OLDER_GROUP, "spec": {"schedulingPolicy": {**BASIC, "disruptionMode": "PodGroup"}}}
    assert refused_at(create(inside)) == ["spec.schedulingPolicy.disruptionMode"]
    assert created(with_value(OLDER_GROUP, "spec.disruptionMode", "PodGroup"))


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("spec.disruptionMode", {"all": {}}, "spec.disruptionMode"),
        ("spec.disruptionMode", "Together", "spec.disruptionMode"),
        ("spec.schedulingPolicy.disruptionMode", "Pod", None),
        ("spec.workloadRef", {"workloadName": "w", "templateName": "t"}, "spec.workloadRef"),
        ("spec.podGroupTemplateRef", {"workload": {"workloadName": "w"}},
         "spec.podGroupTemplateRef.workload.podGroupTemplateName"),
        ("spec.schedulingPolicy.gang.minCount", 0, "spec.schedulingPolicy.gang.minCount"),
    ],
)  # fmt: skip
def test_an_older_group_is_refused(path: str, value: object, blamed: str | None) -> None:
    assert refused_at(create(with_value(OLDER_GROUP, path, value))) == ([] if blamed is None else [blamed])


def test_an_older_group_says_its_mode_once() -> None:
    twice = with_value(OLDER_GROUP, "spec.disruptionMode", "Pod")
    twice = with_value(twice, "spec.schedulingPolicy.disruptionMode", "PodGroup")
    assert refused_at(create(twice)) == ["spec.schedulingPolicy.disruptionMode"]


@pytest.mark.parametrize("body", [GROUP, OLDER_GROUP], ids=named)
def test_of_a_group_only_the_minimum_can_change(body: Json) -> None:
    stored = created(body)
    assert admitted(update(with_value(stored, "spec.schedulingPolicy.gang.minCount", 9), stored))
    for path, value in (
        ("spec.disruptionMode", "PodGroup" if body is OLDER_GROUP else {"all": {}}),
        ("spec.priority", 5),
        ("spec.priorityClassName", "high"),
        ("spec.schedulingConstraints", {"topology": [{"key": "rack"}]}),
    ):
        assert refused_at(update(with_value(stored, path, value), stored)) == [path]
    basic = with_value(stored, "spec.schedulingPolicy", BASIC)
    assert refused_at(update(basic, stored)) == ["spec.schedulingPolicy.basic", "spec.schedulingPolicy.gang"]


def test_of_a_composite_group_nothing_can_change() -> None:
    stored = created(COMPOSITE)
    more = with_value(stored, "spec.schedulingPolicy.gang.minGroupCount", 9)
    assert refused_at(update(more, stored)) == ["spec.schedulingPolicy"]
    assert refused_at(create({**COMPOSITE, "spec": {"schedulingPolicy": BASIC}})) == ["spec.workloadRef"]


def test_the_status_of_a_group_has_one_condition_of_each_type() -> None:
    stored = created(GROUP)
    twice = [{"type": "PodGroupInitiallyScheduled", "status": "True"}] * 2
    sent = {**stored, "status": {"conditions": twice}}
    assert refused_at(update(sent, stored, subresource="status")) == ["status.conditions[1].type"]


def test_the_status_of_a_group_has_the_condition_that_a_run_started() -> None:
    stored = created(GROUP)
    conditions = [{"type": RUN_STARTED, "status": "True", "reason": "PodsBound"}]
    assert admitted(update({**stored, "status": {"conditions": conditions}}, stored, subresource="status"))


# --- workloads -----------------------------------------------------------------------------------

LEAF: Json = {"name": "a", "schedulingPolicy": BASIC}


def tree(depth: int) -> list[Json]:
    """Composite templates of that many levels, with a leaf below the last."""
    template: Json = {"name": f"t{depth}", "schedulingPolicy": BASIC}
    children = {"compositePodGroupTemplates": tree(depth - 1)} if depth > 1 else {"podGroupTemplates": [LEAF]}
    return [{**template, **children}]


@pytest.mark.parametrize(
    ("spec", "blamed"),
    [
        ({}, "spec"),
        ({"podGroupTemplates": []}, "spec"),
        ({"podGroupTemplates": [LEAF], "compositePodGroupTemplates": tree(1)}, "spec"),
        ({"podGroupTemplates": [{**LEAF, "name": f"t{i}"} for i in range(9)]}, "spec.podGroupTemplates"),
        ({"podGroupTemplates": [{**LEAF, "name": ""}]}, "spec.podGroupTemplates[0].name"),
        ({"podGroupTemplates": [LEAF, LEAF]}, "spec.podGroupTemplates[1].name"),
        ({"podGroupTemplates": [{"name": "a"}]}, "spec.podGroupTemplates[0].schedulingPolicy"),
        ({"podGroupTemplates": [LEAF, {**LEAF, "name": "b", "priority": 5}]}, "spec"),
        ({"podGroupTemplates": [{**LEAF, "priority": 2_000_000_000}]}, "spec.podGroupTemplates[0].priority"),
        ({"podGroupTemplates": [LEAF], "controllerRef": {"kind": "Job"}}, "spec.controllerRef.name"),
        ({"compositePodGroupTemplates": [{"name": "a", "schedulingPolicy": BASIC}]},
         "spec.compositePodGroupTemplates[0]"),
        ({"compositePodGroupTemplates": tree(4)},
         "spec.compositePodGroupTemplates[0]" + ".compositePodGroupTemplates[0]" * 3),
    ],
)  # fmt: skip
def test_a_workload_is_refused(spec: Json, blamed: str) -> None:
    assert blamed in refused_at(create({**WORKLOAD, "spec": spec}))


def test_only_in_the_older_spelling_templates_may_have_different_priorities() -> None:
    templates = [{"name": name, "schedulingPolicy": BASIC, "priorityClassName": name} for name in ("a", "b")]
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    classes = [{**kind, "metadata": {"name": name}, "value": n} for n, name in ((7, "a"), (8, "b"))]
    spec = {"podGroupTemplates": templates}
    assert refused_at(create({**WORKLOAD, "spec": spec}, *classes)) == ["spec"]
    stored = created({**OLDER_WORKLOAD, "spec": spec}, *classes)
    assert [template["priority"] for template in stored["spec"]["podGroupTemplates"]] == [7, 8]
    assert admitted(update({**stored, "spec": spec}, stored)) == stored


def test_the_older_spelling_resolves_the_classes_of_templates() -> None:
    template = "spec.podGroupTemplates.0"
    unknown = refusal(create(with_value(OLDER_WORKLOAD, f"{template}.priorityClassName", "none")))
    assert unknown.sentence.endswith("there is no PriorityClass with the name none")
    assert "priority" not in created(WORKLOAD)["spec"]["podGroupTemplates"][0]


def test_a_tree_of_templates_may_be_three_levels_deep() -> None:
    assert created({**TREE, "spec": {"compositePodGroupTemplates": tree(3)}})


@pytest.mark.parametrize("body", [WORKLOAD, OLDER_WORKLOAD], ids=named)
def test_of_templates_only_the_minimum_can_change(body: Json) -> None:
    stored = created(body)
    template = "spec.podGroupTemplates.0"
    assert admitted(update(with_value(stored, f"{template}.schedulingPolicy.gang.minCount", 9), stored))
    changed = with_value(stored, f"{template}.priorityClassName", "high")
    assert refused_at(update(changed, stored)) == ["spec.podGroupTemplates[0].priorityClassName"]
    renamed = with_value(stored, f"{template}.name", "other")
    assert refused_at(update(renamed, stored)) == ["spec.podGroupTemplates"]


def test_templates_in_a_tree_are_as_fixed() -> None:
    stored = created(TREE)
    inner = "spec.compositePodGroupTemplates.0.podGroupTemplates.0"
    assert admitted(update(with_value(stored, f"{inner}.schedulingPolicy.gang.minCount", 9), stored))
    changed = with_value(stored, f"{inner}.disruptionMode", {"all": {}})
    blamed = "spec.compositePodGroupTemplates[0].podGroupTemplates[0].disruptionMode"
    assert refused_at(update(changed, stored)) == [blamed]
