"""Quotas and limit ranges with kubectl."""

import json
import time

from reprieve.model.json import Json
from tests.e2e.up import PATIENCE, Kubectl, deployment, pod


def _quota(**spec: object) -> Json:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"}, "spec": spec}


def _counted(kubectl: Kubectl) -> None:
    kubectl("wait", "resourcequota/team", "--for=jsonpath={.status.used}", f"--timeout={PATIENCE}s")


def test_a_quota_by_priority_class(kubectl: Kubectl) -> None:
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    kubectl.apply(high, _quota(hard={"pods": "1"}, scopeSelector=selector))
    _counted(kubectl)
    first, second, other = pod("first"), pod("second"), pod("other")
    for body in (first, second):
        body["spec"]["priorityClassName"] = "high"
    kubectl.apply(first, other)
    refused = kubectl.run("create", "-f", "-", stdin=json.dumps(second))
    assert (
        'pods "second" is forbidden: exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1'
        in refused.stderr
    )
    assert "pods: 1/1" in kubectl("get", "quota")
    assert "Used" in kubectl("describe", "quota", "team")
    kubectl("delete", "pod", "first", "--now")
    deadline = time.monotonic() + PATIENCE
    while "pods: 0/1" not in kubectl("get", "quota"):
        assert time.monotonic() < deadline
    kubectl("create", "-f", "-", stdin=json.dumps(second))


def test_a_deployment_stops_at_the_quota(kubectl: Kubectl) -> None:
    kubectl.apply(_quota(hard={"pods": "2"}))
    _counted(kubectl)
    kubectl.apply(deployment("web", replicas=3))
    kubectl("wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=2", f"--timeout={PATIENCE}s")
    assert "pods: 2/2" in kubectl("get", "quota")
    kubectl("patch", "quota", "team", "-p", '{"spec": {"hard": {"pods": "3"}}}')
    kubectl("rollout", "status", "deployment/web", f"--timeout={PATIENCE}s")


def test_a_limit_range(kubectl: Kubectl) -> None:
    limits = [{"type": "Container", "max": {"memory": "1Gi"}, "default": {"memory": "64Mi"}}]
    meta = {"name": "bounds"}
    kubectl.apply({"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": {"limits": limits}})
    kubectl.apply(pod("small"))
    (container,) = kubectl.get("pod/small")["spec"]["containers"]
    assert container["resources"]["limits"]["memory"] == "64Mi"
    large = pod("large")
    large["spec"]["containers"][0]["resources"] = {"limits": {"memory": "2Gi"}}
    refused = kubectl.run("create", "-f", "-", stdin=json.dumps(large))
    assert "maximum memory usage per Container is 1Gi, but limit is 2Gi" in refused.stderr
    assert "64Mi" in kubectl("describe", "limits", "bounds")


def test_a_quota_that_kubectl_makes(kubectl: Kubectl) -> None:
    kubectl("create", "quota", "team", "--hard=pods=2,requests.cpu=1500m", "--scopes=NotTerminating")
    spec = kubectl.get("quota/team")["spec"]
    assert spec == {"hard": {"pods": "2", "requests.cpu": "1500m"}, "scopes": ["NotTerminating"]}


def test_a_resize_is_charged(kubectl: Kubectl) -> None:
    kubectl.apply(_quota(hard={"requests.cpu": "2"}))
    _counted(kubectl)
    body = pod("grows")
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    kubectl.apply(body)
    kubectl("wait", "pod/grows", "--for=condition=Ready", f"--timeout={PATIENCE}s")
    wish = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]}}
    refused = kubectl.run("patch", "pod", "grows", "--subresource=resize", "-p", json.dumps(wish))
    assert "exceeded quota: team, requested: requests.cpu=2, used: requests.cpu=1" in refused.stderr
