"""What admission webhooks change and refuse, and what follows if they do not answer."""

import pytest
from tests.minicluster.rest.api_client import (
    DEPLOYMENTS,
    MAPS,
    PODS,
    ApiClient,
    Webhook,
    config_map,
    deployment,
    pod,
)
from tests.minicluster.rest.custom_resource import DEFINITIONS, QUEUES, definition, queue
from tests.minicluster.webhooks.configurations import (
    ADMISSION,
    ALLOWED,
    RULE,
    configured,
    patch,
    setting,
    webhook,
)

from reprieve.model.json import Json
from reprieve_minicluster.store import Part

HPAS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"


def test_a_mutating_webhook_sees_defaults_and_changes_what_is_stored(client: ApiClient) -> None:
    configured(client, "Mutating", webhook("/add"))
    client.webhooks["/add"] = lambda request: setting("/metadata/labels/added", "yes")
    made = client.post(PODS, pod("a"))
    assert made["metadata"]["labels"] == {"app": "a", "added": "yes"}
    (asked,) = client.reviews
    assert asked["object"]["spec"]["restartPolicy"] == "Always"
    assert (asked["operation"], asked["name"], asked["namespace"]) == ("CREATE", "a", "default")
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert asked["resource"] == asked["requestResource"] == {"group": "", "version": "v1", "resource": "pods"}
    assert (asked["userInfo"]["username"], asked["dryRun"]) == ("reprieve-admin", False)
    assert "uid" not in asked["object"]["metadata"]


def test_a_validating_webhook_sees_what_is_to_be_stored(client: ApiClient) -> None:
    configured(client, "Validating", webhook("/check"))
    client.webhooks["/check"] = lambda request: {**ALLOWED, "warnings": ["watch it"]}
    answer = client.ask("POST", PODS, {**pod("a"), "metadata": {"generateName": "a-"}})
    assert (answer.status, answer.headers["Warning"]) == (201, '299 - "watch it"')
    made = client.get(PODS)["items"][0]["metadata"]
    seen = client.reviews[0]["object"]["metadata"]
    assert (seen["name"], seen["uid"]) == (made["name"], made["uid"])
    client.post(PODS, {**pod("a"), "metadata": {"generateName": "a-"}})
    assert len({item["metadata"]["uid"] for item in client.get(PODS)["items"]}) == 2


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
@pytest.mark.parametrize(
    ("status", "told"),
    [
        (
            {"code": 403, "reason": "Forbidden", "message": "no"},
            (403, "Forbidden", "denied the request: no"),
        ),
        ({"reason": "Odd"}, (400, "Odd", "denied the request: Odd")),
        ({"code": 200}, (400, "BadRequest", "denied the request without explanation")),
    ],
)
def test_a_refusal_is_in_the_words_of_the_webhook(
    client: ApiClient, kind: str, status: Json, told: tuple[int, str, str]
) -> None:
    configured(client, kind, webhook("/no", failurePolicy="Ignore"))
    client.webhooks["/no"] = lambda request: {"allowed": False, "status": status}
    code, reason, sentence = client.refused("POST", MAPS, config_map("a"))
    assert (code, reason, sentence) == (*told[:2], f'admission webhook "no.hooks.example.com" {told[2]}')


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_where_nothing_answers_the_failure_policy_counts(client: ApiClient, kind: str) -> None:
    configured(client, kind, webhook("/gone", failurePolicy="Ignore"), name="calm")
    client.post(MAPS, config_map("a"))
    configured(client, kind, webhook("/gone"), name="strict")
    status, reason, sentence = client.refused("POST", MAPS, config_map("b"))
    assert (status, reason) == (500, "InternalError")
    assert sentence == (
        'Internal error occurred: failed calling webhook "gone.hooks.example.com": failed to call webhook: '
        'Post "https://127.0.0.1:9443/gone?timeout=10s": connection refused '
        f"({kind}WebhookConfiguration strict)"
    )
    client.delete(f"/apis/{ADMISSION}/{kind.lower()}webhookconfigurations/strict")
    client.post(MAPS, config_map("b"))


@pytest.mark.parametrize(
    ("response", "told"),
    [
        ({"uid": "other", "allowed": True}, "got other"),
        ({"allowed": True, "patchType": "JSONPatch"}, "undecodable patch"),
        ({"allowed": True, "patchType": "Merge", "patch": "e30="}, "unsupported patch type"),
        (patch({"op": "remove", "path": "/metadata/odd"}), "does not exist"),
        (patch({"op": "replace", "path": "/metadata", "value": 7}), "leaves no object"),
        (setting("/metadata/name", "b"), "changes metadata.name"),
    ],
)
def test_an_answer_that_does_not_count(client: ApiClient, response: Json, told: str) -> None:
    configured(client, "Mutating", webhook("/odd"))
    client.webhooks["/odd"] = lambda request: response
    status, _, sentence = client.refused("POST", MAPS, config_map("a"))
    assert (status, told in sentence) == (500, True), sentence


