"""Getting and listing objects."""

import json

import pytest
from tests.minicluster.rest.api_client import MAPS, NODES, PODS, ApiClient, config_map, node, pod

from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve_minicluster.rest.http_server import ApiServer


def test_an_object_is_got_as_it_was_stored(client: ApiClient) -> None:
    made = client.post(MAPS, config_map("a", colour="red"))
    assert client.get(f"{MAPS}/a") == made
    assert made["data"] == {"colour": "red"}
    assert made["metadata"]["namespace"] == "default"
    assert made["metadata"]["uid"]


def test_what_is_not_there(client: ApiClient) -> None:
    assert client.refused("GET", f"{MAPS}/a") == (404, "NotFound", 'configmaps "a" not found')
    details = json.loads(client.ask("GET", "/apis/batch/v1/namespaces/default/jobs/j").body)["details"]
    assert details == {"name": "j", "group": "batch", "kind": "jobs"}
    nowhere = json.loads(client.ask("GET", f"{PODS}/a/nothing").body)
    assert nowhere["details"] == {}, "clients tell by it what is not there"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/widgets",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/pods/a",
        f"{PODS}/a/nothing",
        f"{MAPS}/a/status",
        f"{PODS}/a/status/more",
        "/apis/apps/v1/namespaces/default/pods",
    ],
)
def test_a_path_that_leads_nowhere(client: ApiClient, path: str) -> None:
    assert client.refused("GET", path)[:2] == (404, "NotFound")


def test_a_method_that_is_not_served(client: ApiClient) -> None:
    assert client.refused("PUT", PODS)[:2] == (405, "MethodNotAllowed")
    assert client.refused("OPTIONS", f"{PODS}/a")[:2] == (405, "MethodNotAllowed")


def test_lists_are_of_one_namespace_or_of_all_in_order(client: ApiClient) -> None:
    other = "/api/v1/namespaces/kube-system/configmaps"
    for path, name in ((other, "a"), (MAPS, "c"), (MAPS, "b")):
        client.post(path, config_map(name))
    assert client.names(MAPS) == ["b", "c"]
    assert client.names("/api/v1/configmaps") == ["b", "c", "a"]
    listed = client.get(MAPS)
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert listed["metadata"]["resourceVersion"] == str(client.store.version)


def test_a_namespace_that_does_not_exist_is_empty(client: ApiClient) -> None:
    assert client.names("/api/v1/namespaces/nowhere/pods") == []


# --- in portions -----------------------------------------------------------------------------------


