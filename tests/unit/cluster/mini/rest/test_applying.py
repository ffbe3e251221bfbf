"""Server-side apply: what becomes of an object that several want to be so and so."""

import json
from typing import Any

import pytest

from reprieve.cluster.mini.rights.users import User
from reprieve.cluster.mini.store import Part
from reprieve.model.json import Json
from tests.unit.cluster.mini.rest.asking import DEPLOYMENTS, MAPS, PODS, Asker, config_map, pod, said

APPLY = "application/apply-patch+yaml"
WEB = f"{DEPLOYMENTS}/web"


def put(asker: Asker, path: str, body: Json, by: str, **more: str) -> Json:
    answer = asker.ask("PATCH", path, body, content_type=APPLY, fieldManager=by, **more)
    return said(answer, 201 if answer.status == 201 else 200)


def refused(asker: Asker, path: str, body: object, by: str, **more: str) -> tuple[int, str, str]:
    return asker.refused("PATCH", path, body, content_type=APPLY, fieldManager=by, **more)


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


def test_what_is_not_there_is_made(asker: Asker) -> None:
    answer = asker.ask("PATCH", WEB, deployment(replicas=3), content_type=APPLY, fieldManager="me")
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


def test_the_same_again_changes_nothing(asker: Asker) -> None:
    first = put(asker, WEB, deployment(replicas=3), "me")
    asker.clock.now += 60
    assert put(asker, WEB, deployment(replicas=3), "me") == first


def test_others_may_want_the_same_but_nothing_else(asker: Asker) -> None:
    put(asker, WEB, deployment(replicas=3), "me")
    put(asker, WEB, part(replicas=3), "you")
    answer = asker.ask("PATCH", WEB, part(replicas=5), content_type=APPLY, fieldManager="you")
    status = said(answer, 409)
    assert status["message"] == 'Apply failed with 1 conflict: conflict with "me": .spec.replicas'
    (cause,) = status["details"]["causes"]
    assert cause == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "me"',
        "field": ".spec.replicas",
    }


def test_several_conflicts_are_told_by_owner(asker: Asker) -> None:
    put(asker, WEB, deployment(replicas=3), "me")
    put(asker, WEB, part(minReadySeconds=3), "you")
    _, _, sentence = refused(asker, WEB, deployment({"image": "x"}, replicas=1, minReadySeconds=1), "they")
    assert sentence == (
        'Apply failed with 3 conflicts: conflicts with "me":\n- .spec.replicas\n'
        '- .spec.template.spec.containers[name="main"].image\nconflicts with "you":\n- .spec.minReadySeconds'
    )


def test_force_takes_it_over(asker: Asker) -> None:
    put(asker, WEB, deployment(replicas=3), "me")
    taken = put(asker, WEB, part(replicas=5), "you", force="true")
    assert taken["spec"]["replicas"] == 5
    assert "f:replicas" not in owners(taken)["me", "Apply"]["f:spec"]
    assert owners(taken)["you", "Apply"] == {"f:spec": {"f:replicas": {}}}
    assert refused(asker, WEB, deployment(replicas=3), "me")[0] == 409
    assert put(asker, WEB, deployment(), "me")["spec"]["replicas"] == 5


def test_what_is_no_longer_wanted_goes(asker: Asker) -> None:
    put(asker, WEB, deployment(replicas=3, minReadySeconds=7), "me")
    left = put(asker, WEB, deployment(), "me")
    assert left["spec"]["replicas"] == 1, "as if nobody had ever said it"
    assert not left["spec"].get("minReadySeconds")


def test_what_others_want_stays(asker: Asker) -> None:
    put(asker, WEB, deployment(replicas=3), "me")
    put(asker, WEB, part(replicas=3), "you")
    assert put(asker, WEB, deployment(), "me")["spec"]["replicas"] == 3


def test_what_was_filled_in_goes_with_what_it_belongs_to(asker: Asker) -> None:
    probe = {"httpGet": {"path": "/", "port": 80}}
    put(asker, WEB, deployment({"image": "a", "livenessProbe": probe}), "me")
    (main,) = put(asker, WEB, deployment({"image": "a"}), "me")["spec"]["template"]["spec"]["containers"]
    assert "livenessProbe" not in main


# --- lists -----------------------------------------------------------------------------------------


def with_containers(*containers: Json) -> Json:
    return part(template={"spec": {"containers": list(containers)}})


def containers_of(body: Json) -> list[Json]:
    found: list[Json] = body["spec"]["template"]["spec"]["containers"]
    return found


def test_things_with_names_are_merged(asker: Asker) -> None:
    put(asker, WEB, deployment(), "me")
    both = put(
        asker, WEB, with_containers({"name": "side", "image": "b"}, {"name": "main", "tty": True}), "you"
    )
    assert [(c["name"], c["image"], c.get("tty")) for c in containers_of(both)] == [
        ("side", "b", None),
        ("main", "example/app:1", True),
    ]
    alone = put(asker, WEB, with_containers({"name": "main"}), "you")
    assert [(c["name"], c.get("tty")) for c in containers_of(alone)] == [("main", None)]


