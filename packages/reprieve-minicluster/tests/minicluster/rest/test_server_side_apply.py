"""Server-side apply: ownership, conflicts and merging."""

import json
from typing import Any

import pytest
from tests.minicluster.rest.api_client import DEPLOYMENTS, MAPS, PODS, ApiClient, config_map, pod, said

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.store import Part

APPLY = "application/apply-patch+yaml"
WEB = f"{DEPLOYMENTS}/web"


def put(client: ApiClient, path: str, body: Json, by: str, **more: str) -> Json:
    answer = client.ask("PATCH", path, body, content_type=APPLY, fieldManager=by, **more)
    return said(answer, 201 if answer.status == 201 else 200)


def refused(client: ApiClient, path: str, body: object, by: str, **more: str) -> tuple[int, str, str]:
    return client.refused("PATCH", path, body, content_type=APPLY, fieldManager=by, **more)


def deployment(container: Json | None = None, **spec: Any) -> Json:
    labels = {"app": "web"}
    containers = [{"name": "main", **(container or {"image": "example/app:1"})}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    whole = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": whole}


def part(**spec: Any) -> Json:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def labelled(**labels: str) -> Json:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": labels}}


def owners(body: Json) -> dict[tuple[str, str], Json]:
    return {(e["manager"], e["operation"]): e["fieldsV1"] for e in body["metadata"].get("managedFields", [])}


def test_what_is_not_there_is_made(client: ApiClient) -> None:
    answer = client.ask("PATCH", WEB, deployment(replicas=3), content_type=APPLY, fieldManager="me")
    made = said(answer, 201)
    assert (made["spec"]["replicas"], made["spec"]["strategy"]["type"]) == (3, "RollingUpdate")
    (entry,) = made["metadata"]["managedFields"]
    kept = ("manager", "operation", "apiVersion", "fieldsType")
    assert [entry[name] for name in kept] == ["me", "Apply", "apps/v1", "FieldsV1"]
    assert entry["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"] == {
        'k:{"name":"main"}': {".": {}, "f:image": {}, "f:name": {}}
    }
    assert entry["fieldsV1"]["f:spec"]["f:replicas"] == {}
    assert "f:strategy" not in entry["fieldsV1"]["f:spec"], "what was filled in has no owner"


def test_the_same_again_changes_nothing(client: ApiClient) -> None:
    first = put(client, WEB, deployment(replicas=3), "me")
    client.clock.now += 60
    assert put(client, WEB, deployment(replicas=3), "me") == first


def test_others_may_want_the_same_but_nothing_else(client: ApiClient) -> None:
    put(client, WEB, deployment(replicas=3), "me")
    put(client, WEB, part(replicas=3), "you")
    answer = client.ask("PATCH", WEB, part(replicas=5), content_type=APPLY, fieldManager="you")
    status = said(answer, 409)
    assert status["message"] == 'Apply failed with 1 conflict: conflict with "me": .spec.replicas'
    (cause,) = status["details"]["causes"]
    assert cause == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "me"',
        "field": ".spec.replicas",
    }


def test_several_conflicts_are_told_by_owner(client: ApiClient) -> None:
    put(client, WEB, deployment(replicas=3), "me")
    put(client, WEB, part(minReadySeconds=3), "you")
    _, _, sentence = refused(client, WEB, deployment({"image": "x"}, replicas=1, minReadySeconds=1), "they")
    assert sentence == (
        'Apply failed with 3 conflicts: conflicts with "me":\n- .spec.replicas\n'
        '- .spec.template.spec.containers[name="main"].image\nconflicts with "you":\n- .spec.minReadySeconds'
    )


def test_force_takes_it_over(client: ApiClient) -> None:
    put(client, WEB, deployment(replicas=3), "me")
    taken = put(client, WEB, part(replicas=5), "you", force="true")
    assert taken["spec"]["replicas"] == 5
    assert "f:replicas" not in owners(taken)["me", "Apply"]["f:spec"]
    assert owners(taken)["you", "Apply"] == {"f:spec": {"f:replicas": {}}}
    assert refused(client, WEB, deployment(replicas=3), "me")[0] == 409
    assert put(client, WEB, deployment(), "me")["spec"]["replicas"] == 5


