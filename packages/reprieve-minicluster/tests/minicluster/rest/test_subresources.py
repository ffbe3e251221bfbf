"""Binding, eviction, scale, and subresources that need a real kubelet."""

import json
from typing import Any

import pytest
from tests.minicluster.rest.api_client import (
    BUDGETS,
    DEPLOYMENTS,
    MERGE,
    PODS,
    ApiClient,
    deployment,
    pod,
)

from reprieve.model.json import Json
from reprieve_minicluster.store import Key, Part


def binding(node: str, **meta: object) -> Json:
    return {"kind": "Binding", "metadata": meta, "target": {"kind": "Node", "name": node}}


def test_a_pod_is_bound_once(client: ApiClient) -> None:
    made = client.post(PODS, pod("a"))
    done = client.post(f"{PODS}/a/binding", binding("n1", name="a", annotations={"note": "x"}))
    assert done["status"] == "Success"
    bound = client.get(f"{PODS}/a")
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"note": "x"}
    assert bound["metadata"]["generation"] == made["metadata"]["generation"]
    assert [c["type"] for c in bound["status"]["conditions"]] == ["PodScheduled"]
    assert client.refused("POST", f"{PODS}/a/binding", binding("n1", name="a"))[:2] == (409, "Conflict")


def test_the_older_way_to_bind(client: ApiClient) -> None:
    client.post(PODS, pod("a"))
    client.post("/api/v1/namespaces/default/bindings", binding("n1", name="a"))
    assert client.get(f"{PODS}/a")["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (binding("n1", name="b"), 400),
        (binding("n1", name="a", namespace="other"), 400),
        (binding("n1", name="a", uid="other"), 409),
        (binding("n1", name="a", annotations={"x": 7}), 400),
        (binding("", name="a"), 422),
        ({"metadata": {"name": "a"}}, 422),
        ({"metadata": {"name": "a"}, "target": {"kind": "Pod", "name": "x"}}, 422),
        ({"kind": "Pod", "metadata": {"name": "a"}}, 400),
    ],
)
def test_a_binding_that_cannot_be(client: ApiClient, body: Json, status: int) -> None:
    client.post(PODS, pod("a"))
    assert client.refused("POST", f"{PODS}/a/binding", body)[0] == status


def test_nothing_is_bound_in_a_namespace_that_is_being_deleted(client: ApiClient) -> None:
    pods = "/api/v1/namespaces/team/pods"
    client.post("/api/v1/namespaces", {"metadata": {"name": "team"}})
    client.post(pods, pod("a"))
    client.delete("/api/v1/namespaces/team")
    status, reason, message = client.refused("POST", f"{pods}/a/binding", binding("n1", name="a"))
    assert (status, reason) == (403, "Forbidden")
    assert "namespace team because it is being terminated" in message


def test_a_gated_pod_is_not_bound(client: ApiClient) -> None:
    client.post(PODS, pod("a", schedulingGates=[{"name": "wait"}]))
    assert client.refused("POST", f"{PODS}/a/binding", binding("n1"))[:2] == (409, "Conflict")


# --- evicting --------------------------------------------------------------------------------------


def eviction(name: str, **options: object) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": options,
    }


def running(client: ApiClient, *names: str, ready: str = "True") -> None:
    for name in names:
        client.post(PODS, {**pod(name, nodeName="n1"), "metadata": {"name": name, "labels": {"app": "web"}}})
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
        client.patch(f"{PODS}/{name}/status", {"status": status})


def guarded(client: ApiClient, allowed: int, **more: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}, **more}
    client.post(BUDGETS, {"metadata": {"name": "web"}, "spec": spec})
    counted = {
        "disruptionsAllowed": allowed,
        "currentHealthy": 2,
        "desiredHealthy": 2,
        "observedGeneration": 1,
    }
    client.patch(f"{BUDGETS}/web/status", {"status": {**counted, "expectedPods": 2}})


