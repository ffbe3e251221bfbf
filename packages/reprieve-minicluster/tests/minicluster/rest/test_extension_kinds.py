"""Kinds that extend an API server, as objects: defaults, validation, tables, versions."""

import base64
from typing import Any

import pytest
from tests.minicluster.rest.api_client import TABLE, ApiClient
from tests.minicluster.rest.protobuf_encoding import envelope

from reprieve.model.json import Json

ADMISSION = "admissionregistration.k8s.io/v1"
FLOWS = "flowcontrol.apiserver.k8s.io/v1"
CSR = base64.b64encode(
    b"-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"
).decode()
RULE: Json = {
    "operations": ["CREATE"],
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "resources": ["deployments"],
}


def thing(api_version: str, kind: str, name: str = "it", **content: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **content}


def webhook(**more: Any) -> Json:
    service = {"service": {"namespace": "ours", "name": "hooks", "path": "/check"}}
    return {
        "name": "deployments.hooks.example.com",
        "clientConfig": service,
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


def webhooks(kind: str, *hooks: Json, name: str = "it") -> Json:
    return thing(ADMISSION, f"{kind}WebhookConfiguration", name, webhooks=list(hooks) or [webhook()])


def policy(**spec: Any) -> Json:
    usual = {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "object.spec.replicas <= 5"}],
    }
    return thing(ADMISSION, "ValidatingAdmissionPolicy", spec={**usual, **spec})


def binding(**spec: Any) -> Json:
    usual = {"policyName": "it", "validationActions": ["Deny"]}
    return thing(ADMISSION, "ValidatingAdmissionPolicyBinding", spec={**usual, **spec})


def mutation(**mutation: Any) -> Json:
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "reinvocationPolicy": "Never",
        "mutations": [mutation],
    }
    return thing(ADMISSION, "MutatingAdmissionPolicy", spec=spec)


def api_service(**spec: Any) -> Json:
    usual = {
        "group": "metrics.example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
    }
    service = {"service": {"namespace": "ours", "name": "metrics"}}
    body = thing("apiregistration.k8s.io/v1", "APIService", "v1.metrics.example.com")
    return {**body, "spec": {**usual, **service, **spec}}


def flow_schema(**spec: Any) -> Json:
    subjects = [{"kind": "Group", "group": {"name": "ops"}}]
    rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
    rules = [{"subjects": subjects, "resourceRules": [rule]}]
    return thing(
        FLOWS, "FlowSchema", spec={"priorityLevelConfiguration": {"name": "ops"}, "rules": rules, **spec}
    )


def priority_level(**spec: Any) -> Json:
    limited = {"limitResponse": {"type": "Queue", "queuing": {"queues": 4}}}
    return thing(FLOWS, "PriorityLevelConfiguration", spec={"type": "Limited", "limited": limited, **spec})


def signing_request(**spec: Any) -> Json:
    usual = {"request": CSR, "signerName": "example.com/signer", "usages": ["client auth"]}
    return thing("certificates.k8s.io/v1", "CertificateSigningRequest", spec={**usual, **spec})


def autoscaler(version: str, **spec: Any) -> Json:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    usual = {"scaleTargetRef": target, "maxReplicas": 5}
    return thing(f"autoscaling/{version}", "HorizontalPodAutoscaler", spec={**usual, **spec})


PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "HorizontalPodAutoscaler": "namespaces/default/horizontalpodautoscalers",
}


def path_of(body: Json) -> str:
    return f"/apis/{body['apiVersion']}/{PLURALS.get(body['kind'], body['kind'].lower() + 's')}"


@pytest.mark.parametrize(
    ("body", "cells"),
    [
        (webhooks("Validating"), [1]),
        (webhooks("Mutating", webhook(reinvocationPolicy="IfNeeded")), [1]),
        (policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}), [1, "v1/ConfigMap"]),
        (binding(), ["it", "<unset>"]),
        (mutation(patchType="JSONPatch", jsonPatch={"expression": "[]"}), [1, "<unset>"]),
        (thing(ADMISSION, "MutatingAdmissionPolicyBinding", spec={"policyName": "it"}), ["it", "<unset>"]),
        (api_service(), ["ours/metrics", "Unknown"]),
        (flow_schema(), ["ops", 1000, "<none>"]),
        (priority_level(), ["Limited", "30", "4", "8", "50"]),
        (signing_request(), ["example.com/signer", "reprieve-admin", "<none>", "Pending"]),
        (autoscaler("v2"), ["Deployment/web", 1, 5, 0]),
        (autoscaler("v1"), ["Deployment/web", 1, 5, 0]),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_they_are_stored_with_their_defaults(client: ApiClient, body: Json, cells: list[object]) -> None:
    path = path_of(body)
    as_protobuf = client.post(
        path, envelope(body), content_type="application/vnd.kubernetes.protobuf", dryRun="All"
    )
    made = client.post(path, body)
    assert as_protobuf.get("spec") == made.get("spec")
    assert as_protobuf.get("webhooks") == made.get("webhooks")
    (row,) = client.get(path, accept=TABLE)["rows"]
    assert [cell for cell in row["cells"][1:] if cell != "0s"] == cells
    name = f"{path}/{body['metadata']['name']}"
    assert client.put(name, client.get(name)).get("metadata", {}) == made["metadata"], (
        "a default is no change"
    )


