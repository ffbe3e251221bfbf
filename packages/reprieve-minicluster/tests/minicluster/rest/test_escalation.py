"""Privilege escalation: a user gives no rights that it does not have."""

from time import perf_counter

import pytest
from tests.minicluster.rest.api_client import JSON_PATCH, MERGE, NODES, PODS, ApiClient, said
from tests.minicluster.rest.limited_user import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    ROLES,
    aggregate_roles,
    alice_s_client,
    binding,
    grant,
    grant_everywhere,
    refused,
    role,
    rule,
)

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import ADMIN
from reprieve_minicluster.auth.authorizer import GROUP

BOB = {"kind": "User", "name": "bob"}
WRITES = "create update patch get"
EVERY_ROLE = {"clusterRoleSelectors": [{"matchLabels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}]}
APPLY = "application/apply-patch+yaml"


@pytest.fixture
def client() -> ApiClient:
    return alice_s_client()


def test_a_role_cannot_grant_rights_that_its_author_lacks(client: ApiClient) -> None:
    grant(client, BINDINGS, binding("admin"))
    client.post(BINDINGS, binding("edit", name="c", subject=BOB))
    message = refused(client.ask("POST", BINDINGS, binding("cluster-admin", name="d")))
    assert "it grants rights that the user does not have: * *.*" in message
    wanted = role("r", rule("get", "nodes"))
    assert "rights that the user does not have: get nodes" in refused(client.ask("POST", ROLES, wanted))
    grant(client, ROLES, wanted)
    more = role("r", rule("get", "nodes"), rule("list", "nodes"))
    assert refused(client.ask("PUT", f"{ROLES}/r", more))


def test_the_verb_escalate_allows_escalation(client: ApiClient) -> None:
    grant(client, ROLES, role("r", rule("escalate create", "roles", GROUP)))
    grant(client, BINDINGS, binding("r", "Role"))
    client.post(ROLES, role("s", rule("*", "roles", GROUP)))


def test_the_verb_escalate_for_one_name_is_not_for_a_role_to_be_created(client: ApiClient) -> None:
    """The authorizer does not know the name of a new object, as in Kubernetes."""
    grant_everywhere(client, rule("create", "roles", GROUP), rule("escalate update", "roles", GROUP, "s"))
    assert refused(client.ask("POST", ROLES, role("s", rule("get", "nodes"))))
    grant(client, ROLES, role("s"))
    client.put(f"{ROLES}/s", role("s", rule("get", "nodes")))


@pytest.mark.parametrize("fields", [{"finalizers": ["example.com/wait"]}, {"ownerReferences": []}, {}])
def test_a_collector_needs_no_rights_of_a_role_or_binding(client: ApiClient, fields: Json) -> None:
    grant_everywhere(client, rule(WRITES, "clusterroles rolebindings", GROUP))
    grant(client, BINDINGS, binding("edit", subject=BOB))
    for path in (f"{CLUSTER_ROLES}/cluster-admin", f"{CLUSTER_ROLES}/view", f"{BINDINGS}/b"):
        client.patch(path, {"metadata": fields}, MERGE)
        labelled = {"metadata": {**fields, "labels": {"x": "y"}}}
        assert refused(client.ask("PATCH", path, labelled, content_type=MERGE))


def test_a_binding_stays_with_its_role(client: ApiClient) -> None:
    client.user = ADMIN
    made = client.post(BINDINGS, binding("view"))
    answer = client.ask("PUT", f"{BINDINGS}/b", {**made, "roleRef": {**made["roleRef"], "name": "edit"}})
    assert "roleRef" in said(answer, 422)["message"]


def test_an_update_creates_a_role_only_with_its_rights_and_the_verb_create(client: ApiClient) -> None:
    grant_everywhere(client, rule("update", "roles rolebindings", GROUP), rule("get", "pods"))
    reader = role("s", rule("get", "pods"))
    assert "cannot create resource" in refused(client.ask("PUT", f"{ROLES}/s", reader))
    grant(client, BINDINGS, binding("admin"))
    assert "does not have" in refused(client.ask("PUT", f"{ROLES}/s", role("s", rule("get", "nodes"))))
    assert "does not have" in refused(client.ask("PUT", f"{BINDINGS}/c", binding("cluster-admin", name="c")))
    made = said(client.ask("PUT", f"{ROLES}/s", reader), 201)
    assert made["metadata"]["uid"]
    said(client.ask("PUT", f"{ROLES}/s", made), 200)


# --- aggregation rules -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        (MERGE, {"aggregationRule": EVERY_ROLE}),
        (JSON_PATCH, [{"op": "add", "path": "/aggregationRule", "value": EVERY_ROLE}]),
        (
            APPLY,
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "granted"},
                "aggregationRule": EVERY_ROLE,
            },
        ),
    ],
)
def test_an_aggregation_rule_in_one_s_own_role_gives_nothing(
    client: ApiClient, content_type: str, patch: object
) -> None:
    grant_everywhere(client, rule(WRITES, "clusterroles", GROUP))
    answer = client.ask(
        "PATCH", f"{CLUSTER_ROLES}/granted", patch, content_type=content_type, fieldManager="me"
    )
    assert "an aggregationRule needs the rights of cluster-admin" in refused(answer)
    aggregate_roles(client)
    assert refused(client.ask("GET", NODES))


