"""Protobuf bodies: decoded as their JSON would be, and never an internal error."""

from itertools import pairwise

import pytest
from tests.minicluster.rest.api_client import DEPLOYMENTS, MAPS, PODS, ApiClient, deployment, pod
from tests.minicluster.rest.protobuf_encoding import envelope, field, message
from tests.unit.cluster.admission.admitting import with_value
from tests.unit.cluster.api.rich_pod import RICH_POD

from reprieve.cluster.api.schema import fields_of, is_listed, root
from reprieve.model.json import Json
from reprieve_minicluster.kinds import KINDS
from reprieve_minicluster.rest.protobuf import PROTOBUF, from_protobuf, numbers_of

OLDER = "scheduling.k8s.io/v1alpha2"
# As kubectl writes a PriorityClass: what is not said is there as well, empty.
_METADATA = field(1, b"high") + b"".join(field(n, b"") for n in (2, 3, 4, 5, 6, 8)) + field(7, 0)
_PRIORITY_CLASS = field(1, _METADATA) + field(2, 100) + field(3, 0) + field(4, b"urgent")
_TYPE = field(1, b"scheduling.k8s.io/v1") + field(2, b"PriorityClass")
PRIORITY_CLASS = b"k8s\0" + field(1, _TYPE) + field(2, _PRIORITY_CLASS) + field(3, b"") + field(4, b"")


def test_every_kind_can_be_read() -> None:
    for kind in KINDS:
        for version in kind.served:
            assert version == OLDER or numbers_of(root(version, kind.kind).name), f"{kind.kind} {version}"


def test_no_two_fields_share_a_name_and_every_field_has_a_type() -> None:
    for kind in KINDS:
        thing = root(kind.api_version, kind.kind)
        names = [numbered.name for numbered in numbers_of(thing.name).values()]
        assert sorted({*names, "apiVersion", "kind"}) == sorted(fields_of(thing))
        assert all(one < other for one, other in pairwise(numbers_of(thing.name)))


A_SCHEMA: Json = {
    "type": "object",
    "required": ["spec"],
    "externalDocs": {"description": "more", "url": "https://example.com"},
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {
                    "type": "integer",
                    "maximum": 10,
                    "minimum": 0,
                    "multipleOf": 0.5,
                    "exclusiveMaximum": True,
                    "default": 3,
                    "enum": [1, 2, 3],
                },
                "name": {"type": "string", "maxLength": 0, "pattern": "^a", "nullable": True},
                "port": {"x-kubernetes-int-or-string": True},
                "rest": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                "none": {"type": "object", "additionalProperties": False},
                "items": {
                    "type": "array",
                    "minItems": 0,
                    "items": {"type": "object", "properties": {"id": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"],
                },
                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            },
            "allOf": [{"not": {"required": ["name", "size"]}}],
            "dependencies": {"name": ["size"], "size": {"required": ["port"]}},
            "x-kubernetes-validations": [
                {"rule": "self.size > 1", "message": "too small"},
                {"rule": "self == oldSelf", "optionalOldSelf": True},
            ],
        }
    },
}


SPEAKING: list[Json] = [
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": A_SCHEMA},
                    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size"}},
                    "additionalPrinterColumns": [
                        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
                    ],
                }
            ],
        },
    },
    with_value(RICH_POD, "spec.containers.0.resources.limits", {"cpu": "1"}),
    deployment("web"),
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "labels": {"empty": ""}, "creationTimestamp": "2026-01-02T03:04:05Z"},
        "data": {"key": "AAH/"},
        "type": "Opaque",
    },
    {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"acquireTime": "2026-01-02T03:04:05.000007Z", "leaseDurationSeconds": 15},
    },
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"maxUnavailable": "30%", "minAvailable": 0, "selector": {}},
    },
    {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": "t"},
        "status": {"user": {"username": "a", "extra": {"scopes": ["x", "y"], "none": []}}},
    },
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "m", "managedFields": [{"manager": "me", "fieldsV1": {"f:data": {}}}]},
    },
    {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Orphan"},
]


