"""Deleting objects, one or many."""

import pytest

from reprieve.cluster.mini.stored_objects import Key
from tests.unit.cluster.mini.rest.api_client import (
    DEPLOYMENTS,
    MAPS,
    PODS,
    ApiClient,
    config_map,
    deployment,
    pod,
)

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def test_what_is_gone_is_gone(asker: ApiClient) -> None:
    made = asker.post(MAPS, config_map("a"))
    status = asker.delete(f"{MAPS}/a")
    assert (status["kind"], status["status"]) == ("Status", "Success")
    assert status["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert "code" not in status
    assert asker.refused("DELETE", f"{MAPS}/a")[:2] == (404, "NotFound")


def test_a_pod_that_runs_gets_its_grace(asker: ApiClient) -> None:
    asker.post(PODS, pod("a", nodeName="n1", terminationGracePeriodSeconds=40))
    meta = asker.delete(f"{PODS}/a")["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 40
    assert meta["deletionTimestamp"]
    shorter = asker.delete(f"{PODS}/a", {"kind": "DeleteOptions", "gracePeriodSeconds": 5})
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    assert asker.delete(f"{PODS}/a", gracePeriodSeconds="0")["metadata"]["name"] == "a"
    assert asker.names(PODS) == []


def test_a_pod_that_waits_goes_at_once(asker: ApiClient) -> None:
    asker.post(PODS, pod("a"))
    assert asker.delete(f"{PODS}/a")["kind"] == "Pod"
    assert asker.names(PODS) == []


def test_preconditions(asker: ApiClient) -> None:
    meta = asker.post(MAPS, config_map("a"))["metadata"]
    for wrong in ({"uid": "other"}, {"resourceVersion": "999"}):
        assert asker.refused("DELETE", f"{MAPS}/a", {"preconditions": wrong})[:2] == (409, "Conflict")
    right = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    asker.delete(f"{MAPS}/a", {"preconditions": right})


def test_finalizers_are_waited_for(asker: ApiClient) -> None:
    asker.post(MAPS, {**config_map("a"), "metadata": {"name": "a", "finalizers": ["example.com/mine"]}})
    assert asker.delete(f"{MAPS}/a")["metadata"]["deletionTimestamp"]
    assert asker.names(MAPS) == ["a"]
    asker.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
    assert asker.names(MAPS) == []


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [("Background", None), ("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
)
def test_what_becomes_of_those_it_owns(asker: ApiClient, policy: str, finalizers: list[str] | None) -> None:
    asker.post(DEPLOYMENTS, deployment("web"))
    asker.delete(f"{DEPLOYMENTS}/web", {"propagationPolicy": policy})
    left = asker.store.find(Key("deployments.apps", "default", "web"))
    found = asker.get(f"{DEPLOYMENTS}/web")["metadata"]["finalizers"] if left is not None else None
    assert found == finalizers


def test_the_pods_of_a_job_survive_it_unless_told_otherwise(asker: ApiClient) -> None:
    body = {
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": {**pod("j")["spec"], "restartPolicy": "Never"}}},
    }
    asker.post(JOBS, body)
    assert asker.delete(f"{JOBS}/j")["metadata"]["finalizers"] == ["orphan"]
    asker.post(JOBS, {**body, "metadata": {"name": "k"}})
    assert asker.delete(f"{JOBS}/k", propagationPolicy="Background")["status"] == "Success"


def test_the_older_word_for_orphans(asker: ApiClient) -> None:
    asker.post(DEPLOYMENTS, deployment("web"))
    assert asker.delete(f"{DEPLOYMENTS}/web", orphanDependents="true")["metadata"]["finalizers"] == ["orphan"]


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
def test_options_that_make_no_sense(asker: ApiClient, options: object, status: int) -> None:
    asker.post(MAPS, config_map("a"))
    assert asker.refused("DELETE", f"{MAPS}/a", options)[0] == status


def test_many_at_once(asker: ApiClient) -> None:
    for name in "abc":
        asker.post(
            MAPS, {**config_map(name), "metadata": {"name": name, "labels": {"keep": str(name == "b")}}}
        )
    gone = asker.delete(MAPS, labelSelector="keep=False")
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "c"]
    assert asker.names(MAPS) == ["b"]
    assert asker.refused("DELETE", MAPS, {"preconditions": {"uid": "other"}})[:2] == (409, "Conflict")


def test_a_namespace_goes_when_it_is_empty(asker: ApiClient) -> None:
    asker.post("/api/v1/namespaces", {"metadata": {"name": "team"}})
    left = asker.delete("/api/v1/namespaces/team")
    assert left["status"]["phase"] == "Terminating"
    path = "/api/v1/namespaces/team/configmaps"
    assert asker.refused("POST", path, config_map("a"))[:2] == (403, "Forbidden")


def test_some_namespaces_stay(asker: ApiClient) -> None:
    asker.post("/api/v1/namespaces", {"metadata": {"name": "default"}})
    assert asker.refused("DELETE", "/api/v1/namespaces/default")[:2] == (403, "Forbidden")
