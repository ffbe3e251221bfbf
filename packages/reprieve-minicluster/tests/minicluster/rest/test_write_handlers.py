"""Creating and updating objects."""

import json

import pytest
from tests.minicluster.rest.api_client import (
    BUDGETS,
    DEPLOYMENTS,
    MAPS,
    MERGE,
    NODES,
    PODS,
    ApiClient,
    config_map,
    deployment,
    node,
    pod,
    said,
)

from reprieve.model.json import Json
from reprieve_minicluster.store import Key

GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"


def test_a_name_is_made_where_a_beginning_is_given(client: ApiClient) -> None:
    first, second = (client.post(MAPS, {"metadata": {"generateName": "job-"}}) for _ in range(2))
    names = {first["metadata"]["name"], second["metadata"]["name"]}
    assert len(names) == 2
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


def test_kind_and_version_need_not_be_said(client: ApiClient) -> None:
    made = client.post(MAPS, {"metadata": {"name": "a"}, "data": {"x": "y"}})
    assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")


def test_yaml_is_as_good_as_json(client: ApiClient) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  when: 2026-01-01\n"
    made = client.post(MAPS, text, content_type="application/yaml")
    assert made["data"] == {"when": "2026-01-01"}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"", "application/json", 400),
        (b"[" * 5000, "application/json", 400),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "application/json", 400),
        (b"a: [", "application/yaml", 400),
        (b"a: 1\n---\nb: 2\n", "application/yaml", 400),
        (b"? [a]\n: b", "application/yaml", 400),
        (b"{}", "text/plain", 415),
        (b"{}", "application/cbor", 415),
        (b"k8s\0", "application/vnd.kubernetes.protobuf", 415),
        (b"nonsense", "application/vnd.kubernetes.protobuf", 400),
    ],
)
def test_a_body_that_cannot_be_read(client: ApiClient, body: bytes, content_type: str, status: int) -> None:
    assert client.refused("POST", MAPS, body, content_type=content_type)[0] == status


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"kind": "Secret"}, "Secret"),
        ({"apiVersion": "v2"}, "v2"),
        ({"metadata": {"name": "a", "namespace": "other"}}, "other"),
        ({"metadata": {"name": "a", "resourceVersion": "7"}}, "resourceVersion"),
    ],
)
def test_a_body_that_is_meant_for_another_place(
    client: ApiClient, change: dict[str, object], names: str
) -> None:
    status, reason, sentence = client.refused("POST", MAPS, {**config_map("a"), **change})
    assert (status, reason) == (400, "BadRequest")
    assert names in sentence


def test_a_namespace_for_what_has_none_is_passed_over(client: ApiClient) -> None:
    body = {"metadata": {"name": "n", "namespace": "somewhere"}}
    assert "namespace" not in client.post(NODES, body)["metadata"]


def test_what_admission_refuses_names_the_fields(client: ApiClient) -> None:
    broken = pod("a", containers=[{"image": "x"}], restartPolicy="Sometimes")
    answer = client.ask("POST", PODS, broken)
    status = json.loads(answer.body)
    assert answer.status == 422
    fields = {cause["field"] for cause in status["details"]["causes"]}
    assert {"spec.containers[0].name", "spec.restartPolicy"} <= fields
    assert status["message"].startswith('Pod "a" is invalid: [')
    assert client.names(PODS) == []


def test_what_admission_forbids(client: ApiClient) -> None:
    assert client.refused("POST", PODS, pod("a", priorityClassName="none"))[:2] == (403, "Forbidden")


def test_a_namespace_has_to_be_there(client: ApiClient) -> None:
    nowhere = "/api/v1/namespaces/nowhere/configmaps"
    assert client.refused("POST", nowhere, config_map("a"))[:2] == (404, "NotFound")
    client.post("/api/v1/namespaces", {"metadata": {"name": "nowhere"}})
    assert client.post(nowhere, config_map("a"))["metadata"]["namespace"] == "nowhere"