def test_what_is_no_longer_wanted_goes(client: ApiClient) -> None:
    put(client, WEB, deployment(replicas=3, minReadySeconds=7), "me")
    left = put(client, WEB, deployment(), "me")
    assert left["spec"]["replicas"] == 1, "as if it had never been set"
    assert not left["spec"].get("minReadySeconds")


def test_what_others_want_stays(client: ApiClient) -> None:
    put(client, WEB, deployment(replicas=3), "me")
    put(client, WEB, part(replicas=3), "you")
    assert put(client, WEB, deployment(), "me")["spec"]["replicas"] == 3


def test_what_was_filled_in_goes_with_what_it_belongs_to(client: ApiClient) -> None:
    probe = {"httpGet": {"path": "/", "port": 80}}
    put(client, WEB, deployment({"image": "a", "livenessProbe": probe}), "me")
    (main,) = put(client, WEB, deployment({"image": "a"}), "me")["spec"]["template"]["spec"]["containers"]
    assert "livenessProbe" not in main


# --- lists -----------------------------------------------------------------------------------------


def with_containers(*containers: Json) -> Json:
    return part(template={"spec": {"containers": list(containers)}})


def containers_of(body: Json) -> list[Json]:
    found: list[Json] = body["spec"]["template"]["spec"]["containers"]
    return found


def test_things_with_names_are_merged(client: ApiClient) -> None:
    put(client, WEB, deployment(), "me")
    both = put(
        client, WEB, with_containers({"name": "side", "image": "b"}, {"name": "main", "tty": True}), "you"
    )
    assert [(c["name"], c["image"], c.get("tty")) for c in containers_of(both)] == [
        ("side", "b", None),
        ("main", "example/app:1", True),
    ]
    alone = put(client, WEB, with_containers({"name": "main"}), "you")
    assert [(c["name"], c.get("tty")) for c in containers_of(alone)] == [("main", None)]


def test_ports_are_told_apart_by_number_and_protocol(client: ApiClient) -> None:
    put(client, WEB, deployment({"image": "a", "ports": [{"containerPort": 80}]}), "me")
    ports = [
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": 80, "protocol": "TCP", "name": "web"},
    ]
    (main,) = containers_of(put(client, WEB, with_containers({"name": "main", "ports": ports}), "you"))
    assert [(p["protocol"], p.get("name")) for p in main["ports"]] == [("UDP", None), ("TCP", "web")]


def test_sets_are_united(client: ApiClient) -> None:
    def held(*names: str) -> Json:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"finalizers": list(names)}}

    put(client, f"{MAPS}/a", held("x.dev/a", "x.dev/b"), "me")
    both = put(client, f"{MAPS}/a", held("x.dev/c", "x.dev/b"), "you")
    assert sorted(both["metadata"]["finalizers"]) == ["x.dev/a", "x.dev/b", "x.dev/c"]
    assert owners(both)["you", "Apply"] == {
        "f:metadata": {"f:finalizers": {'v:"x.dev/b"': {}, 'v:"x.dev/c"': {}}}
    }
    left = put(client, f"{MAPS}/a", held("x.dev/c"), "you")
    assert sorted(left["metadata"]["finalizers"]) == ["x.dev/a", "x.dev/b", "x.dev/c"]
    assert sorted(put(client, f"{MAPS}/a", held("x.dev/a"), "me")["metadata"]["finalizers"]) == [
        "x.dev/a",
        "x.dev/c",
    ]


def test_some_things_have_one_owner_altogether(client: ApiClient) -> None:
    put(client, WEB, deployment({"image": "a", "command": ["x"]}), "me")
    for wanted, field in (
        (with_containers({"name": "main", "command": ["y"]}), 'containers[name="main"].command'),
        (part(selector={"matchLabels": {"app": "web", "b": "1"}}), ".spec.selector"),
    ):
        status, _, sentence = refused(client, WEB, wanted, "you")
        assert (status, field in sentence) == (409, True)


# --- other writers ---------------------------------------------------------------------------------


