"""Authorization of requests by roles, reviews, tokens and impersonation."""

from collections.abc import Mapping

import pytest
from tests.minicluster.rest.api_client import MAPS, NODES, PODS, SECRET, STRATEGIC, ApiClient, pod, said
from tests.minicluster.rest.limited_user import (
    ALICE,
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    ROLES,
    aggregate_roles,
    alice_s_client,
    binding,
    grant,
    refused,
    rule,
)

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import ADMIN, AUDIENCES, AUTHENTICATED
from reprieve_minicluster.auth.authorizer import GROUP
from reprieve_minicluster.errors import ApiError

OLDER_BINDINGS = "/api/v1/namespaces/default/bindings"
REVIEWS = "/apis/authorization.k8s.io/v1"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
TOKENS = "/api/v1/namespaces/default/serviceaccounts/default/token"
READ = rule("get", "pods")
PATHS, SELECTORS = "rules[0].nonResourceURLs[0]", "aggregationRule.clusterRoleSelectors"
WRONG = {"matchLabels": {"a b": "c"}}
HOMELESS = {"kind": "ServiceAccount", "name": "x"}


@pytest.fixture
def client() -> ApiClient:
    return alice_s_client()


# --- reading and writing -------------------------------------------------------------------------


def test_without_rights_nothing_is_shown(client: ApiClient) -> None:
    cannot = 'User "alice" cannot {} resource "{}" in API group "{}" {}'
    assert refused(client.ask("GET", PODS)) == "pods is forbidden: " + cannot.format(
        "list", "pods", "", 'in the namespace "default"'
    )
    assert refused(client.ask("GET", f"{NODES}/n")) == 'nodes "n" is forbidden: ' + cannot.format(
        "get", "nodes", "", "at the cluster scope"
    )
    assert "cannot watch resource" in refused(client.ask("GET", PODS, watch="true"))
    assert "cannot deletecollection resource" in refused(client.ask("DELETE", PODS))
    assert 'cannot create resource "pods/eviction"' in refused(client.ask("POST", f"{PODS}/a/eviction", {}))
    assert 'cannot create resource "bindings"' in refused(client.ask("POST", OLDER_BINDINGS, {}))
    assert refused(
        client.ask("PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale", {})
    ).startswith('deployments.apps "d" is forbidden')
    assert refused(client.ask("GET", "/nowhere")) == 'forbidden: User "alice" cannot get path "/nowhere"'


def test_what_every_user_may_read(client: ApiClient) -> None:
    for page in ("/api", "/apis", "/api/v1", "/openapi/v3", "/version"):
        client.get(page)


def test_a_right_in_a_namespace_is_for_that_namespace(client: ApiClient) -> None:
    grant(client, BINDINGS, binding("view"))
    assert client.get(PODS)["items"] == []
    assert refused(client.ask("GET", "/api/v1/pods"))
    assert refused(client.ask("GET", "/api/v1/namespaces/kube-system/pods"))
    assert refused(client.ask("GET", "/api/v1/namespaces/default/secrets"))
    assert refused(client.ask("POST", MAPS, {"metadata": {"name": "m"}}))


def test_a_right_in_a_namespace_is_for_the_object_of_that_namespace(client: ApiClient) -> None:
    grant(client, BINDINGS, binding("view"))
    assert client.get("/api/v1/namespaces/default")["metadata"]["name"] == "default"
    assert refused(client.ask("GET", "/api/v1/namespaces/kube-system"))
    assert refused(client.ask("GET", "/api/v1/namespaces"))
    message = refused(client.ask("DELETE", "/api/v1/namespaces/default"))
    assert message.endswith('cannot delete resource "namespaces" in API group "" in the namespace "default"')


def test_resizes_are_not_among_the_rights_of_an_editor(client: ApiClient) -> None:
    """The role edit of Kubernetes 1.37 does not have them."""
    grant(client, BINDINGS, binding("edit"))
    client.post(PODS, pod("p"))
    resized = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
    assert "pods/resize" in refused(client.ask("PATCH", f"{PODS}/p/resize", resized, content_type=STRATEGIC))


def test_a_right_everywhere(client: ApiClient) -> None:
    grant(
        client, CLUSTER_BINDINGS, binding("edit", subject={"kind": "Group", "apiGroup": GROUP, "name": "dev"})
    )
    client.get("/api/v1/pods")
    client.post(MAPS, {"metadata": {"name": "m"}})
    assert refused(client.ask("GET", NODES))


def test_a_role_of_one_s_own_with_names(client: ApiClient) -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["m"]}
    grant(client, ROLES, {"metadata": {"name": "r"}, "rules": [rule]})
    grant(client, BINDINGS, binding("r", "Role"))
    grant(client, MAPS, {"metadata": {"name": "m"}})
    client.get(f"{MAPS}/m")
    assert refused(client.ask("GET", f"{MAPS}/n"))
    assert refused(client.ask("GET", MAPS))