def test_a_validating_webhook_changes_nothing(client: ApiClient) -> None:
    configured(client, "Validating", webhook("/odd"))
    client.webhooks["/odd"] = lambda request: setting("/data", {})
    assert "may not return response.patch" in client.refused("POST", MAPS, config_map("a"))[2]


def test_what_a_webhook_makes_of_it_is_validated(client: ApiClient) -> None:
    configured(client, "Mutating", webhook("/break"))
    client.webhooks["/break"] = lambda request: setting("/spec/restartPolicy", "Sometimes")
    assert "spec.restartPolicy: Unsupported value" in client.refused("POST", PODS, pod("a"))[2]


def test_order_and_reinvocation(client: ApiClient) -> None:
    """By the names of configurations; one that asks for it is asked again when a later one has changed it."""
    configured(client, "Mutating", webhook("/second"), name="b")
    configured(client, "Mutating", webhook("/first", reinvocationPolicy="IfNeeded"), name="a")
    said: list[str] = []

    def note(name: str, response: Json) -> Webhook:
        def noted(request: Json) -> Json:
            said.append(name)
            return response

        return noted

    client.webhooks["/first"] = note("first", ALLOWED)
    client.webhooks["/second"] = note("second", setting("/data", {"a": "b"}))
    assert client.post(MAPS, config_map("a"))["data"] == {"a": "b"}
    assert [name for number, name in enumerate(said) if said[:number].count(name) == 0] == ["first", "second"]
    assert said.count("first") == 2


def test_changes_and_deletions(client: ApiClient) -> None:
    client.post(MAPS, config_map("a", x="1"))
    rule = {**RULE, "operations": ["UPDATE", "DELETE"]}
    configured(client, "Validating", webhook("/guard", rules=[rule]))
    client.webhooks["/guard"] = lambda request: {"allowed": request["operation"] == "UPDATE"}
    client.patch(f"{MAPS}/a", {"data": {"x": "2"}})
    assert client.refused("DELETE", f"{MAPS}/a")[0] == 400
    assert client.refused("DELETE", MAPS)[0] == 400
    update, deletion, _ = client.reviews
    assert (update["oldObject"]["data"], update["object"]["data"]) == ({"x": "1"}, {"x": "2"})
    assert (deletion["object"], deletion["oldObject"]["data"]) == (None, {"x": "2"})
    assert client.names(MAPS) == ["a"]


def test_a_dry_run_says_so(client: ApiClient) -> None:
    configured(client, "Validating", webhook("/check"))
    client.webhooks["/check"] = lambda request: ALLOWED
    client.post(MAPS, config_map("a"), dryRun="All")
    assert (client.reviews[0]["dryRun"], client.names(MAPS)) == (True, [])


def test_conditions(client: ApiClient) -> None:
    conditions = [
        {"name": "ours", "expression": "request.userInfo.username == 'reprieve-admin'"},
        {"name": "named", "expression": "object.metadata.name != 'free'"},
    ]
    configured(client, "Validating", webhook("/no", matchConditions=conditions))
    client.post(MAPS, config_map("free"))
    assert client.refused("POST", MAPS, config_map("a"))[0] == 500
    client.delete(f"/apis/{ADMISSION}/validatingwebhookconfigurations/ours")
    broken = [{"name": "odd", "expression": "object.odd.field == 1"}]
    configured(client, "Validating", webhook("/no", matchConditions=broken, failurePolicy="Ignore"))
    client.post(MAPS, config_map("a"))
    configured(client, "Validating", webhook("/no", matchConditions=broken), name="strict")
    status, _, sentence = client.refused("POST", MAPS, config_map("b"))
    assert (status, "no such key: odd" in sentence) == (403, True)


def test_it_gets_the_version_that_its_rule_names(client: ApiClient) -> None:
    rule = {**RULE, "apiGroups": ["autoscaling"], "apiVersions": ["v2"]}
    configured(client, "Mutating", webhook("/add", rules=[rule]))
    client.webhooks["/add"] = lambda request: setting("/spec/maxReplicas", 7)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    body = {"metadata": {"name": "a"}, "spec": {"scaleTargetRef": target, "maxReplicas": 5}}
    assert client.post(HPAS.format("v1"), body)["spec"]["maxReplicas"] == 7
    (asked,) = client.reviews
    assert (asked["kind"]["version"], asked["requestKind"]["version"]) == ("v2", "v1")
    assert asked["object"]["apiVersion"] == "autoscaling/v2"