def test_an_aggregation_rule_is_neither_created_nor_taken_away(client: ApiClient) -> None:
    grant_everywhere(client, rule(WRITES, "clusterroles", GROUP))
    aggregated = {"metadata": {"name": "a"}, "aggregationRule": EVERY_ROLE}
    assert "aggregationRule" in refused(client.ask("POST", CLUSTER_ROLES, aggregated))
    selects_nothing = {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}
    grant(client, CLUSTER_ROLES, {**aggregated, "aggregationRule": selects_nothing})
    taken = {"aggregationRule": None}
    assert "aggregationRule" in refused(client.ask("PATCH", f"{CLUSTER_ROLES}/a", taken, content_type=MERGE))


def test_a_user_with_the_rights_of_cluster_admin_may_aggregate(client: ApiClient) -> None:
    grant(client, CLUSTER_BINDINGS, binding("cluster-admin"))
    client.post(CLUSTER_ROLES, {"metadata": {"name": "a"}, "aggregationRule": EVERY_ROLE})


# --- bindings --------------------------------------------------------------------------------------


def test_a_binding_to_a_role_that_does_not_exist_is_refused(client: ApiClient) -> None:
    grant(client, BINDINGS, binding("admin"))
    for kind, where in (("Role", "roles"), ("ClusterRole", "clusterroles")):
        answer = client.ask("POST", BINDINGS, binding("later", kind, name="c", subject=BOB))
        assert said(answer, 404)["message"] == f'{where}.{GROUP} "later" not found'


def test_the_verb_bind_is_for_the_role_that_it_names(client: ApiClient) -> None:
    grant_everywhere(
        client, rule("create", "rolebindings", GROUP), rule("bind", "clusterroles", GROUP, "later view")
    )
    client.post(BINDINGS, binding("later"))
    client.post(BINDINGS, binding("view", name="c"))
    assert refused(client.ask("POST", BINDINGS, binding("edit", name="d")))
    client.get(PODS)


def test_a_binding_gains_subjects_only_from_a_user_with_its_rights(client: ApiClient) -> None:
    grant_everywhere(client, rule(WRITES, "rolebindings", GROUP))
    grant(client, BINDINGS, binding("edit", subject=BOB))
    alice = {"subjects": [{"kind": "User", "name": "alice"}]}
    assert refused(client.ask("PATCH", f"{BINDINGS}/b", alice, content_type=MERGE))


# --- names -----------------------------------------------------------------------------------------


def test_a_field_selector_does_not_open_create(client: ApiClient) -> None:
    grant_everywhere(client, rule("create list watch deletecollection", "configmaps secrets", "", "m"))
    maps = "/api/v1/namespaces/default/configmaps"
    new: Json = {"metadata": {"name": "other"}}
    assert refused(client.ask("POST", maps, new, fieldSelector="metadata.name=m"))
    assert refused(client.ask("GET", maps))
    client.get(maps, fieldSelector="metadata.name=m")
    client.get(maps, fieldSelector="metadata.namespace=default,metadata.name==m")
    for other in ("metadata.name!=m", "metadata.name=o", "x.metadata.name=m", "metadata.namespace=m", "=m"):
        assert refused(client.ask("GET", maps, fieldSelector=other))
    assert refused(client.ask("DELETE", maps, fieldSelector="metadata.name=m"))


# --- size ------------------------------------------------------------------------------------------


def test_rules_that_stand_for_billions_of_permissions_are_compared_at_once(client: ApiClient) -> None:
    grant(client, ROLES, role("all", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}))
    grant(client, BINDINGS, binding("all", "Role"))
    many = [f"x{i}" for i in range(2000)]
    large = {"verbs": many, "apiGroups": many, "resources": many, "resourceNames": many}
    begun = perf_counter()
    client.post(ROLES, role("large", large))
    client.post(BINDINGS, binding("large", "Role", name="large"))
    client.put(f"{ROLES}/large", role("large", large))
    assert perf_counter() - begun < 10
