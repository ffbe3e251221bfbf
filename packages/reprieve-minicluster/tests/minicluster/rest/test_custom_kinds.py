"""Custom kinds: served as soon as they are defined, and validated by their schema."""

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.minicluster.rest.api_client import MAPS, MERGE, TABLE, ApiClient, config_map, said
from tests.minicluster.rest.custom_resource import DEFINITIONS, QUEUES, definition, queue, version

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.controllers.content_deletion import CrdController, NamespaceController
from reprieve_minicluster.controllers.garbage_collector import GarbageCollector
from reprieve_minicluster.rest.http_messages import ApiRequest, ApiResponse
from reprieve_minicluster.rest.http_server import ApiServer
from reprieve_minicluster.store import SqliteBackend, Store

APPLY = "application/apply-patch+yaml"
STRICT = {"fieldValidation": "Strict"}


@pytest.fixture
def defined(client: ApiClient) -> ApiClient:
    client.post(DEFINITIONS, definition())
    return client


# --- serving ---------------------------------------------------------------------------------------


def test_it_is_there_once_it_is_defined(client: ApiClient) -> None:
    assert client.ask("GET", QUEUES).status == 404
    client.post(DEFINITIONS, definition())
    assert client.get(QUEUES)["kind"] == "QueueList"
    made = client.post(QUEUES, queue("a"))
    assert client.get(f"{QUEUES}/a") == made
    assert made["metadata"]["generation"] == 1
    assert client.names("/apis/batch.example.com/v1/queues") == ["a"]
    client.delete(f"{QUEUES}/a")
    assert client.names(QUEUES) == []


def test_clients_can_find_it(defined: ApiClient) -> None:
    groups = [group["name"] for group in defined.get("/apis")["groups"]]
    assert "batch.example.com" in groups
    found = defined.get("/apis/batch.example.com/v1")["resources"]
    assert [entry["name"] for entry in found] == ["queues", "queues/status"]
    assert (found[0]["singularName"], found[0]["shortNames"]) == ("queue", ["q"])
    page = defined.get("/openapi/v3/apis/batch.example.com/v1")
    schema = page["components"]["schemas"]["batch.example.com.v1.Queue"]
    assert schema["properties"]["spec"]["properties"]["size"]["maximum"] == 100
    assert "metadata" in schema["properties"]


def test_its_table_has_the_columns_it_wants(defined: ApiClient) -> None:
    defined.post(QUEUES, queue("a", rules=[{"name": "b"}, {"name": "a", "weight": 2}]))
    defined.clock.now += 120
    found = defined.get(QUEUES, accept=TABLE)
    assert [(c["name"], c["priority"]) for c in found["columnDefinitions"]] == [
        ("Name", 0),
        ("Size", 0),
        ("First", 1),
        ("Age", 0),
    ]
    assert found["rows"][0]["cells"] == ["a", 3, 2, "2m"]


def test_it_can_be_patched_and_selected(defined: ApiClient) -> None:
    defined.post(QUEUES, queue("a"))
    defined.patch(f"{QUEUES}/a", {"metadata": {"labels": {"x": "1"}}, "spec": {"size": 4}})
    assert defined.names(QUEUES, labelSelector="x=1") == ["a"]
    assert defined.get(f"{QUEUES}/a")["metadata"]["generation"] == 2
    assert defined.ask("PATCH", f"{QUEUES}/a", [], content_type="application/json-patch+json").status == 200
    strategic = "application/strategic-merge-patch+json"
    assert defined.refused("PATCH", f"{QUEUES}/a", {}, content_type=strategic)[0] == 415


def test_it_is_watched(defined: ApiClient) -> None:
    before = defined.store.version
    defined.post(QUEUES, queue("a"))
    (change,) = defined.store.watch(("queues.batch.example.com",), before).poll()
    assert change.object.key.name == "a"


def test_rights_are_given_by_its_name(defined: ApiClient) -> None:
    rights = "/apis/rbac.authorization.k8s.io/v1"
    rules = [{"apiGroups": ["batch.example.com"], "resources": ["queues"], "verbs": ["list"]}]
    defined.post(f"{rights}/clusterroles", {"metadata": {"name": "r"}, "rules": rules})
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}
    reference = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "r"}
    binding = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": reference}
    defined.post(f"{rights}/clusterrolebindings", binding)
    defined.user = UserInfo("alice")
    assert defined.names(QUEUES) == []
    assert defined.refused("POST", QUEUES, queue("a"))[0] == 403


