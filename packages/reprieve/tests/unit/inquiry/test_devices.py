"""What needs devices is neither placed nor refused: the answer is that it is unknown."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.inquiry.asking import ask, reports
from tests.unit.inquiry.objects import classes, deployment, node, pod

SERVED = "example.com/gpu"


def claiming(body: Any) -> Any:
    spec = body["spec"].get("template", body)["spec"]
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    spec["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return body


def device_class(resource: str = SERVED) -> Any:
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpus"}}
    return {**head, "spec": {"extendedResourceName": resource}}


def asking_for(resource: str) -> Any:
    body = pod("new", level="urgent")
    amounts = body["spec"]["containers"][0]["resources"]
    amounts["requests"][resource] = amounts["limits"][resource] = "1"
    return body


@pytest.mark.parametrize("body", [claiming(pod("new")), claiming(deployment("new", 2))])
def test_a_pod_with_a_claim(tmp_path: Path, body: Any) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpu"},
    }
    result = ask(tmp_path, [node("n1")], [template, body, pod("big", cpu="999")], "-o", "json")
    assert result.exit_code == 21, result.output
    (found,) = [one for one in reports(result) if one["demand"]["name"] == "new"]
    assert found["outcome"] == "Unknown"
    assert found["refusal"]["code"] == "DynamicResources"
    assert "has ResourceClaims" in found["refusal"]["text"]
    assert not found["placements"]
    said = ask(tmp_path, [node("n1")], [body]).output
    assert "is unknown" in said
    assert "cannot run" not in said


@pytest.mark.parametrize("resource", [SERVED, "deviceclass.resource.kubernetes.io/gpus"])
def test_a_resource_that_a_device_class_serves(tmp_path: Path, resource: str) -> None:
    result = ask(tmp_path, [node("n1"), device_class()], [asking_for(resource)])
    assert result.exit_code == 21, result.output
    assert "which a DeviceClass provides" in result.output


def test_without_that_class_it_cannot_fit(tmp_path: Path) -> None:
    result = ask(tmp_path, [node("n1")], [asking_for(SERVED)])
    assert result.exit_code == 20, result.output


def test_where_nodes_have_room_for_it_it_fits(tmp_path: Path) -> None:
    cluster = [node("n1"), device_class("nvidia.com/gpu")]
    assert ask(tmp_path, cluster, [pod("new", 1)]).exit_code == 0
    taken = [*classes(), pod("old", 8, on="n1", level="low")]
    result = ask(tmp_path, [*cluster, *taken], [pod("new", 1, level="urgent")])
    assert result.exit_code == 21, "kube-scheduler might use a device instead of preempting"


def test_why_says_so_too(tmp_path: Path) -> None:
    result = ask(tmp_path, [node("n1"), claiming(pod("new"))], [], "pod/new")
    assert result.exit_code == 21, result.output