def test_rights_end_with_their_binding(client: ApiClient) -> None:
    grant(client, BINDINGS, binding("view"))
    client.get(PODS)
    client.user = ADMIN
    said(client.ask("DELETE", f"{BINDINGS}/b"), 200)
    client.user = ALICE
    assert refused(client.ask("GET", PODS))


def test_a_role_that_is_put_together_grows_with_its_parts(client: ApiClient) -> None:
    label = f"{GROUP}/aggregate-to-view"
    rule = {"verbs": ["get"], "apiGroups": ["x.dev"], "resources": ["things"]}
    part = {"metadata": {"name": "p", "labels": {label: "true"}}, "rules": [rule]}
    grant(client, f"/apis/{GROUP}/v1/clusterroles", part)
    aggregate_roles(client)
    client.user = ADMIN
    for role in ("view", "edit", "admin"):
        assert rule in client.get(f"/apis/{GROUP}/v1/clusterroles/{role}")["rules"]


# --- questions -----------------------------------------------------------------------------------


def may(client: ApiClient, kind: str, attributes: Mapping[str, str], **more: object) -> bool:
    spec = {"resourceAttributes": attributes, **more}
    return bool(client.post(f"{REVIEWS}/{kind}", {"spec": spec})["status"]["allowed"])


def test_may_i(client: ApiClient) -> None:
    pods = {"verb": "list", "resource": "pods", "namespace": "default"}
    assert not may(client, "selfsubjectaccessreviews", pods)
    grant(client, BINDINGS, binding("view"))
    assert may(client, "selfsubjectaccessreviews", pods)
    assert not may(client, "selfsubjectaccessreviews", {**pods, "namespace": ""})
    assert may(client, "selfsubjectaccessreviews", {**pods, "subresource": "log", "verb": "get"})
    path = {"nonResourceAttributes": {"verb": "get", "path": "/api"}}
    assert client.post(f"{REVIEWS}/selfsubjectaccessreviews", {"spec": path})["status"]["allowed"]


def test_may_they(client: ApiClient) -> None:
    grant(client, BINDINGS, binding("view"))
    pods = {"verb": "list", "resource": "pods", "namespace": "default"}
    assert refused(client.ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": {}}))
    client.user = ADMIN
    assert may(client, "subjectaccessreviews", pods, user="alice")
    assert not may(client, "subjectaccessreviews", pods, user="bob")
    assert may(client, "subjectaccessreviews", pods, groups=["system:masters"])
    said(client.ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": {"resourceAttributes": pods}}), 422)
    said(client.ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": {"user": "bob"}}), 422)


def test_what_may_i(client: ApiClient) -> None:
    grant(client, BINDINGS, binding("view"))
    status = client.post(f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})["status"]
    assert any("pods" in rule["resources"] for rule in status["resourceRules"])
    assert any("/api/*" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])
    elsewhere = client.post(f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "x"}})["status"]
    assert not any("pods" in rule["resources"] for rule in elsewhere["resourceRules"])


def test_the_review_of_the_current_user(client: ApiClient) -> None:
    status = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})["status"]
    assert status["userInfo"] == {"username": "alice", "groups": ["dev", AUTHENTICATED]}


def test_questions_are_not_stored(client: ApiClient) -> None:
    version = client.store.version
    client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert client.store.version == version
    client.user = ADMIN
    said(client.ask("GET", f"{REVIEWS}/selfsubjectaccessreviews"), 405)


# --- tokens --------------------------------------------------------------------------------------


def test_a_token_for_a_service_account(client: ApiClient) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    assert 'cannot create resource "serviceaccounts/token"' in refused(client.ask("POST", path, {}))
    client.user = ADMIN
    token = client.post(path, {"spec": {"expirationSeconds": 600}})["status"]["token"]
    review = {"spec": {"token": token}}
    status = client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
    assert status["user"]["username"] == "system:serviceaccount:default:default"
    client.clock.now += 601
    assert not client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]["authenticated"]
    said(client.ask("POST", path, {"spec": {"expirationSeconds": 5}}), 422)


def reviewed(client: ApiClient, token: str, *audiences: str) -> Json:
    spec = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    status: Json = client.post(TOKEN_REVIEWS, {"spec": spec})["status"]
    return status


def test_a_token_is_for_its_audience(client: ApiClient) -> None:
    client.user = ADMIN
    made = client.post(TOKENS, {"spec": {"audiences": ["vault", "ci"]}})
    token = made["status"]["token"]
    with pytest.raises(ApiError, match="Unauthorized"):
        client.front.authenticate("/", {"Authorization": f"Bearer {token}"})
    assert "it is for vault, ci" in reviewed(client, token)["error"]
    assert not reviewed(client, token, "other")["authenticated"]
    status = reviewed(client, token, "other", "vault")
    assert (status["authenticated"], status["audiences"]) == (True, ["vault"])