def test_several_versions_are_the_same_objects(client: ApiClient) -> None:
    older = version("v1beta1", storage=False)
    client.post(DEFINITIONS, definition(older, version("v1")))
    client.post(QUEUES, queue("a"))
    older_queues = QUEUES.replace("/v1/", "/v1beta1/")
    assert client.get(f"{older_queues}/a")["apiVersion"] == "batch.example.com/v1beta1"
    client.patch(f"{older_queues}/a", {"spec": {"size": 9}})
    assert client.get(f"{QUEUES}/a")["spec"]["size"] == 9
    assert [v["version"] for v in client.get("/apis/batch.example.com")["versions"]] == ["v1", "v1beta1"]


def test_one_without_namespaces(client: ApiClient) -> None:
    client.post(DEFINITIONS, definition(scope="Cluster"))
    made = client.post("/apis/batch.example.com/v1/queues", queue("a"))
    assert "namespace" not in made["metadata"]
    assert client.ask("GET", QUEUES).status == 404


# --- its schema ------------------------------------------------------------------------------------


def test_missing_fields_get_their_defaults(defined: ApiClient) -> None:
    made = defined.post(QUEUES, queue("a", rules=[{"name": "x"}]))
    assert made["spec"] == {"size": 3, "mode": "Fair", "rules": [{"name": "x", "weight": 0.5}]}


def test_what_it_does_not_know_is_dropped_or_refused(defined: ApiClient) -> None:
    body = queue(
        "a", strange=1, free={"any": {"thing": 1}}, labels={"x": "y"}, rules=[{"name": "b", "odd": 1}]
    )
    told = defined.refused("POST", QUEUES, body, **STRICT)
    assert (told[0], 'unknown field "spec.strange", unknown field "spec.rules[0].odd"' in told[2]) == (
        400,
        True,
    )
    answer = defined.ask("POST", QUEUES, body)
    assert 'unknown field \\"spec.strange\\"' in answer.headers["Warning"]
    spec = said(answer, 201)["spec"]
    assert (spec["free"], spec["labels"]) == ({"any": {"thing": 1}}, {"x": "y"})
    assert "strange" not in spec
    assert spec["rules"] == [{"name": "b", "weight": 0.5}]


def test_null_is_nothing_unless_it_is_meant(defined: ApiClient) -> None:
    made = defined.post(QUEUES, queue("a", mode=None, code=None, rules=[{"name": "x", "note": None}]))
    assert made["spec"]["mode"] == "Fair"
    assert "code" not in made["spec"]
    assert made["spec"]["rules"] == [{"name": "x", "note": None, "weight": 0.5}]


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"size": "3"}, "spec.size: Invalid value: must be of type integer"),
        ({"size": True}, "spec.size"),
        ({"size": 1.5}, "spec.size"),
        ({"size": 0}, "spec.size: Invalid value: 0: must be at least 1"),
        ({"size": 101}, "spec.size: Invalid value: 101: must be at most 100"),
        ({"mode": "Odd"}, 'spec.mode: Unsupported value: "Odd": supported values: "Fair", "Strict"'),
        ({"code": "A1"}, "spec.code: Invalid value"),
        ({"code": "a"}, "must have at least 2 characters"),
        ({"code": "abcdef"}, "spec.code: Too long"),
        ({"limit": []}, "spec.limit"),
        ({"users": ["a", "b", "c"]}, "spec.users: Too many"),
        ({"users": ["a", "a"]}, "spec.users[1]: Duplicate value"),
        ({"users": [1]}, "spec.users[0]"),
        ({"rules": [{"weight": 1}]}, "spec.rules[0].name: Required value"),
        ({"rules": [{"name": "a"}, {"name": "a"}]}, "spec.rules[1]: Duplicate value"),
        ({"labels": {"a": 1}}, "spec.labels[a]"),
        ({"rules": {}}, "spec.rules"),
    ],
)
def test_what_does_not_hold_to_it_is_refused(defined: ApiClient, spec: Json, named: str) -> None:
    status, reason, sentence = defined.refused("POST", QUEUES, queue("a", **spec))
    assert (status, reason, named in sentence) == (422, "Invalid", True), sentence


