"""Kinds that are stored for external clients, and that no component of the mini cluster acts upon."""

import pytest
from tests.minicluster.rest.api_client import MERGE, PODS, TABLE, ApiClient, pod
from tests.minicluster.rest.protobuf_encoding import envelope

from reprieve.model.json import Json

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
ASKED: Json = {"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}


def _thing(api_version: str, kind: str, **content: object) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it"}, **content}


CLAIM = _thing("resource.k8s.io/v1", "ResourceClaim", spec={"devices": {"requests": [ASKED]}})
SLICE = _thing(
    "resource.k8s.io/v1",
    "ResourceSlice",
    spec={"driver": "gpu.example.com", "nodeName": "a", "pool": {"name": "a"}, "devices": [{"name": "d0"}]},
)
PATH: Json = {
    "path": "/",
    "pathType": "Prefix",
    "backend": {"service": {"name": "s", "port": {"number": 80}}},
}
INGRESS = _thing(
    "networking.k8s.io/v1", "Ingress", spec={"rules": [{"host": "a.example", "http": {"paths": [PATH]}}]}
)
CONFIG: Json = {"requests": ["r"], "opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}


def test_what_a_scheduler_of_devices_needs(client: ApiClient) -> None:
    made = client.post(CLAIMS, CLAIM)
    exactly = made["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)
    given = {"allocation": {"devices": {"results": []}}, "reservedFor": [{"resource": "pods", "name": "p"}]}
    client.patch(f"{CLAIMS}/it/status", {"status": given})
    (row,) = client.get(CLAIMS, accept=TABLE)["rows"]
    assert row["cells"][1] == "allocated,reserved"
    client.post(SLICES, SLICE)
    assert client.names(SLICES, fieldSelector="spec.nodeName=a") == ["it"]
    assert client.names(SLICES, fieldSelector="spec.nodeName=b") == []


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        (CLAIMS, {**CLAIM, "spec": {"devices": {"requests": [{"name": "r"}]}}}, "exactly one of exactly and"),
        (SLICES, {**SLICE, "spec": {**SLICE["spec"], "allNodes": True}}, "exactly one of nodeName"),
        (INGRESSES, {**INGRESS, "spec": {}}, "at least one of defaultBackend and rules"),
    ],
)
def test_what_cannot_be(client: ApiClient, path: str, body: Json, sentence: str) -> None:
    status, _, told = client.refused("POST", path, body)
    assert status == 422
    assert sentence in told


def test_an_unallocated_claim_cannot_be_reserved(client: ApiClient) -> None:
    client.post(CLAIMS, CLAIM)
    had = {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}}
    status, _, told = client.refused("PATCH", f"{CLAIMS}/it/status", had, content_type=MERGE)
    assert (status, "status.reservedFor: Forbidden" in told) == (422, True)


def test_ports_are_of_tcp(client: ApiClient) -> None:
    subsets = [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]
    made = client.post("/api/v1/namespaces/default/endpoints", _thing("v1", "Endpoints", subsets=subsets))
    assert made["subsets"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]


def test_a_claim_stays_as_it_was(client: ApiClient) -> None:
    client.post(CLAIMS, CLAIM)
    other = {"spec": {"devices": {"requests": [{**ASKED, "name": "other"}]}}}
    status, _, told = client.refused("PATCH", f"{CLAIMS}/it", other, content_type=MERGE)
    assert (status, "spec: Invalid value" in told) == (422, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (INGRESSES, INGRESS),
        (CLAIMS, {**CLAIM, "spec": {"devices": {"requests": [ASKED], "config": [CONFIG]}}}),
    ],
)
def test_messages_within_messages(client: ApiClient, path: str, body: Json) -> None:
    """In protobuf, parts of an object are messages of their own that JSON knows nothing of."""
    content_type = "application/vnd.kubernetes.protobuf"
    as_protobuf = client.post(path, envelope(body), content_type=content_type, dryRun="All")
    assert as_protobuf["spec"] == client.post(path, body, dryRun="All")["spec"]


def test_nothing_is_debugged(client: ApiClient) -> None:
    client.post(PODS, pod("a"))
    status, _, told = client.refused("PATCH", f"{PODS}/a/ephemeralcontainers", {})
    assert (status, "simulated kubelet" in told) == (400, True)
