"""Reprieve's own PodGroup, for clusters without one: its definition, and what it admits."""

from typing import Any

import pytest
import yaml
from tests.minicluster.rest.api_client import ApiClient
from tests.minicluster.rest.custom_resource import DEFINITIONS

from reprieve.cluster.api.codec import Decoded, decode
from reprieve.model.conditions import RUN_STARTED
from reprieve.model.objects import PodGroup
from tests.architecture.source import ROOT

GROUPS = "/apis/reprieve.dev/v1alpha1/namespaces/default/podgroups"
GANG = {"gang": {"minCount": 3}}
WHOLE: dict[str, Any] = {
    "schedulingPolicy": GANG,
    "disruptionMode": {"all": {}},
    "priority": 7,
    "priorityClassName": "high",
    "preemptionPolicy": "Never",
    "schedulingConstraints": {"topology": [{"key": "zone"}]},
}


def definition() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "crds" / "podgroups.yaml").read_text())
    return read


@pytest.fixture
def defined(client: ApiClient) -> ApiClient:
    client.post(DEFINITIONS, definition())
    return client


def group(**spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": spec,
    }


def test_what_is_let_through_is_understood(defined: ApiClient) -> None:
    made = defined.ask("POST", GROUPS, group(**WHOLE), fieldValidation="Strict")
    assert made.status == 201, made.body
    read = decode(made.body)
    assert isinstance(read, Decoded)
    assert isinstance(read.object, PodGroup)
    spec = read.object.spec
    assert spec.gang is not None
    assert (spec.gang.min_count, spec.disrupted_whole, spec.priority) == (3, True, 7)
    assert (spec.preemption_policy, spec.topology_key) == ("Never", "zone")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({}, "spec.schedulingPolicy"),
        ({"schedulingPolicy": {}}, "spec.schedulingPolicy"),
        ({"schedulingPolicy": {**GANG, "basic": {}}}, "spec.schedulingPolicy"),
        ({"schedulingPolicy": {"gang": {"minCount": 0}}}, "spec.schedulingPolicy.gang.minCount"),
        ({"schedulingPolicy": {"gang": {}}}, "spec.schedulingPolicy.gang.minCount"),
        ({**WHOLE, "disruptionMode": {"all": {}, "single": {}}}, "spec.disruptionMode"),
        ({**WHOLE, "priority": 2_000_000_000}, "spec.priority"),
        ({**WHOLE, "preemptionPolicy": "Sometimes"}, "spec.preemptionPolicy"),
        ({**WHOLE, "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}}, "topology"),
    ],
)
def test_what_is_not(defined: ApiClient, spec: dict[str, Any], field: str) -> None:
    status, _, message = defined.refused("POST", GROUPS, group(**spec))
    assert status == 422
    assert field in message


def test_a_class_without_its_priority_is_refused_by_servers_that_know_such_rules() -> None:
    """Otherwise the group would have priority 0, and wait for ever since its pods have another."""
    (version,) = definition()["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    rules = [rule["rule"] for rule in spec["x-kubernetes-validations"]]
    assert "!has(self.priorityClassName) || has(self.priority)" in rules


@pytest.mark.parametrize("type_", ["PodGroupInitiallyScheduled", RUN_STARTED])
def test_its_conditions_are_written_by_the_scheduler(defined: ApiClient, type_: str) -> None:
    defined.post(GROUPS, group(**WHOLE))
    condition = {
        "type": type_,
        "status": "True",
        "reason": "Scheduled",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    shown = defined.patch(f"{GROUPS}/g/status", {"status": {"conditions": [condition]}})
    assert shown["status"]["conditions"] == [condition]