def test_what_must_be_given(defined: ApiClient) -> None:
    body = {**queue("a"), "spec": {}}
    assert "spec.size: Required value" in defined.refused("POST", QUEUES, body)[2]
    assert defined.refused("POST", QUEUES, {**queue("a"), "metadata": {"name": "A_"}})[0] == 422
    elsewhere = QUEUES.replace("default", "nowhere")
    assert defined.refused("POST", elsewhere, queue("a"))[0] == 404


def test_what_was_wrong_before_does_not_stop_other_changes(defined: ApiClient) -> None:
    defined.post(QUEUES, queue("a", size=90))
    body = defined.get(f"{DEFINITIONS}/queues.batch.example.com")
    size = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
        "size"
    ]
    size["maximum"] = 50
    defined.put(f"{DEFINITIONS}/queues.batch.example.com", body)
    assert defined.refused("POST", QUEUES, queue("b", size=90))[0] == 422
    defined.patch(f"{QUEUES}/a", {"spec": {"mode": "Strict"}})


def test_status_is_apart(defined: ApiClient) -> None:
    made = defined.post(QUEUES, {**queue("a"), "status": {"phase": "x"}})
    assert "status" not in made
    told = defined.patch(f"{QUEUES}/a/status", {"status": {"phase": "Open", "odd": 1}, "spec": {"size": 9}})
    assert (told["status"], told["spec"]["size"]) == ({"phase": "Open"}, 3)
    assert told["metadata"]["generation"] == 1
    assert (
        "status.phase: Required value"
        in defined.refused("PUT", f"{QUEUES}/a/status", {**told, "status": {}})[2]
    )
    assert defined.patch(f"{QUEUES}/a", {"spec": {"size": 4}})["status"] == {"phase": "Open"}


def test_it_is_applied_item_by_item(defined: ApiClient) -> None:
    def put(by: str, **spec: Any) -> Json:
        found: Json = json.loads(
            defined.ask("PATCH", f"{QUEUES}/a", queue("a", **spec), content_type=APPLY, fieldManager=by).body
        )
        return found

    put("me", rules=[{"name": "x"}], users=["a"])
    both = put("you", rules=[{"name": "y"}], users=["b"])
    assert [rule["name"] for rule in both["spec"]["rules"]] == ["y", "x"]
    assert sorted(both["spec"]["users"]) == ["a", "b"]
    assert put("you", size=7)["message"] == 'Apply failed with 1 conflict: conflict with "me": .spec.size'


# --- definitions -----------------------------------------------------------------------------------


def changed(**changes: Any) -> Json:
    return {**definition(), "spec": {**definition()["spec"], **changes}}


def with_schema(**schema: Any) -> Json:
    return definition(version(schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}))


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({**definition(), "metadata": {"name": "other"}}, "metadata.name"),
        (changed(scope="Odd"), "spec.scope"),
        (changed(group="nodot"), "spec.group"),
        (changed(versions=[]), "spec.versions: Required value"),
        (changed(names={"plural": "queues"}), "spec.names.kind: Required value"),
        (changed(conversion={"strategy": "Other"}), "spec.conversion.strategy"),
        (changed(conversion={"strategy": "Webhook"}), "spec.conversion.webhook: Required value"),
        (changed(preserveUnknownFields=True), "spec.preserveUnknownFields"),
        (definition(version("v1"), version("v2")), "exactly one version with storage: true, has 2"),
        (definition(version("v1"), version("v1", storage=False)), "spec.versions[1].name: Duplicate value"),
        (definition(version(schema={})), "spec.versions[0].schema.openAPIV3Schema: Required value"),
        (definition(version(schema={"openAPIV3Schema": {"type": "string"}})), "must be object at the root"),
        (with_schema(properties={}), "properties[spec].type: Required value"),
        (with_schema(type="text"), "type: Unsupported value"),
        (with_schema(type="string", pattern="["), "pattern: Invalid value"),
        (with_schema(type="array"), "items: Required value"),
        (with_schema(type="object", **{"$ref": "#/x"}), "$ref: Forbidden"),
        (with_schema(type="integer", default="x"), "default"),
        (with_schema(type="object", properties={"a": 7}), "properties[a]"),
        (with_schema(type="object", required="a"), "required"),
        (with_schema(type="object", required=[[]]), "required[0]"),
        (with_schema(type="object", required=[None]), "required[0]"),
        (with_schema(type="integer", anyOf=[None]), "anyOf[0]: Required value"),
        (with_schema(type="object", anyOf=[{"required": [7]}]), "anyOf[0].required[0]"),
        (
            definition(version(additionalPrinterColumns=[{"name": "A", "type": "x", "jsonPath": ".a"}])),
            "additionalPrinterColumns[0].type",
        ),
    ],
)
def test_a_definition_that_cannot_be(client: ApiClient, body: Json, named: str) -> None:
    status, _, sentence = client.refused("POST", DEFINITIONS, body)
    assert (status, named in sentence) == (422, True), sentence