def test_a_name_is_taken_once(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    assert client.refused("POST", MAPS, config_map("a")) == (
        409,
        "AlreadyExists",
        'configmaps "a" already exists',
    )


def test_what_is_defaulted_comes_back(client: ApiClient) -> None:
    made = client.post(PODS, pod("a"))
    assert made["spec"]["priority"] == 0
    assert made["spec"]["schedulerName"] == "default-scheduler"
    assert made["status"]["phase"] == "Pending"


# --- replacing -------------------------------------------------------------------------------------


def test_an_object_is_replaced(client: ApiClient) -> None:
    made = client.post(MAPS, config_map("a", x="1"))
    changed = client.put(f"{MAPS}/a", {**made, "data": {"y": "2"}})
    assert changed["data"] == {"y": "2"}
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_an_update_based_on_version_0_always_wins(client: ApiClient) -> None:
    """Upstream's e2e tests write the status of nodes so."""
    made = client.post(MAPS, {"metadata": {"name": "m"}, "data": {"a": "1"}})
    meta = {**made["metadata"], "resourceVersion": "0"}
    client.put(f"{MAPS}/m", {**made, "metadata": meta, "data": {"a": "2"}})
    client.patch(f"{MAPS}/m", {"metadata": {"resourceVersion": "0"}, "data": {"a": "3"}})
    assert client.get(f"{MAPS}/m")["data"] == {"a": "3"}


def test_an_update_of_a_stale_version_is_a_conflict(client: ApiClient) -> None:
    made = client.post(MAPS, config_map("a"))
    client.put(f"{MAPS}/a", {**made, "data": {"x": "1"}})
    assert client.refused("PUT", f"{MAPS}/a", {**made, "data": {"x": "2"}})[:2] == (409, "Conflict")
    other = {**made, "metadata": {"name": "a", "uid": "another-uid"}}
    assert client.refused("PUT", f"{MAPS}/a", other)[:2] == (409, "Conflict")


def test_an_update_without_a_version_overwrites(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    assert client.put(f"{MAPS}/a", config_map("a", x="1"))["data"] == {"x": "1"}


def test_an_update_creates_objects_of_some_kinds(client: ApiClient) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert said(client.ask("PUT", f"{leases}/l", {"metadata": {"name": "l"}}), 201)["metadata"]["uid"]
    assert client.refused("PUT", f"{leases}/l", {"metadata": {"name": "m"}})[0] in (400, 422)
    assert client.refused("PUT", f"{MAPS}/a", config_map("a"))[:2] == (404, "NotFound")


def test_some_kinds_require_the_version_in_an_update(client: ApiClient) -> None:
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {}}}
    made = client.post(BUDGETS, budget)
    status, reason, message = client.refused("PUT", f"{BUDGETS}/b", budget)
    assert (status, reason) == (422, "Invalid")
    assert "metadata.resourceVersion" in message
    assert client.put(f"{BUDGETS}/b", {**made, "spec": {"minAvailable": 2, "selector": {}}})
    assert client.patch(f"{BUDGETS}/b", {"spec": {"minAvailable": 3}})


def test_a_client_cannot_set_the_status_of_a_new_object(client: ApiClient) -> None:
    made = client.post(PODS, {**pod("a"), "status": {"phase": "Running", "podIP": "1.2.3.4"}})
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    budget = {"metadata": {"name": "b"}, "spec": {"selector": {}}, "status": {"disruptionsAllowed": 9}}
    assert client.post(BUDGETS, budget)["status"]["disruptionsAllowed"] == 0


