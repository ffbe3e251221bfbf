"""Fields behind a feature that is off: dropped from what is new, kept where they are stored already."""

from dataclasses import replace

import pytest
from tests.unit.cluster.admission.admitting import (
    COMPOSITE,
    DEPLOYMENT,
    GROUP,
    NODE,
    OLDER_GROUP,
    POD,
    TREE,
    WORKLOAD,
    admitted,
    create,
    created,
    refusal,
    update,
    with_value,
)

from reprieve.cluster.admission.admission import ALL_FEATURES, DEFAULT_FEATURES, Features
from reprieve.model.json import Json

NO_GROUPS = Features(generic_workload=False)
TOPOLOGY = {"topology": [{"key": "rack"}]}
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
KNOWN: tuple[Json, ...] = ({**CLASS, "metadata": {"name": "high"}, "value": 900},)
REF = {"workloadName": "job", "templateName": "workers"}

NO_PREEMPTION = replace(ALL_FEATURES, workload_aware_preemption=False)
WHOLE: Json = {"all": {}}

GUARDED = [
    (GROUP, "spec.priorityClassName", "high", NO_PREEMPTION),
    (GROUP, "spec.priority", 0, NO_PREEMPTION),
    (GROUP, "spec.disruptionMode", WHOLE, NO_PREEMPTION),
    (COMPOSITE, "spec.disruptionMode", WHOLE, NO_PREEMPTION),
    (OLDER_GROUP, "spec.schedulingPolicy.disruptionMode", "PodGroup", NO_PREEMPTION),
    (WORKLOAD, "spec.podGroupTemplates.0.priorityClassName", "high", NO_PREEMPTION),
    (WORKLOAD, "spec.podGroupTemplates.0.disruptionMode", WHOLE, NO_PREEMPTION),
    (NODE, "spec.podPreemptionPolicy", {"disableResizePreemption": ["example.com/me"]}, DEFAULT_FEATURES),
    (NODE, "spec.preemptionPolicy", {"disablePodResizePreemption": ["example.com/me"]}, DEFAULT_FEATURES),
    (GROUP, "spec.preemptionPolicy", "PreemptLowerPriority", DEFAULT_FEATURES),
    (GROUP, "spec.schedulingConstraints", TOPOLOGY, DEFAULT_FEATURES),
    (with_value(GROUP, "spec.workloadRef", REF), "spec.parentCompositePodGroupName", "top", DEFAULT_FEATURES),
    (
        COMPOSITE,
        "spec.preemptionPolicy",
        "PreemptLowerPriority",
        replace(ALL_FEATURES, pod_group_preemption_policy=False),
    ),
    (WORKLOAD, "spec.podGroupTemplates.0.schedulingConstraints", TOPOLOGY, DEFAULT_FEATURES),
    (WORKLOAD, "spec.podGroupTemplates.0.preemptionPolicy", "Never", DEFAULT_FEATURES),
    (POD, "spec.schedulingGroup", {"podGroupName": "train"}, NO_GROUPS),
    (DEPLOYMENT, "spec.template.spec.schedulingGroup", {"podGroupName": "train"}, NO_GROUPS),
]
guarded = pytest.mark.parametrize(("body", "path", "value", "features"), GUARDED, ids=lambda g: str(g)[:40])


def value_at(body: Json, path: str) -> object:
    at: object = body
    for step in path.split("."):
        at = at[int(step)] if isinstance(at, list) else at.get(step) if isinstance(at, dict) else None
    return at


@guarded
def test_a_feature_that_is_turned_off_and_on_again(
    body: Json, path: str, value: object, features: Features
) -> None:
    """What was created without the feature stays without; what has the field keeps it all the time."""
    sent = with_value(body, path, value)
    with_it, without = create(sent, *KNOWN), create(sent, *KNOWN, features=features)
    for now in (features, ALL_FEATURES):
        kept = admitted(update(with_it, with_it, features=now)) if isinstance(with_it, dict) else {}
        assert value_at(kept, path) == value
    assert isinstance(without, dict)
    assert value_at(admitted(update(without, without, features=features)), path) is None
    assert value_at(created(sent, *KNOWN), path) == value


def test_a_tree_of_templates_is_kept_only_where_it_is() -> None:
    stored = created(TREE)
    assert admitted(update(stored, stored, features=DEFAULT_FEATURES)) == stored
    assert not isinstance(create(TREE, features=DEFAULT_FEATURES), dict)


@pytest.mark.parametrize(
    ("body", "features"),
    [(GROUP, NO_GROUPS), (WORKLOAD, NO_GROUPS), (COMPOSITE, DEFAULT_FEATURES), (COMPOSITE, NO_GROUPS)],
)
def test_a_kind_can_be_missing_altogether(body: Json, features: Features) -> None:
    assert refusal(create(body, features=features)).reason == "NotFound"


def test_the_preemption_policy_of_a_group_is_filled_in_only_where_it_is_served() -> None:
    assert created(GROUP)["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    assert "preemptionPolicy" not in created(GROUP, features=DEFAULT_FEATURES)["spec"]
