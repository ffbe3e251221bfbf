"""Discovery, version and OpenAPI."""

import json

import pytest
from tests.minicluster.rest.api_client import ApiClient

from reprieve.cluster.admission.features import ALL_FEATURES, Features
from reprieve.cluster.api.schema import Object, fields_of, is_listed
from reprieve.model.json import Json
from reprieve_minicluster.kinds import KINDS
from reprieve_minicluster.rest.http_server import ApiServer
from reprieve_minicluster.rest.openapi import FIELDS, TYPES

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@pytest.mark.parametrize("page", ["/healthz", "/livez", "/readyz", "/livez/ping"])
def test_it_says_that_it_lives(client: ApiClient, page: str) -> None:
    assert client.ask("GET", page).body == b"ok"


def test_the_version_is_a_release_of_kubernetes(client: ApiClient) -> None:
    version = client.get("/version")
    assert (version["major"], version["minor"]) == ("1", "37")
    assert version["gitVersion"].startswith("v1.37.0")


def test_every_kind_is_found_in_every_version_it_is_served_in(client: ApiClient) -> None:
    groups = client.get("/apis")["groups"]
    versions = ["v1", *(v["groupVersion"] for group in groups for v in group["versions"])]
    found = set()
    for version in versions:
        resources = client.get(f"/apis/{version}" if "/" in version else f"/api/{version}")["resources"]
        found |= {(version, r["kind"], r["name"]) for r in resources if "/" not in r["name"]}
    assert found == {(version, kind.kind, kind.plural) for kind in KINDS for version in kind.served}


@pytest.mark.parametrize(
    ("features", "served"),
    [
        (ALL_FEATURES, {"compositepodgroups", "podgroups", "workloads"}),
        (Features(), {"podgroups", "workloads"}),
        (Features(generic_workload=False, composite_pod_group=True), set()),
    ],
)
def test_kinds_behind_a_feature_that_is_off_are_not_there(features: Features, served: set[str]) -> None:
    client = ApiClient()
    client.front = ApiServer(client.store, client.clock, features)
    group = "/apis/scheduling.k8s.io/v1alpha3"
    found = client.ask("GET", group)
    names = {r["name"] for r in json.loads(found.body).get("resources", ())}
    assert {name for name in names if "/" not in name} == served
    assert found.status == (200 if served else 404)
    for name in ("compositepodgroups", "podgroups"):
        assert client.ask("GET", f"{group}/{name}").status == (200 if name in served else 404)
    listed = client.ask("GET", "/apis", accept=AGGREGATED).body + client.ask("GET", "/openapi/v3").body
    assert (b"v1alpha3" in listed) == bool(served)
    assert (b"compositepodgroups" in listed) == ("compositepodgroups" in served)


def test_groups_of_pods_are_preferred_in_their_newest_version(client: ApiClient) -> None:
    group = client.get("/apis/scheduling.k8s.io")
    assert group["preferredVersion"]["version"] == "v1"
    assert [v["version"] for v in group["versions"]] == ["v1", "v1beta1", "v1alpha3", "v1alpha2"]


def test_subresources_are_told(client: ApiClient) -> None:
    resources = {r["name"]: r for r in client.get("/api/v1")["resources"]}
    assert resources["pods/eviction"]["kind"] == "Eviction"
    assert resources["pods/resize"]["verbs"] == ["get", "update", "patch"]
    assert "nodes/status" in resources
    assert "configmaps/status" not in resources


def test_newer_clients_get_everything_at_once(client: ApiClient) -> None:
    answer = client.ask("GET", "/apis", accept=AGGREGATED)
    assert answer.content_type.endswith("as=APIGroupDiscoveryList")
    apps = next(g for g in json.loads(answer.body)["items"] if g["metadata"]["name"] == "apps")
    deployments = next(r for r in apps["versions"][0]["resources"] if r["resource"] == "deployments")
    assert deployments["shortNames"] == ["deploy"]
    assert [s["subresource"] for s in deployments["subresources"]] == ["status", "scale"]


def test_older_clients_get_the_versions_alone(client: ApiClient) -> None:
    assert client.get("/api")["versions"] == ["v1"]


def test_openapi_describes_what_is_served(client: ApiClient) -> None:
    paths = client.get("/openapi/v3")["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/scheduling.k8s.io/v1alpha2"} <= set(paths)
    document = client.get(paths["api/v1"]["serverRelativeURL"])
    patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]


def _at(schemas: Json, path: str) -> Json:
    """The schema of a field, found as kubectl finds it."""
    kind, *steps = path.split(".")
    found: Json = schemas[f"v1.{kind}"]
    for step in steps:
        found = _led(schemas, found)["properties"][step]
    return found


def _led(schemas: Json, schema: Json) -> Json:
    schema = schema.get("items", schema)
    if "allOf" in schema:
        reference = schema["allOf"][0]["$ref"]
        return dict(schemas[reference.removeprefix("#/components/schemas/")])
    return schema


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("Pod.spec.priorityClassName", "string"),
        ("Pod.spec.containers.env.valueFrom.secretKeyRef.optional", "boolean"),
        ("Pod.spec.containers.livenessProbe.httpGet.port", "string"),
        ("Pod.metadata.ownerReferences.blockOwnerDeletion", "boolean"),
        ("Node.status.images", "array"),
        ("Service.spec.ports.nodePort", "integer"),
        ("ReplicationController.spec.template.spec.tolerations", "array"),
    ],
)
def test_openapi_describes_fields_at_any_depth(client: ApiClient, path: str, type_: str) -> None:
    schemas = client.get("/openapi/v3/api/v1")["components"]["schemas"]
    assert _at(schemas, path)["type"] == type_


def test_what_is_told_of_a_field_is_found_there(client: ApiClient) -> None:
    schemas = client.get("/openapi/v3/api/v1")["components"]["schemas"]
    assert _at(schemas, "Pod.spec.priority")["description"] == FIELDS["PodSpec.priority"]
    for name in FIELDS:
        thing, field = name.split(".")
        assert field in fields_of(Object(thing)), name
    assert all(is_listed(Object(name)) for name in TYPES)
    assert all(kind.description for kind in KINDS)


def test_references_in_openapi_lead_somewhere(client: ApiClient) -> None:
    for version in client.get("/openapi/v3")["paths"]:
        text = client.ask("GET", f"/openapi/v3/{version}").body.decode()
        schemas = json.loads(text)["components"]["schemas"]
        for reference in text.split('"$ref":"#/components/schemas/')[1:]:
            assert reference.split('"')[0] in schemas


def test_the_older_openapi_has_no_content_and_can_be_read(client: ApiClient) -> None:
    assert client.get("/openapi/v2")["paths"] == {}
    media = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    answer = client.ask("GET", "/openapi/v2", accept=media)
    assert (answer.content_type, answer.body[:5]) == (media.replace("@", "."), b"\x0a\x032.0")


@pytest.mark.parametrize("path", ["/nothing", "/apis/unknown", "/api/v2", "/apis/apps/v9", "/openapi/v3/x"])
def test_a_page_that_is_not_there(client: ApiClient, path: str) -> None:
    assert client.refused("GET", path)[:2] == (404, "NotFound")


def test_a_page_is_only_read(client: ApiClient) -> None:
    assert client.refused("POST", "/version")[:2] == (405, "MethodNotAllowed")
