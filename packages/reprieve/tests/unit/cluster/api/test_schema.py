"""Unknown fields, and values of the wrong type, at any depth."""

import pytest
from tests.unit.cluster.admission.admitting import DEPLOYMENT, POD, with_value
from tests.unit.cluster.api.rich_pod import RICH_POD

from reprieve.cluster.api.schema import (
    ListOf,
    MapOf,
    Object,
    SchemaFinding,
    Type,
    _listed,
    fields_of,
    findings,
    is_listed,
)
from reprieve_minicluster.kinds import KINDS

OLDER = "scheduling.k8s.io/v1alpha2"


def found(api_version: str, kind: str, body: object) -> list[tuple[str, str]]:
    return [(f.path, f.expected) for f in findings(api_version, kind, body)]


def test_every_kind_is_listed_in_every_version() -> None:
    for kind in KINDS:
        assert is_listed(Object(kind.kind))
        for version in kind.served:
            body = {"apiVersion": version, "kind": kind.kind, "metadata": {"name": "a"}}
            assert found(version, kind.kind, body) == []


def test_every_type_that_is_named_is_listed() -> None:
    for name in _listed():
        for field, kind in fields_of(Object(name)).items():
            innermost = _innermost(kind)
            assert not isinstance(innermost, Object) or is_listed(innermost), f"{name}.{field}"


def _innermost(kind: Type) -> Type:
    match kind:
        case ListOf(item):
            return _innermost(item)
        case MapOf(value):
            return _innermost(value)
    return kind


def test_a_pod_with_everything_in_it() -> None:
    assert found("v1", "Pod", RICH_POD) == []


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.hostname", 5, "a string"),
        ("spec.priority", "high", "an integer of 32 bits"),
        ("spec.priority", True, "an integer of 32 bits"),
        ("spec.priority", 2**31, "an integer of 32 bits"),
        ("spec.priority", 1.0, "an integer of 32 bits"),
        ("spec.hostNetwork", "yes", "true or false"),
        ("spec.tolerations", {}, "a list"),
        ("spec.affinity", [], "an object"),
        ("spec.nodeSelector", "a=b", "an object"),
        ("spec.overhead", {"cpu": True}, "a quantity"),
        ("metadata.labels", {"a": 1}, "a string"),
        ("metadata.creationTimestamp", "yesterday", "a time such as 2026-01-02T03:04:05Z"),
    ],
)
def test_a_value_of_the_wrong_type(path: str, value: object, expected: str) -> None:
    (finding,) = findings("v1", "Pod", with_value(POD, path, value))
    assert finding.path.startswith(path)
    assert finding.expected == expected


@pytest.mark.parametrize("value", [5, "5", "50%"])
def test_what_may_be_of_two_types(value: object) -> None:
    assert found("apps/v1", "Deployment", with_value(DEPLOYMENT, "spec.strategy", _rolling(value))) == []


def _rolling(value: object) -> dict[str, object]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": value}}


def test_the_path_leads_into_lists() -> None:
    env = [{"name": "A", "value": "a"}, {"name": "B", "value": 7, "valeu": "b"}]
    body = with_value(DEPLOYMENT, "spec.template.spec.containers.0", {"name": "main", "env": env})
    path = "spec.template.spec.containers[0].env[1]"
    assert found("apps/v1", "Deployment", body) == [(f"{path}.value", "a string"), (f"{path}.valeu", "")]


def test_what_is_null_is_not_given() -> None:
    body = {**POD, "spec": {**POD["spec"], "affinity": None, "nonsense": None}, "nonsense": None}
    assert found("v1", "Pod", body) == []


def test_versions_have_their_own_words() -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 1}}, "disruptionMode": "Pod"}
    assert found(OLDER, "PodGroup", {"spec": spec}) == []
    newer = "scheduling.k8s.io/v1beta1"
    assert found(newer, "PodGroup", {"spec": spec}) == [("spec.disruptionMode", "an object")]
    assert found("events.k8s.io/v1", "Event", {"note": "x", "message": "x"}) == [("message", "")]


def test_kinds_that_are_not_listed_can_say_anything() -> None:
    assert findings("example.com/v1", "Rocket", {"x": 1}) == []
    assert fields_of(Object("Rocket")) == {}


def test_what_is_no_object_at_all() -> None:
    assert findings("v1", "Pod", []) == [SchemaFinding("", "an object", "a list")]