@pytest.mark.parametrize("body", SPEAKING, ids=[body["kind"] for body in SPEAKING])
def test_what_is_read_is_what_was_said(body: Json) -> None:
    assert from_protobuf(envelope(body)) == body


def test_unset_fields_are_absent() -> None:
    assert from_protobuf(PRIORITY_CLASS) == {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 100,
        "description": "urgent",
    }


def test_an_empty_value_that_says_something_stays() -> None:
    body = pod("a", volumes=[{"name": "v", "emptyDir": {}}], terminationGracePeriodSeconds=0)
    assert from_protobuf(envelope(body)) == body


def test_numbers_in_a_list_may_be_packed() -> None:
    context = field(4, b"\x01\x02\xac\x02")  # supplementalGroups
    raw = b"k8s\0" + field(1, field(1, b"v1") + field(2, b"Pod")) + field(2, field(2, field(14, context)))
    assert from_protobuf(raw)["spec"]["securityContext"] == {"supplementalGroups": [1, 2, 300]}


def test_objects_are_created_and_replaced(client: ApiClient) -> None:
    made = client.post(DEPLOYMENTS, envelope(deployment("web")), content_type=PROTOBUF)
    assert made["spec"]["template"]["spec"]["containers"][0]["image"] == "example/app:1"
    client.post(PODS, envelope(pod("a")), content_type=PROTOBUF, fieldValidation="Strict")
    labelled = pod("a")
    labelled["metadata"]["labels"]["more"] = "1"
    assert client.ask("PUT", f"{PODS}/a", envelope(labelled), content_type=PROTOBUF).status == 422


def test_it_is_checked_as_any_other_body(client: ApiClient) -> None:
    kind = client.refused("POST", MAPS, envelope(pod("a")), content_type=PROTOBUF)
    assert (kind[0], "the kind in the data (Pod)" in kind[2]) == (400, True)
    wrong = client.refused("POST", PODS, envelope(pod("a", restartPolicy="No")), content_type=PROTOBUF)
    assert (wrong[0], "spec.restartPolicy" in wrong[2]) == (422, True)
    large = client.refused("POST", PODS, envelope(pod("a", priority=1 << 40)), content_type=PROTOBUF)
    assert (large[0], "an integer of 32 bits" in large[2]) == (400, True)


def test_whatever_is_broken_is_refused(client: ApiClient) -> None:
    """Cut off anywhere, or with a byte turned into another."""
    whole = envelope(RICH_POD)
    for cut in range(4, len(whole) - 4, 7):
        assert 400 <= client.ask("POST", PODS, whole[:cut], content_type=PROTOBUF).status < 500
    for place in range(4, len(whole), 5):
        broken = bytes((*whole[:place], whole[place] ^ 0x55, *whole[place + 1 :]))
        assert client.ask("POST", PODS, broken, content_type=PROTOBUF, dryRun="All").status < 500


def _workload(depth: int) -> bytes:
    """Templates within templates."""
    thing = root("scheduling.k8s.io/v1alpha3", "CompositePodGroup")
    assert is_listed(thing)
    (number,) = (
        n
        for n, f in numbers_of("CompositePodGroupTemplate").items()
        if f.name == "compositePodGroupTemplates"
    )
    raw = message("CompositePodGroupTemplate", {}, {})
    for _ in range(depth):
        raw = field(number, raw)
    (at,) = (n for n, f in numbers_of("WorkloadSpec").items() if f.name == "compositePodGroupTemplates")
    head = field(1, b"scheduling.k8s.io/v1alpha3") + field(2, b"Workload")
    return b"k8s\0" + field(1, head) + field(2, field(2, field(at, raw)))


def test_what_nests_too_deep_is_refused(client: ApiClient) -> None:
    workloads = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/workloads"
    told = client.refused("POST", workloads, _workload(5_000), content_type=PROTOBUF)
    assert (told[0], "deeper than 100" in told[2]) == (400, True)