def test_an_update_takes_ownership(client: ApiClient) -> None:
    put(client, WEB, deployment(replicas=3), "me")
    scaled = client.patch(WEB, {"spec": {"replicas": 4}}, fieldManager="scaler")
    assert owners(scaled)["scaler", "Update"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owners(scaled)["me", "Apply"]["f:spec"]
    status, _, sentence = refused(client, WEB, deployment(replicas=3), "me")
    assert (status, 'conflict with "scaler" using apps/v1 at ' in sentence) == (409, True)
    client.patch(f"{WEB}/scale", {"spec": {"replicas": 6}}, fieldManager="hand")
    assert (
        'conflict with "hand" with subresource "scale"'
        in refused(client, WEB, deployment(replicas=3), "me")[2]
    )


def test_a_create_with_a_field_manager_owns_its_fields(client: ApiClient) -> None:
    client.post(MAPS, config_map("a", x="1"), fieldManager="kubectl-create")
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "2"}}
    assert 'conflict with "kubectl-create" using v1 at' in refused(client, f"{MAPS}/a", wanted, "me")[2]


def test_writes_without_a_manager_are_not_tracked_before_the_first_apply(client: ApiClient) -> None:
    client.post(MAPS, config_map("a", x="1"))
    plain = client.patch(f"{MAPS}/a", {"data": {"y": "1"}})
    assert "managedFields" not in plain["metadata"]
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "2"}}
    assert 'conflict with "before-first-apply" using v1 at' in refused(client, f"{MAPS}/a", wanted, "me")[2]
    put(client, f"{MAPS}/a", wanted, "me", force="true")
    counted = client.patch(f"{MAPS}/a", {"data": {"x": "3", "y": None}})
    assert owners(counted) == {("unknown", "Update"): {"f:data": {"f:x": {}}}}


def test_what_the_cluster_itself_writes_has_no_owner_and_stays(client: ApiClient) -> None:
    wanted = labelled(tier="web") | {"spec": deployment()["spec"]}
    put(client, WEB, wanted, "me")
    (key,) = (item.key for item in client.store.list(("deployments.apps",)).items)

    def noted(body: Json) -> Json:
        body["metadata"]["labels"]["noted"] = "1"
        return body

    client.store.patch(key, noted, Part.MAIN)
    assert put(client, WEB, deployment(), "me")["metadata"]["labels"] == {"noted": "1"}


def test_status_and_all_the_rest_are_apart(client: ApiClient) -> None:
    put(client, f"{PODS}/a", pod("a"), "me")
    status = {"apiVersion": "v1", "kind": "Pod", "status": {"message": "hello"}, "spec": {"priority": 3}}
    told = put(client, f"{PODS}/a/status", status, "kubelet")
    assert (told["status"]["message"], told["spec"].get("priority")) == ("hello", 0)
    assert owners(told)["kubelet", "Apply"] == {"f:status": {"f:message": {}}}
    assert (
        put(client, f"{PODS}/a", {**pod("a"), "status": {"message": "no"}}, "me")["status"]["message"]
        == "hello"
    )
    assert refused(client, f"{PODS}/none/status", status, "kubelet")[0] == 404


def test_a_client_may_set_managed_fields(client: ApiClient) -> None:
    """As kubectl does when a user migrates from client-side to server-side apply."""
    made = client.post(MAPS, config_map("a", x="1"), fieldManager="kubectl-client-side-apply")
    (entry,) = made["metadata"]["managedFields"]
    mine = [{**entry, "manager": "kubectl", "operation": "Apply"}]
    moved = client.patch(f"{MAPS}/a", {"metadata": {"managedFields": mine}})
    assert owners(moved) == {("kubectl", "Apply"): {"f:data": {"f:x": {}}}}
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"y": "2"}}
    assert put(client, f"{MAPS}/a", wanted, "kubectl")["data"] == {"y": "2"}
    nonsense = [{"manager": "x", "operation": "Dance"}]
    assert owners(client.patch(f"{MAPS}/a", {"metadata": {"managedFields": nonsense}})).keys() == {
        ("kubectl", "Apply")
    }
    assert owners(client.patch(f"{MAPS}/a", {"metadata": {"managedFields": []}})) == {}


