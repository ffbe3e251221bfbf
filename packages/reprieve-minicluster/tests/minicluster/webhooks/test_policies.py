"""What policies of admission deny, warn of and leave alone."""

from typing import Any

import pytest
from tests.minicluster.rest.api_client import (
    DEPLOYMENTS,
    MAPS,
    MERGE,
    PODS,
    ApiClient,
    config_map,
    deployment,
    pod,
)
from tests.minicluster.webhooks.configurations import ADMISSION, RULE

from reprieve.model.json import Json

POLICIES, BINDINGS = (f"/apis/{ADMISSION}/validatingadmissionpolic{end}" for end in ("ies", "ybindings"))
ALL = "object.spec.template.spec.containers.all"
SMALL = "object.spec.replicas <= 5"
DEPLOYED = {**RULE, "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}


def store(client: ApiClient, *validations: Json, name: str = "small", **spec: Any) -> tuple[str, ...]:
    """The warnings."""
    usual = {"matchConstraints": {"resourceRules": [DEPLOYED]}, "validations": list(validations)}
    body = {"metadata": {"name": name}, "spec": {**usual, **spec}}
    return tuple(client.ask("POST", POLICIES, body).headers.values())


def bind(client: ApiClient, *actions: str, policy: str = "small", **spec: Any) -> None:
    usual = {"policyName": policy, "validationActions": list(actions or ("Deny",))}
    client.post(BINDINGS, {"metadata": {"name": f"{policy}-here"}, "spec": {**usual, **spec}})


def test_a_policy_counts_where_it_is_bound(client: ApiClient) -> None:
    assert store(client, {"expression": SMALL}) == ()
    client.post(DEPLOYMENTS, deployment("unbound", replicas=9))
    bind(client)
    client.post(DEPLOYMENTS, deployment("a", replicas=5))
    status, reason, sentence = client.refused("POST", DEPLOYMENTS, deployment("b", replicas=6))
    assert (status, reason) == (422, "Invalid")
    assert sentence == (
        "deployments.apps \"b\" is forbidden: ValidatingAdmissionPolicy 'small' with binding 'small-here' "
        f"denied request: failed expression: {SMALL}"
    )
    assert (
        client.refused("PATCH", f"{DEPLOYMENTS}/a", {"spec": {"replicas": 6}}, content_type=MERGE)[0] == 422
    )
    client.post(PODS, pod("a"))


def test_messages_reasons_and_variables(client: ApiClient) -> None:
    variables = [
        {"name": "count", "expression": "object.spec.replicas"},
        {"name": "twice", "expression": "variables.count * 2"},
    ]
    store(
        client,
        {"expression": "variables.twice < 20", "message": "too many", "reason": "Forbidden"},
        {"expression": "variables.count != 3", "messageExpression": "'not ' + string(variables.count)"},
        {"expression": "variables.count != 4", "messageExpression": "'not ' + object.metadata.name"},
        variables=variables,
    )
    bind(client)
    told = [client.refused("POST", DEPLOYMENTS, deployment("a", replicas=n)) for n in (10, 4)]
    assert [(status, sentence.rpartition(": ")[2]) for status, _, sentence in told] == [
        (403, "too many"),
        (422, "not a"),
    ]


def test_warnings(client: ApiClient) -> None:
    store(client, {"expression": SMALL, "message": "large"})
    bind(client, "Warn", "Audit")
    answer = client.ask("POST", DEPLOYMENTS, deployment("a", replicas=6))
    assert answer.status == 201
    assert (
        "Validation failed for ValidatingAdmissionPolicy 'small' with binding 'small-here': large"
        in (answer.headers["Warning"])
    )


def test_what_is_excluded_by_conditions_and_bindings(client: ApiClient) -> None:
    conditions = [
        {
            "name": "spared",
            "expression": "!has(object.metadata.labels) || !('spare' in object.metadata.labels)",
        }
    ]
    store(client, {"expression": SMALL}, matchConditions=conditions)
    bind(client, matchResources={"objectSelector": {"matchLabels": {"tier": "web"}}})
    large = deployment("a", replicas=9)
    client.post(DEPLOYMENTS, large)
    for labels, status in (({"tier": "web", "spare": ""}, 201), ({"tier": "web"}, 422)):
        named = {**large, "metadata": {"name": f"b{status}", "labels": labels}}
        assert client.ask("POST", DEPLOYMENTS, named).status == status


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("object.spec.odd > 3", "no such key: odd"),
        ("object.spec.replicas", "failed expression"),
        ("authorizer.path('/x').check('get').allowed()", "not understood by the mini cluster"),
        (f"{ALL}(a, {ALL}(b, {ALL}(c, a.name + b.name != c.name)))", "exceeds the cost budget"),
    ],
)
def test_what_cannot_be_evaluated_counts_as_the_policy_says(
    client: ApiClient, expression: str, told: str
) -> None:
    store(client, {"expression": expression}, name="strict")
    bind(client, policy="strict")
    large = deployment("a")
    container = large["spec"]["template"]["spec"]["containers"][0]
    large["spec"]["template"]["spec"]["containers"] = [{**container, "name": f"c{n}"} for n in range(40)]
    status, _, sentence = client.refused("POST", DEPLOYMENTS, large)
    assert (status, told in sentence) == (422, True), sentence
    if told != "failed expression":
        client.patch(f"{POLICIES}/strict", {"spec": {"failurePolicy": "Ignore"}})
        client.post(DEPLOYMENTS, large)