def test_a_pod_that_is_held_back_says_so(client: ApiClient) -> None:
    made = client.post(PODS, pod("a", schedulingGates=[{"name": "example.com/wait"}]))
    (condition,) = made["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert condition["reason"] == "SchedulingGated"


@pytest.mark.parametrize("meta", [{"name": "j"}, {"generateName": "j-"}])
def test_a_job_knows_its_pods(client: ApiClient, meta: dict[str, str]) -> None:
    spec = {"template": {"spec": {**pod("p")["spec"], "restartPolicy": "Never"}}}
    job = client.post("/apis/batch/v1/namespaces/default/jobs", {"metadata": meta, "spec": spec})
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert (labels["job-name"], labels["controller-uid"]) == (name, uid)


def test_the_name_on_the_url_is_the_name_of_the_object(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    assert client.refused("PUT", f"{MAPS}/a", config_map("b"))[:2] == (400, "BadRequest")
    assert client.refused("PUT", f"{MAPS}/b", config_map("b"))[:2] == (404, "NotFound")


def test_the_status_is_written_apart(client: ApiClient) -> None:
    made = client.post(PODS, pod("a"))
    running = {**made, "status": {"phase": "Running"}}
    assert client.put(f"{PODS}/a", running)["status"] == {"phase": "Pending", **made["status"]}
    changed = client.put(f"{PODS}/a/status", {**running, "spec": {"nodeName": "n"}})
    assert changed["status"]["phase"] == "Running"
    assert changed["spec"] == made["spec"]
    assert changed["metadata"]["generation"] == made["metadata"]["generation"]


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}
WORDS = {"labels": {"x": "y"}, "annotations": {"x": "y"}, "ownerReferences": [OWNER]}


@pytest.mark.parametrize(
    ("path", "body", "taken"),
    [
        (PODS, pod("a"), ["annotations", "labels"]),
        (DEPLOYMENTS, deployment("a"), ["annotations", "ownerReferences"]),
        (BUDGETS, {"metadata": {"name": "a"}, "spec": {}}, ["annotations", "labels", "ownerReferences"]),
        (GROUPS, {"metadata": {"name": "a"}, "spec": {"schedulingPolicy": {"basic": {}}}}, []),
    ],
)
def test_a_status_update_may_change_metadata(
    client: ApiClient, path: str, body: Json, taken: list[str]
) -> None:
    """How many of them depends on the kind, as in Kubernetes."""
    before = client.post(path, body)["metadata"]
    after = client.patch(f"{path}/a/status", {"metadata": WORDS})["metadata"]
    assert [name for name in sorted(WORDS) if after.get(name) != before.get(name)] == taken


def test_wrong_metadata_are_refused_with_a_status_as_well(client: ApiClient) -> None:
    client.post(PODS, pod("a"))
    wrong = {"metadata": {"labels": {"not a key": "y"}}}
    status, _, told = client.refused("PATCH", f"{PODS}/a/status", wrong, content_type=MERGE)
    assert (status, "metadata.labels" in told) == (422, True)


def test_a_status_update_may_remove_the_last_finalizer(client: ApiClient) -> None:
    held = pod("a")
    held["metadata"]["finalizers"] = ["example.com/held"]
    client.post(PODS, held)
    client.delete(f"{PODS}/a")
    client.patch(f"{PODS}/a/status", {"metadata": {"finalizers": None}})
    assert client.names(PODS) == []


def test_a_node_registers_with_its_status(client: ApiClient) -> None:
    assert client.post(NODES, node("n"))["status"]["allocatable"]["cpu"] == "4"


# --- trying ----------------------------------------------------------------------------------------


def test_a_dry_run_tells_what_would_be(client: ApiClient) -> None:
    client.post(MAPS, config_map("a", x="1"))
    before = client.store.version
    assert client.post(MAPS, config_map("b"), dryRun="All")["metadata"]["uid"]
    assert client.put(f"{MAPS}/a", config_map("a", x="2"), dryRun="All")["data"] == {"x": "2"}
    assert client.patch(f"{MAPS}/a", {"data": {"x": "3"}}, dryRun="All")["data"] == {"x": "3"}
    client.delete(f"{MAPS}/a", dryRun="All")
    client.delete(f"{MAPS}/a", {"dryRun": ["All"]})
    client.delete(MAPS, dryRun="All")
    assert client.store.version == before
    assert client.names(MAPS) == ["a"]
    assert client.get(f"{MAPS}/a")["data"] == {"x": "1"}


def test_a_dry_run_is_refused_as_the_real_one(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    assert client.refused("POST", MAPS, config_map("a"), dryRun="All")[0] == 409
    assert client.refused("POST", MAPS, config_map("b"), dryRun="Some")[0] == 422


# --- unknown fields ----------------------------------------------------------------------------------


def misspelt() -> dict[str, object]:
    body = pod("a", containres=[], containers=[{"name": "main", "image": "x", "resorces": {}}])
    return {**body, "sped": {}, "metadata": {"name": "a", "lables": {}}}


def test_misspelt_fields_are_warned_of(client: ApiClient) -> None:
    answer = client.ask("POST", PODS, misspelt())
    assert answer.status == 201
    for path in ("sped", "metadata.lables", "spec.containres", "spec.containers[0].resorces"):
        assert f'unknown field \\"{path}\\"' in answer.headers["Warning"]


@pytest.mark.parametrize("mode", ["", "Warn", "Ignore"])
def test_misspelt_fields_are_not_kept(client: ApiClient, mode: str) -> None:
    made = client.post(PODS, misspelt(), fieldValidation=mode)
    assert not {"sped"} & made.keys()
    assert "lables" not in made["metadata"]
    assert "containres" not in made["spec"]
    assert "resorces" not in made["spec"]["containers"][0]
    for method, content_type in (("PUT", ""), ("PATCH", MERGE)):
        changed = {
            **made,
            "sped": {},
            "metadata": {**made["metadata"], "lables": {}, "labels": {"a": method}},
        }
        answer = client.ask(method, f"{PODS}/a", changed, content_type=content_type, fieldValidation=mode)
        made = json.loads(answer.body)
        assert made["metadata"]["labels"] == {"a": method}
        assert "sped" not in made
        assert "lables" not in made["metadata"]


def test_not_everything_is_warned_of(client: ApiClient) -> None:
    many = {f'wrong{i}\n"ü': 1 for i in range(10_000)}
    answer = client.ask("POST", PODS, {**pod("a"), **many})
    assert answer.status == 201
    assert 3000 < len(answer.headers["Warning"]) < 5000
    assert answer.headers["Warning"].isascii()


def test_misspelt_fields_are_refused_by_the_strict(client: ApiClient) -> None:
    status, _, sentence = client.refused("POST", PODS, misspelt(), fieldValidation="Strict")
    assert status == 400
    assert 'strict decoding error: unknown field "metadata.lables", ' in sentence


def test_a_patch_with_misspelt_fields_is_refused_by_the_strict(client: ApiClient) -> None:
    client.post(PODS, pod("a"))
    wrong: Json = {"metadata": {"lables": {}}}
    status, _, told = client.refused(
        "PATCH", f"{PODS}/a", wrong, content_type=MERGE, fieldValidation="Strict"
    )
    assert (status, 'unknown field "metadata.lables"' in told) == (422, True)


def test_what_has_no_metadata_has_no_name(client: ApiClient) -> None:
    status, _, told = client.refused("POST", MAPS, {"data": {}})
    assert (status, "metadata.name" in told) == (422, True)


def test_misspelt_fields_are_dropped_in_mode_ignore(client: ApiClient) -> None:
    assert client.ask("POST", PODS, misspelt(), fieldValidation="Ignore").headers == {}
    assert client.refused("POST", PODS, misspelt(), fieldValidation="Perhaps")[0] == 422


def test_a_field_that_is_said_twice(client: ApiClient) -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"x": "1", "x": "2"}}'
    _, _, sentence = client.refused("POST", MAPS, body, fieldValidation="Strict")
    assert 'duplicate field "data.x"' in sentence


