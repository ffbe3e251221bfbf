"""Deleting one object or a collection."""

import json

import pytest
from tests.minicluster.rest.api_client import (
    DEPLOYMENTS,
    MAPS,
    PODS,
    ApiClient,
    config_map,
    deployment,
    pod,
)

from reprieve_minicluster.store import Key

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def test_what_is_gone_is_gone(client: ApiClient) -> None:
    made = client.post(MAPS, config_map("a"))
    status = client.delete(f"{MAPS}/a")
    assert (status["kind"], status["status"]) == ("Status", "Success")
    assert status["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert "code" not in status
    assert client.refused("DELETE", f"{MAPS}/a")[:2] == (404, "NotFound")


def test_a_pod_that_runs_gets_its_grace(client: ApiClient) -> None:
    client.post(PODS, pod("a", nodeName="n1", terminationGracePeriodSeconds=40))
    meta = client.delete(f"{PODS}/a")["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 40
    assert meta["deletionTimestamp"]
    shorter = client.delete(f"{PODS}/a", {"kind": "DeleteOptions", "gracePeriodSeconds": 5})
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    assert client.delete(f"{PODS}/a", gracePeriodSeconds="0")["metadata"]["name"] == "a"
    assert client.names(PODS) == []


def test_a_pod_that_waits_goes_at_once(client: ApiClient) -> None:
    client.post(PODS, pod("a"))
    assert client.delete(f"{PODS}/a")["kind"] == "Pod"
    assert client.names(PODS) == []


def test_preconditions(client: ApiClient) -> None:
    meta = client.post(MAPS, config_map("a"))["metadata"]
    for wrong in ({"uid": "other"}, {"resourceVersion": "999"}):
        assert client.refused("DELETE", f"{MAPS}/a", {"preconditions": wrong})[:2] == (409, "Conflict")
    right = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    client.delete(f"{MAPS}/a", {"preconditions": right})


def test_finalizers_are_waited_for(client: ApiClient) -> None:
    client.post(MAPS, {**config_map("a"), "metadata": {"name": "a", "finalizers": ["example.com/mine"]}})
    assert client.delete(f"{MAPS}/a")["metadata"]["deletionTimestamp"]
    assert client.names(MAPS) == ["a"]
    client.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
    assert client.names(MAPS) == []


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [("Background", None), ("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
)
def test_what_becomes_of_those_it_owns(client: ApiClient, policy: str, finalizers: list[str] | None) -> None:
    client.post(DEPLOYMENTS, deployment("web"))
    client.delete(f"{DEPLOYMENTS}/web", {"propagationPolicy": policy})
    left = client.store.find(Key("deployments.apps", "default", "web"))
    found = client.get(f"{DEPLOYMENTS}/web")["metadata"]["finalizers"] if left is not None else None
    assert found == finalizers


def test_the_pods_of_a_job_survive_it_unless_told_otherwise(client: ApiClient) -> None:
    body = {
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": {**pod("j")["spec"], "restartPolicy": "Never"}}},
    }
    client.post(JOBS, body)
    assert client.delete(f"{JOBS}/j")["metadata"]["finalizers"] == ["orphan"]
    client.post(JOBS, {**body, "metadata": {"name": "k"}})
    assert client.delete(f"{JOBS}/k", propagationPolicy="Background")["status"] == "Success"


def test_the_older_word_for_orphans(client: ApiClient) -> None:
    client.post(DEPLOYMENTS, deployment("web"))
    assert client.delete(f"{DEPLOYMENTS}/web", orphanDependents="true")["metadata"]["finalizers"] == [
        "orphan"
    ]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"propagationPolicy": "Slowly"}, 422),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422),
        ({"dryRun": ["Some"]}, 422),
        ({"gracePeriodSeconds": "long"}, 400),
        ({"gracePeriodSeconds": True}, 400),
        ({"preconditions": "none"}, 400),
        ({"preconditions": {"uid": 7}}, 400),
        ({"kind": "Pod"}, 400),
        ([], 400),
    ],
)
def test_options_that_make_no_sense(client: ApiClient, options: object, status: int) -> None:
    client.post(MAPS, config_map("a"))
    assert client.refused("DELETE", f"{MAPS}/a", options)[0] == status


def test_many_at_once(client: ApiClient) -> None:
    for name in "abc":
        client.post(
            MAPS, {**config_map(name), "metadata": {"name": name, "labels": {"keep": str(name == "b")}}}
        )
    gone = client.delete(MAPS, labelSelector="keep=False")
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "c"]
    assert client.names(MAPS) == ["b"]
    assert client.refused("DELETE", MAPS, {"preconditions": {"uid": "other"}})[:2] == (409, "Conflict")


def test_a_namespace_goes_when_it_is_empty(client: ApiClient) -> None:
    client.post("/api/v1/namespaces", {"metadata": {"name": "team"}})
    left = client.delete("/api/v1/namespaces/team")
    assert left["status"]["phase"] == "Terminating"
    path = "/api/v1/namespaces/team/configmaps"
    assert client.refused("POST", path, config_map("a"))[:2] == (403, "Forbidden")


def test_some_namespaces_stay(client: ApiClient) -> None:
    client.post("/api/v1/namespaces", {"metadata": {"name": "default"}})
    assert client.refused("DELETE", "/api/v1/namespaces/default")[:2] == (403, "Forbidden")


def test_another_namespace_controller_can_end_a_namespace(client: ApiClient) -> None:
    team = "/api/v1/namespaces/team"
    client.post("/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "team"}})
    finalized = {**client.get(team), "spec": {"finalizers": []}}
    client.put(f"{team}/finalize", finalized)
    client.delete(team)
    left = client.get(team)
    client.put(f"{team}/finalize", left)
    assert client.get(team)["metadata"]["finalizers"] == ["kubernetes"]
    client.put(f"{team}/finalize", {**client.get(team), "spec": {"finalizers": []}})
    assert client.refused("GET", team)[0] == 404


def test_clients_recognize_that_a_namespace_is_terminating(client: ApiClient) -> None:
    client.post("/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "team"}})
    client.delete("/api/v1/namespaces/team")
    made = client.ask("POST", "/api/v1/namespaces/team/configmaps", config_map("a"))
    (cause,) = json.loads(made.body)["details"]["causes"]
    assert (made.status, cause["reason"], cause["field"]) == (
        403,
        "NamespaceTerminating",
        "metadata.namespace",
    )
