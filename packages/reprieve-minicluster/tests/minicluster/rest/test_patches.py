"""Patches of objects, as kubectl sends them."""

import pytest
from tests.minicluster.rest.api_client import (
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
    MERGE,
    NODES,
    PODS,
    STRATEGIC,
    ApiClient,
    config_map,
    deployment,
    node,
    pod,
)


@pytest.mark.parametrize(
    ("patch", "content_type"),
    [
        ({"data": {"y": "2", "x": None}}, MERGE),
        ({"data": {"y": "2", "x": None}}, STRATEGIC),
        ([{"op": "remove", "path": "/data/x"}, {"op": "add", "path": "/data/y", "value": "2"}], JSON_PATCH),
    ],
)
def test_three_ways_to_say_the_same(client: ApiClient, patch: object, content_type: str) -> None:
    client.post(MAPS, config_map("a", x="1"))
    assert client.patch(f"{MAPS}/a", patch, content_type)["data"] == {"y": "2"}


def test_a_patch_that_changes_nothing_writes_nothing(client: ApiClient) -> None:
    made = client.post(MAPS, config_map("a", x="1"))
    assert client.patch(f"{MAPS}/a", {"data": {"x": "1"}}) == made


def test_a_patch_for_another_uid_is_invalid(client: ApiClient) -> None:
    made = client.post(MAPS, config_map("a"))
    client.patch(f"{MAPS}/a", {"metadata": {"uid": made["metadata"]["uid"]}, "data": {"x": "1"}})
    other = {"metadata": {"uid": "other"}, "data": {"x": "2"}}
    assert client.refused("PATCH", f"{MAPS}/a", other, content_type=MERGE)[:2] == (422, "Invalid")


def test_a_patch_may_name_the_version_that_it_is_for(client: ApiClient) -> None:
    client.post(MAPS, config_map("a"))
    old = {"metadata": {"resourceVersion": "999"}, "data": {"x": "1"}}
    assert client.refused("PATCH", f"{MAPS}/a", old, content_type=MERGE)[:2] == (409, "Conflict")


@pytest.mark.parametrize(
    ("patch", "content_type", "status"),
    [
        (b"{", MERGE, 400),
        ([], MERGE, 400),
        ({}, JSON_PATCH, 400),
        ([{"op": "dance", "path": "/data"}], JSON_PATCH, 400),
        ([{"op": "remove", "path": "/data/none"}], JSON_PATCH, 422),
        ([{"op": "test", "path": "/data/x", "value": "2"}], JSON_PATCH, 422),
        ([{"op": "replace", "path": "", "value": 7}], JSON_PATCH, 400),
        ({"kind": "Secret"}, MERGE, 400),
        ({"metadata": {"name": "b"}}, MERGE, 400),
        ({"metadata": None}, MERGE, 422),
        ({"metadata": 7}, MERGE, 422),
        ({"data": {"x": 7}}, MERGE, 422),
        ({"metadata": {"$patch": "dance"}}, STRATEGIC, 400),
        ({"data": {}}, "application/json", 415),
        ({"data": {}}, "application/apply-patch+yaml", 400),
    ],
)
def test_a_patch_that_cannot_be(client: ApiClient, patch: object, content_type: str, status: int) -> None:
    client.post(MAPS, config_map("a", x="1"))
    assert client.refused("PATCH", f"{MAPS}/a", patch, content_type=content_type)[0] == status


def test_a_patch_of_what_is_not_there(client: ApiClient) -> None:
    assert client.refused("PATCH", f"{MAPS}/a", {}, content_type=MERGE)[:2] == (404, "NotFound")


def test_a_container_is_found_by_its_name(client: ApiClient) -> None:
    client.post(DEPLOYMENTS, deployment("web"))
    change = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "example/app:2"}]}}}}
    spec = client.patch(f"{DEPLOYMENTS}/web", change, STRATEGIC)["spec"]["template"]["spec"]
    assert [c["image"] for c in spec["containers"]] == ["example/app:2"]
    assert spec["containers"][0]["imagePullPolicy"]
    assert client.patch(f"{DEPLOYMENTS}/web", change, MERGE)["spec"]["template"]["spec"] == spec


def test_a_node_is_cordoned_and_tainted(client: ApiClient) -> None:
    client.post(NODES, node("n"))
    client.patch(f"{NODES}/n", {"spec": {"unschedulable": True}}, STRATEGIC)
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]
    client.patch(f"{NODES}/n", {"spec": {"taints": taints}}, STRATEGIC)
    spec = client.patch(f"{NODES}/n", {"spec": {"taints": taints[:1]}}, STRATEGIC)["spec"]
    assert spec == {"unschedulable": True, "taints": taints[:1]}


def test_a_condition_is_merged_into_a_status(client: ApiClient) -> None:
    client.post(PODS, pod("a"))
    ready, warm = {"type": "Ready", "status": "False"}, {"type": "example.com/warm", "status": "True"}
    client.patch(f"{PODS}/a/status", {"status": {"conditions": [ready, warm]}}, STRATEGIC)
    better = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    conditions = client.patch(f"{PODS}/a/status", better, STRATEGIC)["status"]["conditions"]
    assert {c["type"]: c["status"] for c in conditions} == {"Ready": "True", "example.com/warm": "True"}


def test_a_pod_is_resized(client: ApiClient) -> None:
    client.post(PODS, pod("a"))
    grown = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    change = {"spec": {"containers": [grown]}}
    assert client.refused("PATCH", f"{PODS}/a", change, content_type=STRATEGIC)[0] == 422
    answer = client.ask("PATCH", f"{PODS}/a/resize", change, content_type=STRATEGIC)
    # A pod without any request stays one: its quality of service must not change.
    assert answer.status == 422
    client.post(
        PODS, pod("b", containers=[{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}])
    )
    resized = client.patch(f"{PODS}/b/resize", change, STRATEGIC)
    assert resized["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "2"
    assert resized["metadata"]["generation"] == 2
    assert client.get(f"{PODS}/b/resize") == resized