def test_defaults_of_a_webhook(client: ApiClient) -> None:
    (made,) = client.post(path_of(webhooks("Mutating")), webhooks("Mutating"))["webhooks"]
    usual = ("failurePolicy", "matchPolicy", "reinvocationPolicy", "timeoutSeconds", "namespaceSelector")
    assert [made[name] for name in usual] == ["Fail", "Equivalent", "Never", 10, {}]
    assert (made["rules"][0]["scope"], made["clientConfig"]["service"]["port"]) == ("*", 443)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (webhooks("Validating", webhook(name="short")), "webhooks[0].name: Invalid value"),
        (webhooks("Validating", webhook(), webhook()), "webhooks[1].name: Duplicate value"),
        (webhooks("Validating", name="x.static.k8s.io"), "metadata.name: Invalid value"),
        (webhooks("Validating", webhook(sideEffects="Some")), "webhooks[0].sideEffects: Unsupported value"),
        (webhooks("Mutating", webhook(timeoutSeconds=31)), "timeoutSeconds: Invalid value"),
        (webhooks("Mutating", webhook(clientConfig={})), "clientConfig: Required value"),
        (webhooks("Mutating", webhook(clientConfig={"url": "http://x"})), "clientConfig.url: Invalid value"),
        (webhooks("Mutating", webhook(clientConfig={"url": "https://x:99999"})), "clientConfig.url: Invalid"),
        (webhooks("Mutating", webhook(admissionReviewVersions=["v7"])), "must include v1 or v1beta1"),
        (
            webhooks("Mutating", webhook(rules=[{**RULE, "operations": ["*", "CREATE"]}])),
            "operations: Invalid value",
        ),
        (
            webhooks("Mutating", webhook(matchConditions=[{"name": "a"}])),
            "matchConditions[0].expression: Required",
        ),
        (policy(matchConstraints=None), "spec.matchConstraints: Required value"),
        (policy(validations=[]), "spec.validations: Required value"),
        (binding(validationActions=["Deny", "Warn"]), "validationActions: Invalid value"),
        (binding(paramRef={"name": "a", "selector": {}}), "paramRef: Invalid value"),
        (
            mutation(patchType="JSONPatch", applyConfiguration={"expression": ""}),
            "applyConfiguration.expression",
        ),
        (api_service(version="v2"), "metadata.name: Invalid value"),
        (api_service(versionPriority=0), "spec.versionPriority: Invalid value"),
        (flow_schema(rules=[{"subjects": []}]), "rules[0].subjects: Required value"),
        (priority_level(type="Exempt"), "spec.limited: Forbidden"),
        (signing_request(request="eA=="), "spec.request: Invalid value"),
        (signing_request(usages=["breakfast"]), "spec.usages[0]: Unsupported value"),
        (signing_request(signerName="signer"), "spec.signerName: Invalid value"),
        (autoscaler("v1", targetCPUUtilizationPercentage=0), "targetCPUUtilizationPercentage: Invalid value"),
    ],
)
def test_what_cannot_be(client: ApiClient, body: Json, named: str) -> None:
    status, _, sentence = client.refused("POST", path_of(body), body)
    assert (status, named in sentence) == (422, True), sentence


def test_who_asks_for_a_certificate_is_noted_and_it_is_approved(client: ApiClient) -> None:
    path = path_of(signing_request())
    made = client.post(path, signing_request(username="root"))
    assert (made["spec"]["username"], made["status"]) == ("reprieve-admin", {})
    approved = {"type": "Approved", "status": "True"}
    client.put(f"{path}/it/approval", {**made, "status": {"conditions": [approved]}})
    (row,) = client.get(path, accept=TABLE)["rows"]
    assert row["cells"][-1] == "Approved"
    assert client.patch(f"{path}/it", {"spec": {"usages": ["any"]}})["spec"] == made["spec"]


def test_an_autoscaler_in_both_versions(client: ApiClient) -> None:
    older, newer = (path_of(autoscaler(version)) for version in ("v1", "v2"))
    client.post(older, autoscaler("v1", targetCPUUtilizationPercentage=60))
    (metric,) = client.get(f"{newer}/it")["spec"]["metrics"]
    assert metric["resource"] == {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "Value", "value": "1Gi"}},
    }
    client.patch(f"{newer}/it", {"spec": {"metrics": [metric, memory], "behavior": {"scaleUp": {}}}})
    assert client.get(f"{older}/it")["spec"]["targetCPUUtilizationPercentage"] == 60
    client.patch(f"{older}/it", {"spec": {"targetCPUUtilizationPercentage": 70}})
    spec = client.get(f"{newer}/it")["spec"]
    named = [one["resource"]["name"] for one in spec["metrics"]]
    assert (named, "behavior" in spec) == (["memory", "cpu"], True)
