"""kubectl resizes pods: the kubelet grants what there is room for, and lets the rest wait."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.model.json import Json
from tests.e2e.up import Kubectl, pod

NODE = "cpu-1"  # with 16 cpu


def asking(name: str, cpu: str) -> Json:
    resources = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    container = {"name": "main", "image": "example/app:1", "resources": resources}
    return pod(name, containers=[container], nodeSelector={"kubernetes.io/hostname": NODE})


def patch_of(cpu: str) -> str:
    return json.dumps({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}})


def resize(kubectl: Kubectl, name: str, cpu: str) -> None:
    kubectl("patch", "pod", name, "--subresource", "resize", "-p", patch_of(cpu))


def wait_for(kubectl: Kubectl, what: str) -> None:
    kubectl("wait", f"--for={what}", "pod/a", "--timeout=20s")


def conditions(kubectl: Kubectl) -> dict[str, Any]:
    return {c["type"]: c for c in kubectl.get("pod", "a")["status"]["conditions"]}


@pytest.fixture
def full(kubectl: Kubectl) -> Iterator[Kubectl]:
    """Of the node's 16 cpu, a has 2 and b has 10."""
    kubectl.apply(asking("a", "2"), asking("b", "10"))
    kubectl("wait", "--for=condition=Ready", "pod/a", "pod/b", "--timeout=20s")
    yield kubectl
    kubectl("delete", "pods", "--all", "--now")


def test_a_resize_is_granted_and_enforced(full: Kubectl) -> None:
    resize(full, "a", "4")
    for field in ("allocatedResources.cpu", "resources.requests.cpu"):
        wait_for(full, f"jsonpath={{.status.containerStatuses[0].{field}}}=4")
    wait_for(full, "jsonpath={.status.observedGeneration}=2")
    told = full("get", "events", "--field-selector=involvedObject.name=a")
    assert "ResizeCompleted" in told


def test_a_resize_waits_until_there_is_room(full: Kubectl) -> None:
    resize(full, "a", "8")
    wait_for(full, "condition=PodResizePending")
    assert conditions(full)["PodResizePending"]["reason"] == "Deferred"
    full("delete", "pod", "b", "--grace-period=1")
    wait_for(full, "jsonpath={.status.containerStatuses[0].resources.requests.cpu}=8")
    assert not [kind for kind in conditions(full) if kind.startswith("PodResize")]


def test_a_node_forbids_preemption_for_resizes(full: Kubectl) -> None:
    def policy(*owners: str) -> str:
        return json.dumps({"spec": {"podPreemptionPolicy": {"disableResizePreemption": owners}}})

    refused = full.run("patch", "node", NODE, "-p", policy("not a key"))
    assert "spec.podPreemptionPolicy.disableResizePreemption[0]" in refused.stderr
    full("patch", "node", NODE, "-p", policy("example.com/autoscaler"))
    try:
        resize(full, "a", "8")
        wait_for(full, "condition=PodResizePreemptionDisabled")
        told = conditions(full)["PodResizePreemptionDisabled"]["message"]
        assert told == f"node {NODE} disables preemption for resizes: example.com/autoscaler"
    finally:
        full("patch", "node", NODE, "-p", policy())


def test_what_can_never_be_is_refused(full: Kubectl) -> None:
    told = full.run("patch", "pod", "a", "--subresource", "resize", "-p", patch_of("17")).stderr
    assert f"{NODE} can never grant the cpu asked for: 17000 of 16000 milli-cores allocatable" in told


def test_a_lower_priority_pod_is_preempted_for_a_resize(kubectl: Kubectl) -> None:
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    kubectl.apply({**kind, "metadata": {"name": "higher"}, "value": 100})
    important, lesser = asking("a", "6"), asking("b", "10")
    important["spec"]["priorityClassName"] = "higher"
    lesser["spec"]["terminationGracePeriodSeconds"] = 1
    kubectl.apply(important, lesser)
    kubectl("wait", "--for=condition=Ready", "pod/a", "pod/b", "--timeout=20s")
    resize(kubectl, "a", "8")
    wait_for(kubectl, "jsonpath={.status.containerStatuses[0].resources.requests.cpu}=8")
    kubectl("wait", "--for=delete", "pod/b", "--timeout=20s")
    assert kubectl.get("pod", "a")["status"]["containerStatuses"][0]["restartCount"] == 0
    resized = kubectl.get("pod", "a")
    assert resized["spec"]["nodeName"] == NODE
    assert "nominatedNodeName" not in resized["status"]
    assert conditions(kubectl)["PodScheduled"]["status"] == "True"
    assert not [kind for kind in conditions(kubectl) if kind.startswith("PodResize")]
    assert "Preempted" in kubectl("get", "events", "--field-selector=involvedObject.name=b")
    kubectl("delete", "pods", "--all", "--now")