def test_an_eviction_that_the_budget_grants(client: ApiClient) -> None:
    running(client, "a", "b")
    guarded(client, allowed=1)
    assert client.post(f"{PODS}/a/eviction", eviction("a", gracePeriodSeconds=7))["status"] == "Success"
    evicted = client.get(f"{PODS}/a")
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 7
    conditions = {c["type"]: c.get("reason") for c in evicted["status"]["conditions"]}
    assert conditions["DisruptionTarget"] == "EvictionByEvictionAPI"
    status = client.get(f"{BUDGETS}/web")["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["a"]


def test_an_eviction_that_the_budget_forbids(client: ApiClient) -> None:
    running(client, "a", "b")
    guarded(client, allowed=0)
    before = client.store.version
    answer = client.ask("POST", f"{PODS}/a/eviction", eviction("a"))
    assert (answer.status, client.store.version) == (429, before)
    assert "Retry-After" not in answer.headers, "clients that are told when to ask again do not give up"
    status = json.loads(answer.body)
    assert status["reason"] == "TooManyRequests"
    (cause,) = status["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert "needs 2 healthy pods and has 2" in cause["message"]


def test_a_budget_that_was_not_counted_yet(client: ApiClient) -> None:
    running(client, "a")
    guarded(client, allowed=1)
    client.patch(f"{BUDGETS}/web", {"spec": {"minAvailable": 2}})
    answer = client.ask("POST", f"{PODS}/a/eviction", eviction("a"))
    assert (answer.status, answer.headers["Retry-After"]) == (429, "10")
    assert json.loads(answer.body)["details"]["retryAfterSeconds"] == 10


def test_two_budgets_for_one_pod(client: ApiClient) -> None:
    running(client, "a")
    guarded(client, allowed=1)
    client.post(BUDGETS, {"metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {}}})
    assert client.refused("POST", f"{PODS}/a/eviction", eviction("a"))[:2] == (409, "Conflict")


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_what_does_no_work_needs_no_permission(client: ApiClient, phase: str) -> None:
    running(client, "a")
    guarded(client, allowed=0)
    client.store.patch(
        Key("pods", "default", "a"), lambda body: {**body, "status": {"phase": phase}}, Part.STATUS
    )
    client.post(f"{PODS}/a/eviction", eviction("a"))
    assert client.get(f"{BUDGETS}/web")["status"].get("disruptedPods") is None


def test_a_pod_that_is_not_ready_may_go_where_enough_are(client: ApiClient) -> None:
    running(client, "a", ready="False")
    guarded(client, allowed=0)
    client.post(f"{PODS}/a/eviction", eviction("a"))
    assert client.get(f"{PODS}/a")["metadata"]["deletionTimestamp"]


def test_a_pod_that_is_not_ready_stays_where_too_few_are(client: ApiClient) -> None:
    running(client, "a", ready="False")
    guarded(client, allowed=0)
    client.patch(f"{BUDGETS}/web/status", {"status": {"currentHealthy": 1}})
    assert client.refused("POST", f"{PODS}/a/eviction", eviction("a"))[0] == 429
    client.patch(f"{BUDGETS}/web", {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}})
    client.post(f"{PODS}/a/eviction", eviction("a"))


def test_an_eviction_that_is_only_tried(client: ApiClient) -> None:
    running(client, "a")
    guarded(client, allowed=1)
    before = client.store.version
    client.post(f"{PODS}/a/eviction", eviction("a", dryRun=["All"]))
    client.post(f"{PODS}/a/eviction", eviction("a"), dryRun="All")
    assert client.store.version == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (eviction("b"), 400),
        ({**eviction("a"), "kind": "Pod"}, 400),
        ({**eviction("a"), "apiVersion": "v1"}, 400),
        ({**eviction("a"), "deleteOptions": 7}, 400),
        (eviction("a", preconditions={"uid": "other"}), 409),
    ],
)
def test_an_eviction_that_cannot_be(client: ApiClient, body: Json, status: int) -> None:
    running(client, "a")
    assert client.refused("POST", f"{PODS}/a/eviction", body)[0] == status


def test_kubectl_sends_evictions_as_protobuf(client: ApiClient) -> None:
    running(client, "a")
    type_meta = b"\x0a\x09policy/v1\x12\x08Eviction"
    metadata = b"\x0a\x01a\x1a\x07default"
    options = b"\x08\x03"
    raw = b"\x0a" + bytes([len(metadata)]) + metadata + b"\x12" + bytes([len(options)]) + options
    body = b"k8s\0\x0a" + bytes([len(type_meta)]) + type_meta + b"\x12" + bytes([len(raw)]) + raw
    client.post(f"{PODS}/a/eviction", body, content_type="application/vnd.kubernetes.protobuf")
    assert client.get(f"{PODS}/a")["metadata"]["deletionGracePeriodSeconds"] == 3


def test_protobuf_of_other_kinds_is_refused_with_advice(client: ApiClient) -> None:
    body = b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07Gateway"
    status, reason, sentence = client.refused(
        "POST", PODS, body, content_type="application/vnd.kubernetes.protobuf"
    )
    assert (status, reason) == (415, "UnsupportedMediaType")
    assert "Gateway" in sentence
    assert "-o yaml | kubectl create -f -" in sentence


# --- scaling ---------------------------------------------------------------------------------------


def test_a_scale_is_read_and_written(client: ApiClient) -> None:
    client.post(DEPLOYMENTS, deployment("web", replicas=2))
    path = f"{DEPLOYMENTS}/web/scale"
    scale = client.get(path)
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == (
        "Scale",
        {"replicas": 2},
        "app=web",
    )
    assert client.patch(path, {"spec": {"replicas": 5}})["spec"] == {"replicas": 5}
    assert client.put(path, {**client.get(path), "spec": {"replicas": 3}})["spec"] == {"replicas": 3}
    found = client.get(f"{DEPLOYMENTS}/web")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (3, 3)


def test_a_scale_of_another(client: ApiClient) -> None:
    client.post(DEPLOYMENTS, deployment("web"))
    other = {"metadata": {"name": "other"}, "spec": {"replicas": 2}}
    status, _, told = client.refused("PUT", f"{DEPLOYMENTS}/web/scale", other)
    assert (status, "does not match the name on the URL" in told) == (400, True)


def test_a_scale_that_cannot_be(client: ApiClient) -> None:
    client.post(DEPLOYMENTS, deployment("web"))
    path = f"{DEPLOYMENTS}/web/scale"
    for replicas in (-1, "many", True, 2**40):
        change = {"spec": {"replicas": replicas}}
        assert client.refused("PATCH", path, change, content_type=MERGE)[:2] == (422, "Invalid")
    stale = {**client.get(path), "metadata": {"name": "web", "resourceVersion": "999"}}
    assert client.refused("PUT", path, stale)[:2] == (409, "Conflict")
    assert client.refused("PUT", path, {"kind": "Deployment"})[:2] == (400, "BadRequest")


# --- what only a real kubelet can do -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "method"), [("log", "GET"), ("exec", "POST"), ("attach", "GET"), ("portforward", "GET")]
)
def test_nothing_runs_in_a_simulated_pod(client: ApiClient, part: str, method: str) -> None:
    assert client.refused(method, f"{PODS}/a/{part}")[0] == 404
    client.post(PODS, pod("a"))
    status, _, sentence = client.refused(method, f"{PODS}/a/{part}")
    assert status == 400
    assert "simulated kubelet" in sentence