def test_its_names_stay(defined: ApiClient) -> None:
    path = f"{DEFINITIONS}/queues.batch.example.com"
    for change in ({"scope": "Cluster"}, {"names": {"kind": "Other"}}):
        told = defined.refused("PATCH", path, {"spec": change}, content_type="application/merge-patch+json")
        assert (told[0], "immutable" in told[2]) == (422, True)


def test_it_says_that_it_is_served(defined: ApiClient) -> None:
    CrdController(defined.store).step()
    status = defined.get(f"{DEFINITIONS}/queues.batch.example.com")["status"]
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert (status["acceptedNames"]["listKind"], status["storedVersions"]) == ("QueueList", ["v1"])


def test_a_kind_has_one_definition(defined: ApiClient) -> None:
    defined.clock.now += 1
    defined.post(DEFINITIONS, definition(plural="lines"))
    CrdController(defined.store).step()
    status = defined.get(f"{DEFINITIONS}/lines.batch.example.com")["status"]
    assert {c["type"]: c["status"] for c in status["conditions"]}["Established"] == "False"
    assert defined.ask("GET", QUEUES.replace("queues", "lines")).status == 404


def test_a_finalizer_without_a_domain_is_warned_of(defined: ApiClient) -> None:
    body = {**queue("a"), "metadata": {"name": "a", "finalizers": ["tidy", "orphan", "x.example/y"]}}
    answer = defined.ask("POST", QUEUES, body)
    assert (answer.status, answer.headers["Warning"].count("prefer a domain-qualified")) == (201, 1)
    assert defined.refused("POST", MAPS, {"metadata": {"name": "a", "finalizers": ["tidy"]}})[0] == 422


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("cidr", "10.0.0.1/8", "10.0.0.0"),
        ("date", "2026-01-02", "2026-13-02"),
        ("duration", "1h30m", "soon"),
        ("ipv4", "10.0.0.1", "::1"),
        ("ipv6", "::1", "10.0.0.1"),
        ("mac", "00:1a:2B:3c:4d:5e", "00:1a"),
        ("uri", "https://a.example", "a"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("made-up", "anything", None),
    ],
)
def test_texts_have_the_format_of_their_schema(
    client: ApiClient, form: str, good: str, bad: str | None
) -> None:
    body = definition()
    spec = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"] = {**spec["properties"], "text": {"type": "string", "format": form}}
    client.post(DEFINITIONS, body)
    client.post(QUEUES, queue("a", text=good))
    if bad is not None:
        assert "spec.text: Invalid value" in client.refused("POST", QUEUES, queue("b", text=bad))[2]


