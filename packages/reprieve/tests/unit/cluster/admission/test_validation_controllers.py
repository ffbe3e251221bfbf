"""Deployments, replica sets and jobs that are refused, and what may change of them."""

import pytest
from tests.unit.cluster.admission.admitting import (
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    STATEFUL_SET,
    admitted,
    create,
    created,
    named,
    refused_at,
    update,
    with_value,
)

from reprieve.model.json import Json

IGNORE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
ZERO = {"operator": "In", "values": [0]}
replicated = pytest.mark.parametrize("body", [DEPLOYMENT, REPLICA_SET, STATEFUL_SET], ids=named)


@replicated
@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("spec", None, "spec.selector"),
        ("spec.replicas", -1, "spec.replicas"),
        ("spec.replicas", "three", "spec.replicas"),
        ("spec.selector", {}, "spec.selector"),
        ("spec.selector", {"matchLabels": {"app": "other"}}, "spec.template.metadata.labels"),
        ("spec.template", None, "spec.template"),
        ("spec.template.metadata.labels", {"app": "x y"}, "spec.template.metadata.labels"),
        ("spec.template.spec.containers", [], "spec.template.spec.containers"),
        ("spec.template.spec.restartPolicy", "Never", "spec.template.spec.restartPolicy"),
        ("spec.template.spec.activeDeadlineSeconds", 5, "spec.template.spec.activeDeadlineSeconds"),
    ],
)
def test_what_keeps_replicas_is_refused(body: Json, path: str, value: object, blamed: str) -> None:
    assert blamed in refused_at(create(with_value(body, path, value)))


@replicated
@pytest.mark.parametrize("selector", [{}, {"matchLabels": {}}, {"matchExpressions": []}])
def test_a_selector_selects_something(body: Json, selector: Json) -> None:
    assert "spec.selector" in refused_at(create(with_value(body, "spec.selector", selector)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.updateStrategy.type", "Recreate"),
        ("spec.updateStrategy.rollingUpdate.maxUnavailable", "150%"),
        ("spec.updateStrategy.rollingUpdate.partition", -1),
        ("spec.serviceName", "a.b"),
        ("spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Keep"),
    ],
)
def test_a_stateful_set_is_refused(path: str, value: object) -> None:
    assert refused_at(create(with_value(STATEFUL_SET, path, value))) == [path]


@replicated
def test_the_selector_is_fixed(body: Json) -> None:
    stored = created(body)
    label = {"app": "web", "more": "x"}
    changed = with_value(stored, "spec.selector", {"matchLabels": label})
    changed = with_value(changed, "spec.template.metadata.labels", label)
    assert refused_at(update(changed, stored)) == ["spec.selector"]
    assert admitted(update(with_value(stored, "spec.replicas", 5), stored))
    image = with_value(stored, "spec.template.spec.containers.0.image", "example/app:2")
    assert admitted(update(image, stored))


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("spec.strategy.type", "Fast", "spec.strategy.type"),
        ("spec.strategy", {"type": "Recreate", "rollingUpdate": {}}, "spec.strategy.rollingUpdate"),
        ("spec.strategy.rollingUpdate", {"maxSurge": 0, "maxUnavailable": 0},
         "spec.strategy.rollingUpdate.maxUnavailable"),
        ("spec.strategy.rollingUpdate", {"maxUnavailable": "101%"},
         "spec.strategy.rollingUpdate.maxUnavailable"),
        ("spec.strategy.rollingUpdate", {"maxSurge": "many"}, "spec.strategy.rollingUpdate.maxSurge"),
        ("spec.minReadySeconds", 600, "spec.progressDeadlineSeconds"),
        ("spec.revisionHistoryLimit", -1, "spec.revisionHistoryLimit"),
    ],
)  # fmt: skip
def test_a_deployment_is_refused(path: str, value: object, blamed: str) -> None:
    assert refused_at(create(with_value(DEPLOYMENT, path, value))) == [blamed]


@pytest.mark.parametrize(
    ("path", "value", "blamed"),
    [
        ("spec.parallelism", -1, "spec.parallelism"),
        ("spec.backoffLimit", -1, "spec.backoffLimit"),
        ("spec.completionMode", "Random", "spec.completionMode"),
        ("spec.backoffLimitPerIndex", 1, "spec.backoffLimitPerIndex"),
        ("spec.template.spec.restartPolicy", "Always", "spec.template.spec.restartPolicy"),
        ("spec.template.spec.restartPolicy", "", "spec.template.spec.restartPolicy"),
        ("spec.podFailurePolicy", {"rules": [{**IGNORE, "action": "Forget"}]},
         "spec.podFailurePolicy.rules[0].action"),
        ("spec.podFailurePolicy", {"rules": [{"action": "Ignore"}]}, "spec.podFailurePolicy.rules[0]"),
        ("spec.podFailurePolicy", {"rules": [{"action": "FailJob", "onExitCodes": ZERO}]},
         "spec.podFailurePolicy.rules[0].onExitCodes.values[0]"),
        ("spec.podReplacementPolicy", "Never", "spec.podReplacementPolicy"),
    ],
)  # fmt: skip
def test_a_job_is_refused(path: str, value: object, blamed: str) -> None:
    assert refused_at(create(with_value(JOB, path, value))) == [blamed]


def test_an_indexed_job_says_how_many_and_has_room_for_the_index() -> None:
    indexed = with_value(JOB, "spec.completionMode", "Indexed")
    assert refused_at(create(with_value(indexed, "spec.parallelism", 2))) == ["spec.completions"]
    long = with_value(with_value(indexed, "spec.completions", 10), "metadata.name", "a" * 62)
    assert refused_at(create(long)) == ["metadata.name"]


def test_a_failure_policy_wants_pods_that_are_not_restarted() -> None:
    policy = with_value(JOB, "spec.podFailurePolicy", {"rules": [IGNORE]})
    assert created(policy)["spec"]["podReplacementPolicy"] == "Failed"
    restarting = with_value(policy, "spec.template.spec.restartPolicy", "OnFailure")
    assert refused_at(create(restarting)) == ["spec.template.spec.restartPolicy"]


def test_what_of_a_job_can_change() -> None:
    stored = created(JOB)
    assert admitted(update(with_value(stored, "spec.parallelism", 5), stored))
    assert admitted(update(with_value(stored, "spec.suspend", True), stored))
    for path, value in (
        ("spec.completions", 5),
        ("spec.completionMode", "Indexed"),
        ("spec.podFailurePolicy", {"rules": [IGNORE]}),
        ("spec.template", with_value(stored, "spec.template.spec.hostname", "x")["spec"]["template"]),
    ):
        assert path in refused_at(update(with_value(stored, path, value), stored))


def test_before_a_job_starts_its_pods_can_be_sent_elsewhere() -> None:
    stored = created(with_value(JOB, "spec.suspend", True))
    template = "spec.template.spec"
    assert admitted(update(with_value(stored, f"{template}.nodeSelector", {"disk": "ssd"}), stored))
    more = with_value(stored, f"{template}.containers.0.resources", {"requests": {"cpu": "2"}})
    assert admitted(update(more, stored))
    image = with_value(stored, f"{template}.containers.0.image", "example/app:2")
    assert refused_at(update(image, stored)) == ["spec.template"]