def test_subresources(client: ApiClient) -> None:
    client.post("/api/v1/nodes", {"kind": "Node", "metadata": {"name": "n"}})
    client.post(PODS, pod("a"))
    client.post(DEPLOYMENTS, deployment("d"))
    rule = {**RULE, "resources": ["*/binding", "*/eviction", "*/scale", "*/status"]}
    configured(client, "Validating", webhook("/no", rules=[rule]))
    client.webhooks["/no"] = lambda request: {"allowed": False}
    binding = {"metadata": {"name": "a"}, "target": {"name": "n"}}
    assert client.refused("POST", f"{PODS}/a/binding", binding)[0] == 400
    assert client.refused("POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}})[0] == 400
    merge = "application/merge-patch+json"
    assert (
        client.refused("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, content_type=merge)[0]
        == 400
    )
    assert client.refused("PATCH", f"{PODS}/a/status", {"status": {}}, content_type=merge)[0] == 400
    asked = [(r["kind"]["kind"], r["subResource"], r["operation"]) for r in client.reviews]
    assert asked == [
        ("Binding", "binding", "CREATE"),
        ("Eviction", "eviction", "CREATE"),
        ("Scale", "scale", "UPDATE"),
        ("Pod", "status", "UPDATE"),
    ]


def test_custom_kinds(client: ApiClient) -> None:
    client.post(DEFINITIONS, definition())
    configured(client, "Mutating", webhook("/add", rules=[{**RULE, "resources": ["queues"]}]))
    client.webhooks["/add"] = lambda request: setting("/spec/size", 9)
    made = client.post(QUEUES, queue("a"))
    assert (made["spec"]["size"], client.reviews[0]["object"]["spec"]["mode"]) == (9, "Fair")


def test_webhooks_and_policies_do_not_concern_one_another(client: ApiClient) -> None:
    configured(client, "Validating", webhook("/gone"))
    client.delete(f"/apis/{ADMISSION}/validatingwebhookconfigurations/ours")


def test_a_service_leads_to_an_endpoint_on_this_machine(client: ApiClient) -> None:
    service = {"namespace": "default", "name": "hooks", "path": "/check"}
    configured(
        client,
        "Validating",
        webhook("/check", clientConfig={"service": service}, rules=[{**RULE, "resources": ["configmaps"]}]),
    )
    client.webhooks["/check"] = lambda request: ALLOWED

    def told() -> str:
        return client.refused("POST", MAPS, config_map("a"))[2]

    assert 'https://hooks.default.svc:443/check?timeout=10s": service "hooks" not found' in told()
    body = {"metadata": {"name": "hooks"}, "spec": {"ports": [{"port": 443, "targetPort": 9443}]}}
    client.post("/api/v1/namespaces/default/services", body)
    assert 'no endpoints available for service "hooks"' in told()
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    there: Json = {
        "metadata": {"name": "hooks-1", "labels": {"kubernetes.io/service-name": "hooks"}},
        "addressType": "IPv4",
        "ports": [{"port": 9443}],
        "endpoints": [{"addresses": ["10.0.0.7"]}],
    }
    client.post(slices, there)
    assert "dial tcp 10.0.0.7:9443: the address is not on this machine" in told()
    client.patch(f"{slices}/hooks-1", {"endpoints": [{"addresses": ["127.0.0.1"]}]})
    client.post(MAPS, config_map("a"))
    other = {"url": "https://hooks.example.com/check"}
    configured(client, "Validating", webhook("/check", clientConfig=other), name="other")
    assert "hooks.example.com is not on this machine" in told()


def test_an_object_that_changes_meanwhile_is_reviewed_again(client: ApiClient) -> None:
    client.post(MAPS, config_map("a", x="1"))
    configured(client, "Validating", webhook("/check"))

    def with_y(body: Json) -> Json:
        return {**body, "data": {**body["data"], "y": "9"}}

    def interfere(request: Json) -> Json:
        if len(client.reviews) == 1:
            client.store.patch(client.store.list(("configmaps",)).items[0].key, with_y, Part.MAIN)
        return ALLOWED

    client.webhooks["/check"] = interfere
    assert client.patch(f"{MAPS}/a", {"data": {"x": "2"}})["data"] == {"x": "2", "y": "9"}
    assert [review["object"]["data"] for review in client.reviews] == [{"x": "2"}, {"x": "2", "y": "9"}]