def steps_of_one_more(stored: int) -> int:
    """Calls of functions until a definition is served, beside so many others."""
    client = ApiClient()
    loops = CrdController(client.store), GarbageCollector(client.store)

    def define(number: int) -> None:
        body, group = definition(), f"batch{number}.example.com"
        body["metadata"]["name"] = f"queues.{group}"
        body["spec"]["group"] = group
        client.post(DEFINITIONS, body)
        for loop in (*loops, *loops):
            loop.step()
        assert client.names(QUEUES.replace("batch.example.com", group)) == []
        client.get(f"/openapi/v3/apis/{group}/v1")

    for number in range(stored):
        define(number)
    count = 0

    def called(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        define(stored)
    finally:
        sys.setprofile(before)
    return count


def test_a_definition_costs_the_same_whatever_is_stored() -> None:
    steps_of_one_more(1)  # what modules build on first use is not counted
    assert steps_of_one_more(42) - steps_of_one_more(2) <= 40 * 20  # to look one up costs about 1,300


def test_with_a_definition_go_its_objects(defined: ApiClient) -> None:
    controller = CrdController(defined.store)
    held = {**queue("held"), "metadata": {"name": "held", "finalizers": ["x.dev/hold"]}}
    defined.post(QUEUES, queue("a"))
    defined.post(QUEUES, held)
    controller.step()
    defined.delete(f"{DEFINITIONS}/queues.batch.example.com")
    assert controller.step() is not None, "it looks again"
    assert defined.names(QUEUES) == ["held"]
    defined.patch(f"{QUEUES}/held", {"metadata": {"finalizers": None}})
    controller.step()
    assert defined.ask("GET", QUEUES).status == 404
    assert defined.names(DEFINITIONS) == []


def test_what_it_owns_goes_with_it_and_it_goes_with_its_namespace(defined: ApiClient) -> None:
    cascade, namespaces = GarbageCollector(defined.store), NamespaceController(defined.store)
    made = defined.post(QUEUES, queue("a"))
    cascade.step()
    owner = {
        "apiVersion": "batch.example.com/v1",
        "kind": "Queue",
        "name": "a",
        "uid": made["metadata"]["uid"],
    }
    owned = config_map("m")
    owned["metadata"]["ownerReferences"] = [owner]
    defined.post(MAPS, owned)
    cascade.step()
    assert defined.names(MAPS) == ["m"]
    defined.delete(f"{QUEUES}/a")
    cascade.step()
    assert defined.names(MAPS) == []
    defined.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
    inside = QUEUES.replace("default", "n")
    defined.post(inside, queue("b"))
    defined.delete("/api/v1/namespaces/n")
    namespaces.step()
    assert defined.names("/apis/batch.example.com/v1/queues") == []


def test_it_survives_a_restart(client: ApiClient, tmp_path: Path) -> None:
    def asked(store: Store, method: str, path: str, body: Json | None = None) -> ApiResponse:
        raw = json.dumps(body).encode() if body else b""
        answer = ApiServer(store, client.clock).answer(ApiRequest(method, path, body=raw))
        assert isinstance(answer, ApiResponse)
        return answer

    backend = SqliteBackend(tmp_path)
    store = Store(client.clock, backend=backend)
    assert asked(store, "POST", DEFINITIONS, definition()).status == 201
    assert asked(store, "POST", QUEUES, queue("a")).status == 201
    backend.close()
    again = SqliteBackend(tmp_path)
    store = Store(client.clock, backend=again)
    assert json.loads(asked(store, "GET", f"{QUEUES}/a").body)["spec"]["size"] == 3
    assert asked(store, "POST", QUEUES, queue("b", size=0)).status == 422
    again.close()


# --- scale -------------------------------------------------------------------------------------------


def test_a_kind_of_ones_own_is_scaled(client: ApiClient) -> None:
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    client.post(DEFINITIONS, definition(version(subresources={"scale": paths})))
    client.post(QUEUES, queue("q", size=3))
    assert client.get(f"{QUEUES}/q/scale")["spec"] == {"replicas": 3}
    client.patch(f"{QUEUES}/q/scale", {"spec": {"replicas": 5}})
    assert client.get(f"{QUEUES}/q")["spec"]["size"] == 5
    status, _, told = client.refused(
        "PATCH", f"{QUEUES}/q/scale", {"spec": {"replicas": 0}}, content_type=MERGE
    )
    assert (status, "spec.size" in told) == (422, True), "its schema wants one at least"


def test_a_kind_that_says_nothing_of_it_has_no_scale(client: ApiClient) -> None:
    client.post(DEFINITIONS, definition())
    client.post(QUEUES, queue("q"))
    assert client.refused("GET", f"{QUEUES}/q/scale")[0] == 404
