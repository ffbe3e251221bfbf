"""kubectl apply --server-side: several field managers share an object."""

import json

import yaml

from reprieve.model.json import Json
from tests.e2e.up import Kubectl, deployment


def _apply(kubectl: Kubectl, body: Json, *flags: str) -> str:
    return kubectl("apply", "--server-side", *flags, "-f", "-", stdin=yaml.safe_dump(body))


def _replicas(count: int) -> Json:
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return {**head, "spec": {"replicas": count}}


def test_applying_twice(kubectl: Kubectl) -> None:
    assert _apply(kubectl, deployment("web")) == "deployment.apps/web serverside-applied\n"
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    version = kubectl.get("deployment", "web")["metadata"]["generation"]
    _apply(kubectl, deployment("web"))
    assert kubectl.get("deployment", "web")["metadata"]["generation"] == version


def test_two_managers_and_force(kubectl: Kubectl) -> None:
    _apply(kubectl, deployment("web", replicas=2))
    told = kubectl.run(
        *("apply", "--server-side", "--field-manager=scaler", "-f", "-"),
        stdin=yaml.safe_dump(_replicas(3)),
    )
    assert told.returncode
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas' in told.stderr
    _apply(kubectl, _replicas(3), "--field-manager=scaler", "--force-conflicts")
    again = deployment("web")
    del again["spec"]["replicas"]
    _apply(kubectl, again)
    found = kubectl.get("deployment", "web", "--show-managed-fields")
    assert found["spec"]["replicas"] == 3
    managers = {entry["manager"]: entry["fieldsV1"] for entry in found["metadata"]["managedFields"]}
    assert managers["scaler"] == {"f:spec": {"f:replicas": {}}}
    assert "managedFields" not in kubectl.get("deployment", "web")["metadata"]


def test_fields_that_are_no_longer_applied(kubectl: Kubectl) -> None:
    body = deployment("web")
    body["metadata"]["labels"] = {"a": "1", "b": "2"}
    _apply(kubectl, body)
    body["metadata"]["labels"] = {"a": "1"}
    _apply(kubectl, body)
    assert kubectl.get("deployment", "web")["metadata"]["labels"] == {"a": "1"}


def test_from_the_clients_side_to_the_servers(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", image="example/app:1"))
    _apply(kubectl, deployment("web", image="example/app:2"))
    found = kubectl.get("deployment", "web", "--show-managed-fields")
    applied = [e for e in found["metadata"]["managedFields"] if e["operation"] == "Apply"]
    assert "kubectl" in [entry["manager"] for entry in applied]
    assert "kubectl-client-side-apply" not in json.dumps(found)


def test_field_managers_are_recorded(kubectl: Kubectl) -> None:
    _apply(kubectl, deployment("web", replicas=2))
    kubectl("scale", "deployment/web", "--replicas=4")
    kubectl("label", "deployment", "web", "tier=web")
    refused = kubectl.run("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(deployment("web")))
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1' in refused.stderr
    four = yaml.safe_dump(_replicas(4))
    kubectl("diff", "--server-side", "--field-manager=scaler", "-f", "-", stdin=four)


def test_a_trial_leaves_nothing(kubectl: Kubectl) -> None:
    assert "(server dry run)" in _apply(kubectl, deployment("web"), "--dry-run=server")
    assert kubectl.names("deployments") == []
