"""Pods need their ServiceAccount, and keep to the Pod Security Standard that their namespace enforces."""

from typing import Any

import pytest
from tests.minicluster.rest.api_client import PODS, ApiClient, pod

from reprieve.model.json import Json

LABEL = "pod-security.kubernetes.io/enforce"
NFS = {"name": "v", "nfs": {"server": "s", "path": "/"}}
RESTRICTED: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def refusal(client: ApiClient, level: str, context: Json, container: Json, **spec: Any) -> str:
    """Of a pod with a container that has this security context; empty if it is admitted."""
    namespace = {"kind": "Namespace", "metadata": {"name": "guarded", "labels": {LABEL: level}}}
    client.post("/api/v1/namespaces", namespace)
    body = pod("web", **spec)
    body["spec"]["containers"][0] |= {**container, "securityContext": context}
    answer = client.ask("POST", "/api/v1/namespaces/guarded/pods", body)
    assert answer.status in (201, 403), answer.body
    return "" if answer.status == 201 else client.refused("POST", "/api/v1/namespaces/guarded/pods", body)[2]


def test_an_account_must_exist(client: ApiClient) -> None:
    body = pod("web", serviceAccountName="robot")
    status, reason, told = client.refused("POST", PODS, body)
    assert (status, reason) == (403, "Forbidden")
    assert 'error looking up service account default/robot: serviceaccount "robot" not found' in told
    client.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
    client.post(PODS, body)


@pytest.mark.parametrize(
    ("spec", "container", "context", "reason"),
    [
        ({"hostNetwork": True}, {}, {}, 'host namespaces (pod must not set "hostNetwork=true")'),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, {}, {}, "hostPath volumes"),
        ({}, {"ports": [{"containerPort": 1, "hostPort": 80}]}, {}, 'hostPort (container "main"'),
        ({}, {"livenessProbe": {"httpGet": {"port": 1, "host": "a"}}}, {}, "probe or lifecycle host"),
        ({}, {}, {"privileged": True}, "privileged"),
        ({}, {}, {"procMount": "Unmasked"}, "procMount"),
        ({}, {}, {"seLinuxOptions": {"user": "u"}}, 'seLinuxOptions with "user u"'),
        ({}, {}, {"seccompProfile": {"type": "Unconfined"}}, "seccompProfile"),
        ({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, {}, {}, "AppArmor"),
        ({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}, {}, {}, "sysctls"),
        ({}, {}, {"windowsOptions": {"hostProcess": True}}, "hostProcess"),
        ({}, {}, {"capabilities": {"add": ["NET_RAW", "CHOWN"]}}, 'must not include "NET_RAW" in'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_baseline_forbids(
    client: ApiClient, spec: Json, container: Json, context: Json, reason: str
) -> None:
    told = refusal(client, "baseline", context, container, **spec)
    assert 'violates PodSecurity "baseline:latest"' in told
    assert reason in told
    assert told.count("(") == 1, "and nothing else"


@pytest.mark.parametrize(
    ("spec", "changed", "reason"),
    [
        ({}, {"allowPrivilegeEscalation": None}, "securityContext.allowPrivilegeEscalation=false"),
        ({}, {"capabilities": {"drop": ["CHOWN"]}}, 'capabilities.drop=["ALL"]'),
        ({}, {"capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}, "unrestricted capabilities"),
        ({}, {"runAsNonRoot": None}, "runAsNonRoot != true"),
        ({}, {"runAsUser": 0}, "runAsUser=0"),
        ({}, {"seccompProfile": None}, "seccompProfile"),
        ({"volumes": [NFS]}, {}, "restricted volume types"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_restricted_forbids(client: ApiClient, spec: Json, changed: Json, reason: str) -> None:
    assert reason in refusal(client, "restricted", {**RESTRICTED, **changed}, {}, **spec)


@pytest.mark.parametrize(
    ("level", "context", "spec"),
    [
        ("privileged", {"privileged": True}, {"hostPID": True}),
        ("baseline", {"capabilities": {"add": ["CHOWN"]}}, {"volumes": [NFS]}),
        ("restricted", RESTRICTED, {}),
        ("restricted", {**RESTRICTED, "runAsUser": 0, "runAsNonRoot": None}, {"hostUsers": False}),
        ("restricted", {"runAsNonRoot": True}, {"os": {"name": "windows"}}),
    ],
)
def test_what_is_admitted(client: ApiClient, level: str, context: Json, spec: Json) -> None:
    assert refusal(client, level, context, {}, **spec) == ""