def test_a_template_is_looked_into_as_well(client: ApiClient) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [], "tolerationz": []}}
    body = {"metadata": {"name": "a"}, "spec": {"template": template, "replica": 2}}
    path = "/apis/apps/v1/namespaces/default/deployments"
    _, _, sentence = client.refused("POST", path, body, fieldValidation="Strict")
    assert "spec.replica" in sentence
    assert "spec.template.spec.tolerationz" in sentence


def test_what_was_stored_before_does_not_spoil_a_strict_patch(client: ApiClient) -> None:
    client.post(PODS, misspelt(), fieldValidation="Ignore")
    labelled = client.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}}, fieldValidation="Strict")
    assert labelled["metadata"]["labels"] == {"x": "y"}
    assert client.store.find(Key("pods", "default", "a")) is not None


# --- types -------------------------------------------------------------------------------------------


def test_a_value_of_the_wrong_type_is_refused_before_anything_else(client: ApiClient) -> None:
    body = pod("a", containers=[{"name": "main", "image": "x", "env": [{"name": "A", "value": 5}]}])
    status, reason, message = client.refused("POST", PODS, body)
    assert (status, reason) == (400, "BadRequest")
    assert "spec.containers[0].env[0].value: expected a string, got an integer" in message


def test_a_patch_that_puts_in_the_wrong_type(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    status, reason, message = client.refused(
        "PATCH", f"{MAPS}/a", {"data": {"x": 1}}, content_type="application/merge-patch+json"
    )
    assert (status, reason) == (422, "Invalid")
    assert "data.x: expected a string" in message


def test_what_had_the_wrong_type_before_does_not_spoil_a_patch(client: ApiClient) -> None:
    client.store.create("configmaps", {"metadata": {"name": "a"}, "data": {"x": 1}, "immutable": "no"})
    path = f"{MAPS}/a"
    assert client.patch(path, {"metadata": {"labels": {"a": "b"}}})["metadata"]["labels"] == {"a": "b"}


def test_a_doubled_owner_is_stored_once_with_a_warning(client: ApiClient) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
    other = {**owner, "blockOwnerDeletion": True}
    owned = config_map("a")
    owned["metadata"]["ownerReferences"] = [owner, other, owner]
    answer = client.ask("POST", MAPS, owned)
    assert answer.status == 201
    assert json.loads(answer.body)["metadata"]["ownerReferences"] == [owner, other]
    warning = ".metadata.ownerReferences contains duplicate entries"
    assert warning in answer.headers["Warning"]
    assert "duplicate UID(s) observed: u-1" in answer.headers["Warning"]
    again = {"metadata": {"ownerReferences": [owner, owner, owner]}}
    answer = client.ask("PATCH", f"{MAPS}/a", again, content_type=MERGE)
    assert json.loads(answer.body)["metadata"]["ownerReferences"] == [owner]
    assert warning in answer.headers["Warning"]


def test_a_grace_period_is_no_longer_than_can_be_written(client: ApiClient) -> None:
    client.post(PODS, pod("p", nodeName="n1", terminationGracePeriodSeconds=2**63 - 1))
    left = client.delete(f"{PODS}/p")["metadata"]
    assert left["deletionTimestamp"] == "2094-01-19T15:14:07Z"
    shorter = client.delete(f"{PODS}/p", gracePeriodSeconds="60")["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 60
    assert shorter["deletionTimestamp"].startswith("2026-01-01T12:01:0")
