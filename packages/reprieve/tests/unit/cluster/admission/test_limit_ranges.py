"""Limit ranges: defaults for containers, and what is out of bounds."""

import pytest
from tests.unit.cluster.admission.admitting import (
    CLAIM,
    POD,
    create,
    created,
    refusal,
    refused_at,
    update,
    with_value,
)

from reprieve.model.json import Json


def limit_range(*limits: Json) -> Json:
    meta = {"name": "bounds", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": {"limits": list(limits)}}


def pod(**resources: Json) -> Json:
    return with_value(POD, "spec.containers.0.resources", resources)


CPU = created(limit_range({"type": "Container", "max": {"cpu": 2}, "min": {"cpu": "100m"}}))


def test_the_largest_is_the_default_and_that_is_requested() -> None:
    (limit,) = CPU["spec"]["limits"]
    assert limit["default"] == limit["defaultRequest"] == {"cpu": "2"}
    made = created(POD, CPU)
    assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container main; "
        "cpu limit for container main"
    }


def test_a_pod_that_says_something_is_heeded() -> None:
    made = created(pod(limits={"cpu": "1"}), CPU)
    assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert "annotations" not in made["metadata"]


@pytest.mark.parametrize(
    ("limit", "body", "told"),
    [
        (
            {"type": "Container", "max": {"cpu": "2"}},
            pod(limits={"cpu": "3"}),
            "maximum cpu usage per Container is 2, but limit is 3",
        ),
        (
            {"type": "Container", "min": {"memory": "64Mi"}, "defaultRequest": {"memory": "64Mi"}},
            pod(requests={"memory": "32Mi"}),
            "minimum memory usage per Container is 64Mi, but request is 32Mi",
        ),
        (
            {"type": "Pod", "max": {"cpu": "2"}},
            POD,
            "maximum cpu usage per Pod is 2.  No limit is specified",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            pod(limits={"cpu": "3"}, requests={"cpu": "1"}),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
    ],
)
def test_a_pod_that_asks_for_too_much_or_too_little_is_refused(limit: Json, body: Json, told: str) -> None:
    answer = refusal(create(body, limit_range(limit)))
    assert (answer.reason, answer.sentence) == ("Forbidden", f'pods "it" is forbidden: {told}')


def test_claims() -> None:
    limits = limit_range({"type": "PersistentVolumeClaim", "max": {"storage": "500Mi"}})
    told = "maximum storage usage per PersistentVolumeClaim is 500Mi, but request is 1Gi"
    assert refusal(create(CLAIM, limits)).sentence == f'persistentvolumeclaims "it" is forbidden: {told}'


def test_another_namespace_is_not_concerned() -> None:
    elsewhere = with_value(CPU, "metadata.namespace", "elsewhere")
    assert created(POD, elsewhere)["spec"]["containers"][0]["resources"] == {}


@pytest.mark.parametrize(
    ("limit", "path"),
    [
        ({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}, "spec.limits[0].min[cpu]"),
        ({"type": "Pod", "default": {"cpu": "1"}}, "spec.limits[0].default"),
        ({"type": "PersistentVolumeClaim", "default": {"storage": "1"}}, "spec.limits[0].limits"),
        ({"type": "Container", "max": {"gpu": "1"}}, "spec.limits[0].max[gpu]"),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}},
            "spec.limits[0].maxLimitRequestRatio[cpu]",
        ),
        ({"min": {"cpu": "1"}}, "spec.limits[0].type"),
    ],
)
def test_ranges_that_there_cannot_be(limit: Json, path: str) -> None:
    assert path in refused_at(create(limit_range(limit)))


QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "it", "namespace": "default"},
    "spec": {"hard": {"pods": 2}, "scopes": ["NotTerminating"]},
}


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("hard", {"gpus": "1"}, "spec.hard[gpus]"),
        ("hard", {"pods": "1500m"}, "spec.hard[pods]"),
        ("hard", {"cpu": "-1"}, "spec.hard[cpu]"),
        ("hard", {"services": "1"}, "spec.scopes[0]"),
        ("scopes", ["Terminating", "NotTerminating"], "spec.scopes"),
        ("scopes", ["Sometimes"], "spec.scopes[0]"),
        (
            "scopeSelector",
            {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]},
            "spec.scopeSelector.matchExpressions[0].values",
        ),
        (
            "scopeSelector",
            {"matchExpressions": [{"scopeName": "BestEffort", "operator": "DoesNotExist"}]},
            "spec.scopeSelector.matchExpressions[0].operator",
        ),
    ],
)
def test_quotas_that_there_cannot_be(path: str, value: object, where: str) -> None:
    assert where in refused_at(create(with_value(QUOTA, f"spec.{path}", value)))


def test_scopes_stay() -> None:
    old = created(QUOTA)
    assert refused_at(update(with_value(old, "spec.scopes", []), old)) == ["spec.scopes"]
    assert refused_at(update(with_value(old, "spec.hard", {"pods": "5"}), old)) == []