def test_ports_are_told_apart_by_number_and_protocol(asker: Asker) -> None:
    put(asker, WEB, deployment({"image": "a", "ports": [{"containerPort": 80}]}), "me")
    ports = [
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": 80, "protocol": "TCP", "name": "web"},
    ]
    (main,) = containers_of(put(asker, WEB, with_containers({"name": "main", "ports": ports}), "you"))
    assert [(p["protocol"], p.get("name")) for p in main["ports"]] == [("UDP", None), ("TCP", "web")]


def test_sets_are_united(asker: Asker) -> None:
    def held(*names: str) -> Json:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"finalizers": list(names)}}

    put(asker, f"{MAPS}/a", held("x.dev/a", "x.dev/b"), "me")
    both = put(asker, f"{MAPS}/a", held("x.dev/c", "x.dev/b"), "you")
    assert sorted(both["metadata"]["finalizers"]) == ["x.dev/a", "x.dev/b", "x.dev/c"]
    assert owners(both)["you", "Apply"] == {
        "f:metadata": {"f:finalizers": {'v:"x.dev/b"': {}, 'v:"x.dev/c"': {}}}
    }
    left = put(asker, f"{MAPS}/a", held("x.dev/c"), "you")
    assert sorted(left["metadata"]["finalizers"]) == ["x.dev/a", "x.dev/b", "x.dev/c"]
    assert sorted(put(asker, f"{MAPS}/a", held("x.dev/a"), "me")["metadata"]["finalizers"]) == [
        "x.dev/a",
        "x.dev/c",
    ]


def test_some_things_have_one_owner_altogether(asker: Asker) -> None:
    put(asker, WEB, deployment({"image": "a", "command": ["x"]}), "me")
    for wanted, field in (
        (with_containers({"name": "main", "command": ["y"]}), 'containers[name="main"].command'),
        (part(selector={"matchLabels": {"app": "web", "b": "1"}}), ".spec.selector"),
    ):
        status, _, sentence = refused(asker, WEB, wanted, "you")
        assert (status, field in sentence) == (409, True)


# --- others who write ------------------------------------------------------------------------------


def test_who_updates_takes_over(asker: Asker) -> None:
    put(asker, WEB, deployment(replicas=3), "me")
    scaled = asker.patch(WEB, {"spec": {"replicas": 4}}, fieldManager="scaler")
    assert owners(scaled)["scaler", "Update"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owners(scaled)["me", "Apply"]["f:spec"]
    status, _, sentence = refused(asker, WEB, deployment(replicas=3), "me")
    assert (status, 'conflict with "scaler" using apps/v1 at ' in sentence) == (409, True)
    asker.patch(f"{WEB}/scale", {"spec": {"replicas": 6}}, fieldManager="hand")
    assert (
        'conflict with "hand" with subresource "scale"'
        in refused(asker, WEB, deployment(replicas=3), "me")[2]
    )


def test_who_created_it_with_a_name_owns_it(asker: Asker) -> None:
    asker.post(MAPS, config_map("a", x="1"), fieldManager="kubectl-create")
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "2"}}
    assert 'conflict with "kubectl-create" using v1 at' in refused(asker, f"{MAPS}/a", wanted, "me")[2]


def test_plain_writes_are_not_counted_before_somebody_applies(asker: Asker) -> None:
    asker.post(MAPS, config_map("a", x="1"))
    plain = asker.patch(f"{MAPS}/a", {"data": {"y": "1"}})
    assert "managedFields" not in plain["metadata"]
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "2"}}
    assert 'conflict with "before-first-apply" using v1 at' in refused(asker, f"{MAPS}/a", wanted, "me")[2]
    put(asker, f"{MAPS}/a", wanted, "me", force="true")
    counted = asker.patch(f"{MAPS}/a", {"data": {"x": "3", "y": None}})
    assert owners(counted) == {("unknown", "Update"): {"f:data": {"f:x": {}}}}


def test_what_the_cluster_itself_writes_has_no_owner_and_stays(asker: Asker) -> None:
    wanted = labelled(tier="web") | {"spec": deployment()["spec"]}
    put(asker, WEB, wanted, "me")
    (key,) = (item.key for item in asker.store.list(("deployments.apps",)).items)

    def noted(body: Json) -> Json:
        body["metadata"]["labels"]["noted"] = "1"
        return body

    asker.store.patch(key, noted, Part.MAIN)
    assert put(asker, WEB, deployment(), "me")["metadata"]["labels"] == {"noted": "1"}


def test_status_and_all_the_rest_are_apart(asker: Asker) -> None:
    put(asker, f"{PODS}/a", pod("a"), "me")
    status = {"apiVersion": "v1", "kind": "Pod", "status": {"message": "hello"}, "spec": {"priority": 3}}
    told = put(asker, f"{PODS}/a/status", status, "kubelet")
    assert (told["status"]["message"], told["spec"].get("priority")) == ("hello", 0)
    assert owners(told)["kubelet", "Apply"] == {"f:status": {"f:message": {}}}
    assert (
        put(asker, f"{PODS}/a", {**pod("a"), "status": {"message": "no"}}, "me")["status"]["message"]
        == "hello"
    )
    assert refused(asker, f"{PODS}/none/status", status, "kubelet")[0] == 404