def test_an_expression_that_is_not_understood_is_told_to_its_author(client: ApiClient) -> None:
    (warning,) = store(client, {"expression": "authorizer.odd()"})
    assert (
        "the expression authorizer.odd() is not understood, and counts as the failurePolicy says" in warning
    )


def test_parameters(client: ApiClient) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    store(client, {"expression": "object.spec.replicas <= params.data.most.size()"}, paramKind=kind)
    bind(client, paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
    status, _, sentence = client.refused("POST", DEPLOYMENTS, deployment("a", replicas=3))
    assert (status, "no params found" in sentence) == (422, True)
    client.post(MAPS, config_map("limits", most="xx"))
    assert client.refused("POST", DEPLOYMENTS, deployment("a", replicas=3))[0] == 422
    client.post(DEPLOYMENTS, deployment("a", replicas=2))
    selected: Json = {"selector": {"matchLabels": {"limits": "yes"}}, "parameterNotFoundAction": "Allow"}
    client.patch(f"{BINDINGS}/small-here", {"spec": {"paramRef": {"name": None, **selected}}})
    client.post(DEPLOYMENTS, deployment("b", replicas=9))
    labelled = {"metadata": {"name": "more", "labels": {"limits": "yes"}}, "data": {"most": "xxx"}}
    client.post(MAPS, labelled)
    assert client.refused("POST", DEPLOYMENTS, deployment("c", replicas=4))[0] == 422


def test_deletions_see_the_old_object(client: ApiClient) -> None:
    client.post(MAPS, config_map("kept"))
    client.post(MAPS, config_map("free"))
    rule = {**RULE, "operations": ["DELETE"], "resources": ["configmaps"]}
    store(
        client,
        {"expression": "object == null && oldObject.metadata.name != 'kept'"},
        matchConstraints={"resourceRules": [rule]},
    )
    bind(client)
    assert client.refused("DELETE", f"{MAPS}/kept")[0] == 422
    client.delete(f"{MAPS}/free")


def test_namespaces_are_seen(client: ApiClient) -> None:
    namespace = {"metadata": {"name": "default", "labels": {"most": "1"}}}
    client.post("/api/v1/namespaces", namespace)
    store(client, {"expression": "namespaceObject.metadata.labels.most != '1' || object.spec.replicas < 2"})
    bind(client)
    assert client.refused("POST", DEPLOYMENTS, deployment("a", replicas=2))[0] == 422


def test_a_mutation_is_not_made_and_that_is_said(client: ApiClient) -> None:
    path, bindings = (f"/apis/{ADMISSION}/mutatingadmissionpolic{end}" for end in ("ies", "ybindings"))
    spec = {
        "matchConstraints": {"resourceRules": [DEPLOYED]},
        "reinvocationPolicy": "Never",
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": "Object{spec: Object.spec{}}"},
            }
        ],
    }
    answer = client.ask("POST", path, {"metadata": {"name": "m"}, "spec": spec})
    assert (answer.status, "is not understood" in answer.headers["Warning"]) == (201, True)
    client.post(DEPLOYMENTS, deployment("a"))
    client.post(bindings, {"metadata": {"name": "m"}, "spec": {"policyName": "m"}})
    told = client.refused("POST", DEPLOYMENTS, deployment("b"))[2]
    assert "MutatingAdmissionPolicy 'm' with binding 'm' denied request" in told
    assert "the mini cluster makes no mutations" in told
    client.patch(f"{path}/m", {"spec": {"failurePolicy": "Ignore"}})
    client.post(DEPLOYMENTS, deployment("b"))