def test_the_oldest_of_many_updates_are_merged(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"), fieldManager="first")
    for number in range(30):
        client.clock.now += 1
        client.patch(f"{MAPS}/a", {"data": {f"x{number}": "1"}}, fieldManager=f"w{number}")
    found = client.get(f"{MAPS}/a")
    assert len(owners(found)) <= 11
    assert len(owners(found)["ancient-changes", "Update"]["f:data"]) >= 20


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "query", "status", "named"),
    [
        (config_map("a"), {}, 422, "fieldManager: Required value"),
        (config_map("a"), {"fieldManager": "x" * 129}, 422, "fieldManager"),
        ({"data": {}}, {"fieldManager": "me"}, 400, "apiVersion must be set"),
        ({"apiVersion": "v1", "kind": "Secret"}, {"fieldManager": "me"}, 400, "kind"),
        ({**config_map("a"), "dato": 1}, {"fieldManager": "me"}, 400, 'unknown field "dato"'),
        ({**config_map("a"), "data": 1}, {"fieldManager": "me"}, 400, "data: expected an object"),
        ({**config_map("b")}, {"fieldManager": "me"}, 400, "does not match the name"),
        ({**config_map("a"), "metadata": 7}, {"fieldManager": "me"}, 400, "metadata"),
        ([], {"fieldManager": "me"}, 400, "must be an object"),
        (b"{", {"fieldManager": "me"}, 400, "the body"),
        (
            {**config_map("a"), "metadata": {"managedFields": [{"manager": "me"}]}},
            {"fieldManager": "me"},
            400,
            "metadata.managedFields must be nil",
        ),
        (
            {**config_map("a"), "metadata": {"resourceVersion": "7"}},
            {"fieldManager": "me"},
            409,
            "does not exist",
        ),
    ],
)
def test_what_cannot_be_applied(
    client: ApiClient, body: object, query: dict[str, str], status: int, named: str
) -> None:
    told = client.refused("PATCH", f"{MAPS}/a", body, content_type=APPLY, **query)
    assert (told[0], named in told[2]) == (status, True), told


def test_the_version_is_a_condition(client: ApiClient) -> None:
    made = put(client, f"{MAPS}/a", config_map("a", x="1"), "me")
    old = {"resourceVersion": made["metadata"]["resourceVersion"]}
    put(client, f"{MAPS}/a", {**config_map("a", x="2"), "metadata": old}, "me")
    status, _, sentence = refused(client, f"{MAPS}/a", {**config_map("a", x="3"), "metadata": old}, "me")
    assert (status, "the object has been modified" in sentence) == (409, True)


def test_an_object_without_managed_fields(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    client.patch(f"{MAPS}/a", {"data": None})
    assert put(client, f"{MAPS}/a", config_map("a", x="1"), "me")["data"] == {"x": "1"}


def test_force_is_for_apply_alone(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    told = client.refused("PATCH", f"{MAPS}/a", {}, content_type="application/merge-patch+json", force="true")
    assert (told[0], "force" in told[2]) == (422, True)


def test_to_make_something_takes_the_right_to_create(client: ApiClient) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}]
    rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    client.post(f"{rights}/roles", {"metadata": {"name": "patcher"}, "rules": rules})
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}
    reference = {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "patcher"}
    binding = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": reference}
    client.post(f"{rights}/rolebindings", binding)
    client.post(MAPS, config_map("there"))
    client.user = UserInfo("alice")
    put(client, f"{MAPS}/there", config_map("there", x="1"), "alice")
    told = refused(client, f"{MAPS}/new", config_map("new"), "alice")
    assert (told[0], 'cannot create resource "configmaps"' in told[2]) == (403, True)


def test_a_dry_run_leaves_nothing(client: ApiClient) -> None:
    assert put(client, f"{MAPS}/a", config_map("a", x="1"), "me", dryRun="All")["data"] == {"x": "1"}
    assert client.ask("GET", f"{MAPS}/a").status == 404


def test_yaml_is_read(client: ApiClient) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\ndata: {x: '1', y: null}\n"
    made = json.loads(client.ask("PATCH", f"{MAPS}/a", body, content_type=APPLY, fieldManager="me").body)
    assert (made["metadata"]["name"], made["data"]) == ("a", {"x": "1"})
