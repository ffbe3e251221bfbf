"""Kinds of one's own, from their definition to their end, with kubectl; and over a restart."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from reprieve.model.json import Json
from tests.e2e.up import Kubectl, cluster_killed, cluster_up

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: queues.batch.example.com}
spec:
  group: batch.example.com
  scope: Namespaced
  names: {kind: Queue, plural: queues, singular: queue, shortNames: [qu]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Mode, type: string, jsonPath: .spec.mode}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How many go in.}
              mode: {type: string, enum: [Fair, Strict], default: Fair}
          status:
            type: object
            properties: {phase: {type: string}}
"""


def _queue(name: str, **spec: object) -> Json:
    head = {"apiVersion": "batch.example.com/v1", "kind": "Queue", "metadata": {"name": name}}
    return {**head, "spec": spec}


def _define(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEFINITION)
    kubectl("wait", "--for=condition=Established", "crd/queues.batch.example.com", "--timeout=20s")


@pytest.fixture(scope="module")
def queues(home: Path) -> Iterator[Kubectl]:
    with cluster_up("--nodes", "1") as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        _define(kubectl)
        yield kubectl


def test_it_is_used_as_any_other_kind(queues: Kubectl) -> None:
    assert queues.apply(_queue("a", size=3)) == "queue.batch.example.com/a created\n"
    assert queues.apply(_queue("a", size=3)) == "queue.batch.example.com/a unchanged\n"
    assert queues.apply(_queue("a", size=4)) == "queue.batch.example.com/a configured\n"
    shown = queues("get", "qu").split()
    assert shown == ["NAME", "SIZE", "MODE", "a", "4", "Fair"]
    queues("label", "queue", "a", "tier=web")
    queues("patch", "queue", "a", "--type=merge", "-p", '{"spec": {"mode": "Strict"}}')
    queues(
        "patch", "queue", "a", "--subresource=status", "--type=merge", "-p", '{"status": {"phase": "Open"}}'
    )
    queues("wait", "--for=jsonpath={.status.phase}=Open", "queue/a", "--timeout=10s")
    assert "How many go in." in queues("explain", "queue.spec.size")
    assert "queues" in queues("api-resources", "--api-group=batch.example.com")
    assert "Strict" in queues("describe", "queue", "a")
    assert queues("auth", "can-i", "create", "queues.batch.example.com") == "yes\n"


def test_its_schema_is_checked(queues: Kubectl) -> None:
    refused = queues.run("apply", "-f", "-", stdin=yaml.safe_dump(_queue("b", size=0, mode="Odd")))
    assert "spec.size: Invalid value: 0: must be at least 1" in refused.stderr
    assert 'spec.mode: Unsupported value: "Odd"' in refused.stderr
    unknown = queues.run("apply", "-f", "-", stdin=yaml.safe_dump(_queue("b", size=1, colour="red")))
    assert 'unknown field "spec.colour"' in unknown.stderr


def test_it_is_applied_on_the_server_side(queues: Kubectl) -> None:
    body = yaml.safe_dump(_queue("s", size=3))
    queues("apply", "--server-side", "-f", "-", stdin=body)
    other = yaml.safe_dump(_queue("s", size=4))
    refused = queues.run("apply", "--server-side", "--field-manager=you", "-f", "-", stdin=other)
    assert 'conflict with "kubectl": .spec.size' in refused.stderr


def test_over_a_restart_and_to_its_end(home: Path, tmp_path: Path) -> None:
    kept = ("--nodes", "1", "--data-dir", str(tmp_path / "kept"))
    with cluster_killed(*kept) as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        _define(kubectl)
        kubectl.apply(_queue("a", size=3))
    with cluster_up(*kept) as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        assert kubectl.names("queues") == ["a"]
        kubectl("delete", "crd", "queues.batch.example.com", "--timeout=20s")
        assert "could not find the requested resource" in kubectl.run("get", "queues").stderr
        _define(kubectl)
        assert kubectl.names("queues") == []