def test_without_an_audience_a_token_is_for_the_api_server(client: ApiClient) -> None:
    client.user = ADMIN
    made = client.post(TOKENS, {})
    assert made["spec"]["audiences"] == list(AUDIENCES)
    token = made["status"]["token"]
    assert client.front.authenticate("/", {"Authorization": f"Bearer {token}"}).name.endswith(":default")
    assert reviewed(client, token)["audiences"] == list(AUDIENCES)
    assert not reviewed(client, token, "vault")["authenticated"]
    assert not reviewed(client, SECRET, "vault")["authenticated"]
    assert reviewed(client, SECRET, *AUDIENCES)["user"]["username"] == "reprieve-admin"


@pytest.mark.parametrize("path", [TOKENS, TOKEN_REVIEWS])
@pytest.mark.parametrize("audiences", [5, "x", {}, [5], [["x"]]])
def test_audiences_are_a_list_of_strings(client: ApiClient, path: str, audiences: object) -> None:
    client.user = ADMIN
    body = {"spec": {"token": SECRET, "audiences": audiences}}
    assert "audiences" in said(client.ask("POST", path, body), 400)["message"]


def test_a_service_account_has_what_it_is_bound_to(client: ApiClient) -> None:
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
    grant(client, BINDINGS, binding("view", subject=account))
    client.user = ADMIN
    token = client.post("/api/v1/namespaces/default/serviceaccounts/default/token", {})["status"]["token"]
    client.user = client.front.authenticate("/", {"Authorization": f"Bearer {token}"})
    client.get(PODS)
    assert 'User "system:serviceaccount:default:default"' in refused(client.ask("GET", NODES))


# --- authentication ------------------------------------------------------------------------------


def test_strangers_are_sent_away(client: ApiClient) -> None:
    for header in ("", "Bearer x", f"Basic {SECRET}", "Bearer"):
        with pytest.raises(ApiError) as error:
            client.front.authenticate("/api", {"Authorization": header})
        assert error.value.status == 401
    assert client.front.authenticate("/version", {}).name == "system:anonymous"


# --- mistakes ------------------------------------------------------------------------------------


def test_the_group_of_a_role_and_of_people_goes_without_saying(client: ApiClient) -> None:
    client.user = ADMIN
    people = [
        {"kind": "User", "name": "bob"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "default"},
    ]
    body = {"metadata": {"name": "x"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": people}
    made = client.post(BINDINGS, body)
    assert made["roleRef"]["apiGroup"] == GROUP
    assert [subject.get("apiGroup") for subject in made["subjects"]] == [GROUP, None]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (ROLES, {"rules": [{"apiGroups": [""], "resources": ["pods"]}]}, "rules[0].verbs"),
        (ROLES, {"rules": [{"verbs": ["get"], "resources": ["pods"]}]}, "rules[0].apiGroups"),
        (ROLES, {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}, "rules[0].nonResourceURLs"),
        (ROLES, {"rules": [None]}, "rules[0].verbs"),
        (CLUSTER_ROLES, {"rules": [{**READ, "resourceNames": [None]}]}, "rules[0].resourceNames[0]"),
        (CLUSTER_ROLES, {"rules": [{**READ, "verbs": ["get", None]}]}, "rules[0].verbs[1]"),
        (CLUSTER_ROLES, {"rules": [{**READ, "apiGroups": [None]}]}, "rules[0].apiGroups[0]"),
        (CLUSTER_ROLES, {"rules": [{**READ, "resources": [None]}]}, "rules[0].resources[0]"),
        (CLUSTER_ROLES, {"rules": [{"verbs": ["get"], "nonResourceURLs": [None]}]}, PATHS),
        (CLUSTER_ROLES, {"rules": [{**READ, "nonResourceURLs": ["/x"]}]}, "rules[0].nonResourceURLs"),
        (CLUSTER_ROLES, {"aggregationRule": {}}, SELECTORS),
        (CLUSTER_ROLES, {"aggregationRule": {"clusterRoleSelectors": [None]}}, f"{SELECTORS}[0]"),
        (
            CLUSTER_ROLES,
            {"aggregationRule": {"clusterRoleSelectors": [WRONG]}},
            f"{SELECTORS}[0].matchLabels",
        ),
        (BINDINGS, binding("r", subject={**HOMELESS, "name": "a:b"}), "subjects[0].name"),
        (BINDINGS, {"roleRef": {"apiGroup": "x", "kind": "Role", "name": "r"}}, "roleRef.apiGroup"),
        (BINDINGS, {"roleRef": {"apiGroup": GROUP, "kind": "Pod", "name": "r"}}, "roleRef.kind"),
        (CLUSTER_BINDINGS, {"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"}}, "roleRef.kind"),
        (BINDINGS, {"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "a/b"}}, "roleRef.name"),
        (BINDINGS, binding("r", subject={"kind": "Robot", "name": "x"}), "subjects[0].kind"),
        (CLUSTER_BINDINGS, binding("r", subject=HOMELESS), "subjects[0].namespace"),
    ],
)
def test_roles_that_cannot_be(client: ApiClient, path: str, body: Json, field: str) -> None:
    client.user = ADMIN
    status = said(client.ask("POST", path, {"metadata": {"name": "x"}, **body}), 422)
    assert field in [cause["field"] for cause in status["details"]["causes"]]