def test_a_list_in_portions_is_of_one_moment(client: ApiClient) -> None:
    for name in "abcde":
        client.post(MAPS, config_map(name))
    first = client.get(MAPS, limit="2")
    assert first["metadata"]["remainingItemCount"] == 3
    client.delete(f"{MAPS}/d")
    client.post(MAPS, config_map("c0"))
    second = client.get(MAPS, limit="2", **{"continue": first["metadata"]["continue"]})
    third = client.get(MAPS, limit="2", **{"continue": second["metadata"]["continue"]})
    pages = [[item["metadata"]["name"] for item in page["items"]] for page in (first, second, third)]
    assert pages == [["a", "b"], ["c", "d"], ["e"]]
    assert len({page["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1
    assert "continue" not in third["metadata"]


def test_portions_count_what_is_selected(client: ApiClient) -> None:
    for name in "abcd":
        client.post(
            MAPS, {**config_map(name), "metadata": {"name": name, "labels": {"half": str(name > "b")}}}
        )
    page = client.get(MAPS, limit="1", labelSelector="half=True")
    assert [item["metadata"]["name"] for item in page["items"]] == ["c"]
    assert "remainingItemCount" not in page["metadata"]
    rest = client.get(MAPS, labelSelector="half=True", **{"continue": page["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["d"]


@pytest.mark.parametrize("token", ["x", "e30=", "eyJ2ZXJzaW9uIjoiYSJ9", "ÿ"])
def test_a_continue_token_that_was_not_issued(client: ApiClient, token: str) -> None:
    assert client.refused("GET", MAPS, **{"continue": token})[:2] == (400, "BadRequest")


# --- versions --------------------------------------------------------------------------------------


def test_an_expired_list_continues_at_the_newest_version() -> None:
    client = ApiClient(kept_changes=3)
    for name in "acd":
        client.post(MAPS, config_map(name))
    token = client.get(MAPS, limit="1")["metadata"]["continue"]
    for name in "befghijk":
        client.post(MAPS, config_map(name))
    client.front = ApiServer(
        client.store, client.clock, ALL_FEATURES
    )  # nothing is remembered of the first portion
    answer = client.ask("GET", MAPS, limit="3", **{"continue": token})
    status = json.loads(answer.body)
    assert (answer.status, status["reason"]) == (410, "Expired")
    rest = client.get(MAPS, limit="3", **{"continue": status["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c", "d"]
    assert rest["metadata"]["resourceVersion"] == str(client.store.version)


def test_a_token_tells_the_version(client: ApiClient) -> None:
    for name in "ab":
        client.post(MAPS, config_map(name))
    token = client.get(MAPS, limit="1")["metadata"]["continue"]
    assert client.refused("GET", MAPS, resourceVersion="1", **{"continue": token})[0] == 400
    match = {"resourceVersion": "1", "resourceVersionMatch": "Exact", "continue": token}
    assert client.refused("GET", MAPS, **match)[0] == 422


def test_a_list_of_an_earlier_moment(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    then = str(client.store.version)
    client.post(MAPS, config_map("b"))
    assert client.names(MAPS, resourceVersion=then, resourceVersionMatch="Exact") == ["a"]
    assert client.names(MAPS, resourceVersion=then, resourceVersionMatch="NotOlderThan") == ["a", "b"]
    assert client.names(MAPS, resourceVersion=then) == ["a", "b"]
    assert client.names(MAPS, resourceVersion="0") == ["a", "b"]


def test_a_version_of_the_future(client: ApiClient) -> None:
    answer = client.ask("GET", MAPS, resourceVersion="99")
    assert answer.status == 504
    assert answer.headers["Retry-After"] == "1"
    assert json.loads(answer.body)["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"resourceVersion": "x"}, 400),
        ({"resourceVersion": "-1"}, 400),
        ({"resourceVersion": "9" * 30}, 400),
        ({"limit": "few"}, 400),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "Roughly", "resourceVersion": "1"}, 422),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422),
        ({"sendInitialEvents": "true"}, 422),
        ({"timeoutSeconds": "long"}, 400),
        ({"timeout": "invalid"}, 400),
        ({"timeout": "3"}, 400),
        ({"watch": "perhaps"}, 400),
    ],
)
def test_parameters_that_make_no_sense(client: ApiClient, query: dict[str, str], status: int) -> None:
    assert client.refused("GET", MAPS, **query)[0] == status


# --- selecting -------------------------------------------------------------------------------------


def test_pods_by_field(client: ApiClient) -> None:
    client.post(PODS, pod("here", nodeName="n1"))
    client.post(PODS, pod("there", nodeName="n2", schedulerName="other"))
    client.post(PODS, pod("nowhere"))
    chosen = {
        "spec.nodeName=n1": ["here"],
        "spec.nodeName!=n1": ["nowhere", "there"],
        "spec.nodeName=": ["nowhere"],
        "metadata.name=there": ["there"],
        "metadata.name==there,metadata.namespace=default": ["there"],
        "spec.schedulerName=other,status.phase=Pending": ["there"],
        "status.phase!=Pending": [],
        "spec.hostNetwork=true": [],
        "spec.hostNetwork=false": ["here", "nowhere", "there"],
    }
    for selector, names in chosen.items():
        assert client.names(PODS, fieldSelector=selector) == names, selector


def test_events_by_what_they_are_about(client: ApiClient) -> None:
    events = "/api/v1/namespaces/default/events"
    for name in ("a", "b"):
        about = {"kind": "Pod", "namespace": "default", "name": name, "uid": f"uid-{name}"}
        client.post(events, {"metadata": {"name": f"{name}.1"}, "involvedObject": about, "reason": "Why"})
    selector = "involvedObject.name=a,involvedObject.namespace=default,involvedObject.uid=uid-a"
    assert client.names(events, fieldSelector=selector) == ["a.1"]
    newer = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert client.names(newer, fieldSelector="regarding.name=b") == ["b.1"]


def test_services_and_events_by_field(client: ApiClient) -> None:
    services, events = "/api/v1/namespaces/default/services", "/api/v1/namespaces/default/events"
    for name, kind in (("a", "ClusterIP"), ("b", "NodePort")):
        body = {"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}]}}
        client.post(services, body)
    assert client.names(services, fieldSelector="spec.type=NodePort") == ["b"]
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    client.post(
        events, {"metadata": {"name": "old"}, "involvedObject": about, "source": {"component": "kubelet"}}
    )
    client.post(
        events, {"metadata": {"name": "new"}, "involvedObject": about, "reportingComponent": "scheduler"}
    )
    assert client.names(events, fieldSelector="source=kubelet") == ["old"]
    assert client.names(events, fieldSelector="source=scheduler") == ["new"]


def test_the_older_name_of_the_node_of_a_pod(client: ApiClient) -> None:
    client.post(PODS, pod("a", nodeName="n1"))
    client.post(PODS, pod("b"))
    assert client.names(PODS, fieldSelector="spec.host=n1") == ["a"]


def test_a_field_that_is_not_selectable(client: ApiClient) -> None:
    status, reason, sentence = client.refused("GET", NODES, fieldSelector="spec.podCIDR=10.0.0.0")
    assert (status, reason) == (400, "BadRequest")
    assert "spec.podCIDR" in sentence
    assert "spec.unschedulable" in sentence


def test_nodes_by_schedulability(client: ApiClient) -> None:
    client.post(NODES, {**node("a"), "spec": {"unschedulable": True}})
    client.post(NODES, node("b"))
    assert client.names(NODES, fieldSelector="spec.unschedulable=true") == ["a"]
    assert client.names(NODES, fieldSelector="spec.unschedulable=false") == ["b"]