def test_who_owns_what_can_be_written_down(asker: Asker) -> None:
    """As kubectl does when somebody who used to apply on his side goes over to the server's."""
    made = asker.post(MAPS, config_map("a", x="1"), fieldManager="kubectl-client-side-apply")
    (entry,) = made["metadata"]["managedFields"]
    mine = [{**entry, "manager": "kubectl", "operation": "Apply"}]
    moved = asker.patch(f"{MAPS}/a", {"metadata": {"managedFields": mine}})
    assert owners(moved) == {("kubectl", "Apply"): {"f:data": {"f:x": {}}}}
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"y": "2"}}
    assert put(asker, f"{MAPS}/a", wanted, "kubectl")["data"] == {"y": "2"}
    nonsense = [{"manager": "x", "operation": "Dance"}]
    assert owners(asker.patch(f"{MAPS}/a", {"metadata": {"managedFields": nonsense}})).keys() == {
        ("kubectl", "Apply")
    }
    assert owners(asker.patch(f"{MAPS}/a", {"metadata": {"managedFields": []}})) == {}


def test_very_many_who_update_are_summed_up(asker: Asker) -> None:
    asker.post(MAPS, config_map("a"), fieldManager="first")
    for number in range(30):
        asker.clock.now += 1
        asker.patch(f"{MAPS}/a", {"data": {f"x{number}": "1"}}, fieldManager=f"w{number}")
    found = asker.get(f"{MAPS}/a")
    assert len(owners(found)) <= 11
    assert len(owners(found)["ancient-changes", "Update"]["f:data"]) >= 20


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "query", "status", "named"),
    [
        (config_map("a"), {}, 422, "fieldManager: Required value"),
        (config_map("a"), {"fieldManager": "x" * 129}, 422, "fieldManager"),
        ({"data": {}}, {"fieldManager": "me"}, 400, "apiVersion is missing"),
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
        ({**config_map("a"), "metadata": {"resourceVersion": "7"}}, {"fieldManager": "me"}, 409, "not there"),
    ],
)
def test_what_cannot_be_applied(
    asker: Asker, body: object, query: dict[str, str], status: int, named: str
) -> None:
    told = asker.refused("PATCH", f"{MAPS}/a", body, content_type=APPLY, **query)
    assert (told[0], named in told[2]) == (status, True), told


def test_the_version_is_a_condition(asker: Asker) -> None:
    made = put(asker, f"{MAPS}/a", config_map("a", x="1"), "me")
    old = {"resourceVersion": made["metadata"]["resourceVersion"]}
    put(asker, f"{MAPS}/a", {**config_map("a", x="2"), "metadata": old}, "me")
    status, _, sentence = refused(asker, f"{MAPS}/a", {**config_map("a", x="3"), "metadata": old}, "me")
    assert (status, "it was changed meanwhile" in sentence) == (409, True)


def test_an_object_of_which_nobody_owned_anything(asker: Asker) -> None:
    asker.post(MAPS, config_map("a"))
    asker.patch(f"{MAPS}/a", {"data": None})
    assert put(asker, f"{MAPS}/a", config_map("a", x="1"), "me")["data"] == {"x": "1"}


def test_force_is_for_those_who_apply(asker: Asker) -> None:
    asker.post(MAPS, config_map("a"))
    told = asker.refused("PATCH", f"{MAPS}/a", {}, content_type="application/merge-patch+json", force="true")
    assert (told[0], "force" in told[2]) == (422, True)


def test_to_make_something_takes_the_right_to_create(asker: Asker) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}]
    rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    asker.post(f"{rights}/roles", {"metadata": {"name": "patcher"}, "rules": rules})
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}
    reference = {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "patcher"}
    binding = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": reference}
    asker.post(f"{rights}/rolebindings", binding)
    asker.post(MAPS, config_map("there"))
    asker.user = User("alice")
    put(asker, f"{MAPS}/there", config_map("there", x="1"), "alice")
    told = refused(asker, f"{MAPS}/new", config_map("new"), "alice")
    assert (told[0], 'cannot create resource "configmaps"' in told[2]) == (403, True)


def test_a_dry_run_leaves_nothing(asker: Asker) -> None:
    assert put(asker, f"{MAPS}/a", config_map("a", x="1"), "me", dryRun="All")["data"] == {"x": "1"}
    assert asker.ask("GET", f"{MAPS}/a").status == 404


def test_yaml_is_read(asker: Asker) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\ndata: {x: '1', y: null}\n"
    made = json.loads(asker.ask("PATCH", f"{MAPS}/a", body, content_type=APPLY, fieldManager="me").body)
    assert (made["metadata"]["name"], made["data"]) == ("a", {"x": "1"})
