"""Priority classes: resolved for pods and groups when they are created, and never later."""

from typing import Any

import pytest
from tests.unit.cluster.admission.admitting import (
    COMPOSITE,
    GROUP,
    OLDER_GROUP,
    POD,
    PRIORITY_CLASS,
    admitted,
    create,
    created,
    errors,
    named,
    priority_class,
    refusal,
    refused_at,
    update,
    with_value,
)

from reprieve.model.json import Json

HIGH = priority_class("high", 900)
QUIET = priority_class("quiet", 700, preemptionPolicy="Never")
CRITICAL = "system-node-critical"

resolved = pytest.mark.parametrize("body", [POD, GROUP, OLDER_GROUP, COMPOSITE], ids=named)


def naming(body: Json, name: str, **spec: Any) -> Json:
    return {**body, "spec": {**body["spec"], "priorityClassName": name, **spec}}


@resolved
def test_a_class_gives_its_value(body: Json) -> None:
    assert created(naming(body, "high"), HIGH)["spec"]["priority"] == 900


@resolved
def test_without_a_class_the_priority_is_zero(body: Json) -> None:
    spec = created(body, HIGH)["spec"]
    assert spec["priority"] == 0
    assert "priorityClassName" not in spec


@resolved
def test_the_lowest_of_several_defaults_counts(body: Json) -> None:
    defaults = (priority_class("b", 50, globalDefault=True), priority_class("a", 60, globalDefault=True))
    spec = created(body, HIGH, *defaults)["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("b", 50)


@resolved
def test_a_class_that_is_not_there_is_forbidden(body: Json) -> None:
    answer = refusal(create(naming(body, "higher"), HIGH))
    assert (answer.reason, answer.sentence) == (
        "Forbidden",
        "there is no PriorityClass with the name higher",
    )


@resolved
def test_a_priority_that_is_not_the_class_s_is_forbidden(body: Json) -> None:
    assert created(naming(body, "high", priority=900), HIGH)["spec"]["priority"] == 900
    assert refusal(create(naming(body, "high", priority=901), HIGH)).reason == "Forbidden"
    assert refusal(create(with_value(body, "spec.priority", 1))).reason == "Forbidden"


def test_a_pod_gets_the_preemption_policy_of_its_class() -> None:
    assert created(naming(POD, "quiet"), QUIET)["spec"]["preemptionPolicy"] == "Never"
    assert created(POD, QUIET)["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    loud = naming(POD, "quiet", preemptionPolicy="PreemptLowerPriority")
    assert refusal(create(loud, QUIET)).reason == "Forbidden"


@pytest.mark.parametrize("body", [GROUP, COMPOSITE], ids=named)
def test_a_group_gets_the_preemption_policy_of_its_class(body: Json) -> None:
    """Kubernetes 1.37 refuses the first, for a default that its author did not write."""
    assert created(naming(body, "quiet"), QUIET)["spec"]["preemptionPolicy"] == "Never"
    loud = naming(body, "quiet", preemptionPolicy="PreemptLowerPriority")
    assert refusal(create(loud, QUIET)).reason == "Forbidden"
    said = naming(body, "quiet", preemptionPolicy="Never")
    assert created(said, QUIET)["spec"]["preemptionPolicy"] == "Never"


def test_the_older_spelling_has_no_preemption_policy() -> None:
    assert "preemptionPolicy" not in created(naming(OLDER_GROUP, "quiet"), QUIET)["spec"]


def test_the_classes_of_the_system_are_always_there() -> None:
    assert created(naming(POD, CRITICAL))["spec"]["priority"] == 2_000_001_000
    assert created(naming(POD, "system-cluster-critical"))["spec"]["priority"] == 2_000_000_000


def test_only_the_older_spelling_lets_a_group_be_critical() -> None:
    assert created(naming(OLDER_GROUP, CRITICAL))["spec"]["priority"] == 2_000_001_000
    assert refused_at(create(naming(GROUP, CRITICAL))) == ["spec.priority"]


def test_an_update_keeps_what_was_resolved() -> None:
    stored = created(naming(POD, "high"), HIGH)
    sent = {
        **stored,
        "spec": {k: v for k, v in stored["spec"].items() if k not in ("priority", "preemptionPolicy")},
    }
    assert admitted(update(sent, stored)) == stored
    assert refused_at(update(with_value(stored, "spec.priority", 1), stored)) == ["spec"]


# --- the classes themselves ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (priority_class("big", 1_000_000_001), "value"),
        (priority_class("system-mine", 5), "metadata.name"),
        (priority_class(CRITICAL, 5), "metadata.name"),
        (priority_class("odd", 5, preemptionPolicy="Sometimes"), "preemptionPolicy"),
        ({**PRIORITY_CLASS, "value": "5"}, "value"),
        (priority_class("Loud", 5), "metadata.name"),
    ],
)
def test_a_class_is_refused(body: Json, path: str) -> None:
    assert path in refused_at(create(body))


def test_a_class_of_the_system_may_be_written_down() -> None:
    assert created(priority_class(CRITICAL, 2_000_001_000))
    assert created(priority_class("top", 1_000_000_000))["preemptionPolicy"] == "PreemptLowerPriority"


def test_only_one_class_can_be_the_default() -> None:
    first = priority_class("first", 1, globalDefault=True)
    second = priority_class("second", 2, globalDefault=True)
    assert refusal(create(second, first)).sentence.startswith("the PriorityClass first is the global default")
    assert admitted(create(first, first))
    assert created(priority_class("third", 3), first)


def test_value_and_policy_of_a_class_are_fixed() -> None:
    stored = created(PRIORITY_CLASS)
    assert refused_at(update(with_value(stored, "value", 5), stored)) == ["value"]
    (error,) = errors(update(with_value(stored, "preemptionPolicy", "Never"), stored))
    assert error.path == "preemptionPolicy"
    assert admitted(update(with_value(stored, "globalDefault", True), stored))
