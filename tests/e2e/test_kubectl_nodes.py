"""kubectl looks after nodes: taint, cordon, drain within a budget."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.up import Kubectl, deployment, pod

BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web"},
    "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
}


@contextmanager
def cordoned(kubectl: Kubectl, *nodes: str) -> Iterator[None]:
    kubectl("cordon", *nodes)
    try:
        yield
    finally:
        kubectl("uncordon", *nodes)


def test_a_cordoned_node_gets_no_pods(kubectl: Kubectl) -> None:
    with cordoned(kubectl, "cpu-0", "cpu-1"):
        assert "SchedulingDisabled" in kubectl("get", "node", "cpu-0")
        kubectl.apply(deployment("web", replicas=3))
        kubectl("rollout", "status", "deployment/web", "--timeout=20s")
        assert {p["spec"]["nodeName"] for p in kubectl.get("pods")["items"]} == {"cpu-2"}


def test_a_taint_rejects_pods_that_do_not_tolerate_it(kubectl: Kubectl) -> None:
    kubectl("taint", "nodes", "--all", "team=a:NoSchedule")
    try:
        kubectl.apply(pod("stranger"), pod("friend", tolerations=[{"key": "team", "operator": "Exists"}]))
        kubectl("wait", "--for=condition=Ready", "pod/friend", "--timeout=20s")
        kubectl("wait", "--for=condition=PodScheduled=False", "pod/stranger", "--timeout=20s")
    finally:
        kubectl("taint", "nodes", "--all", "team-")
    kubectl("wait", "--for=condition=Ready", "pod/stranger", "--timeout=20s")


def test_draining_respects_a_budget(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", replicas=3), BUDGET)
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    kubectl("wait", "--for=jsonpath={.status.disruptionsAllowed}=1", "pdb/web", "--timeout=20s")
    node = kubectl.get("pods")["items"][0]["spec"]["nodeName"]
    try:
        told = kubectl("drain", node, "--timeout=25s", "--ignore-daemonsets", "--force")
        assert f"node/{node} drained" in told
        assert node not in {p["spec"].get("nodeName") for p in kubectl.get("pods")["items"]}
    finally:
        kubectl("uncordon", node)


def test_draining_waits_where_the_budget_forbids(kubectl: Kubectl) -> None:
    strict = {**BUDGET, "spec": {**BUDGET["spec"], "minAvailable": "100%"}}  # type: ignore[dict-item]
    kubectl.apply(deployment("web", replicas=2), strict)
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    kubectl("wait", "--for=jsonpath={.status.expectedPods}=2", "pdb/web", "--timeout=20s")
    node = kubectl.get("pods")["items"][0]["spec"]["nodeName"]
    try:
        refused = kubectl.run("drain", node, "--force", "--timeout=2s")
        assert refused.returncode == 1
        assert "(will retry after 5s)" in refused.stderr, "kubectl is told at once, and waits of itself"
        assert "disruption budget web needs 2 healthy pods and has 2" in refused.stderr
        assert kubectl.get("node", node)["spec"]["unschedulable"] is True
        assert not any("deletionTimestamp" in p["metadata"] for p in kubectl.get("pods")["items"])
    finally:
        kubectl("uncordon", node)


def test_a_node_that_is_deleted_takes_its_pods_along(kubectl: Kubectl) -> None:
    extra = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "extra"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    kubectl.apply(extra)
    kubectl.apply(pod("a", nodeName="extra"))
    kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    kubectl("delete", "node", "extra")
    kubectl("wait", "--for=delete", "pod/a", "--timeout=20s")
