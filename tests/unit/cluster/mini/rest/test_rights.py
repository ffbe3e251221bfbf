"""What somebody may do, asked as a client would."""

from collections.abc import Mapping

import pytest

from reprieve.cluster.mini.controllers import Controllers
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kinds import BY_NAME
from reprieve.cluster.mini.rest.exchange import Response
from reprieve.cluster.mini.rights.roles import GROUP
from reprieve.cluster.mini.rights.users import ADMIN, AUTHENTICATED, Issuer, User
from reprieve.cluster.mini.setup import standard_objects
from reprieve.model.json import Json
from tests.unit.cluster.mini.rest.asking import MAPS, NODES, PODS, SECRET, Asker, said

ALICE = User("alice", ("dev", AUTHENTICATED))
ROLES = f"/apis/{GROUP}/v1/namespaces/default/roles"
BINDINGS = f"/apis/{GROUP}/v1/namespaces/default/rolebindings"
CLUSTER_BINDINGS = f"/apis/{GROUP}/v1/clusterrolebindings"
OLDER_BINDINGS = "/api/v1/namespaces/default/bindings"
REVIEWS = "/apis/authorization.k8s.io/v1"


@pytest.fixture
def asker() -> Asker:
    """Alice, in a cluster in which she has no rights yet."""
    asker = Asker()
    for body in standard_objects():
        asker.store.create(BY_NAME[body["kind"]].resource, body)
    put_together(asker)
    asker.user = ALICE
    return asker


def put_together(asker: Asker) -> None:
    """Roles are made from others that are made from others."""
    controllers = Controllers(asker.store, asker.clock)
    for _ in range(8):
        controllers.step()
        asker.clock.now += 1


HOMELESS = {"kind": "ServiceAccount", "name": "x"}


def binding(role: str, kind: str = "ClusterRole", name: str = "b", subject: Json | None = None) -> Json:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [subject or {"kind": "User", "apiGroup": GROUP, "name": "alice"}],
    }


def grant(asker: Asker, path: str, body: Json) -> None:
    asker.user, before = ADMIN, asker.user
    asker.post(path, body)
    asker.user = before


def refused(answer: Response) -> str:
    return str(said(answer, 403)["message"])


# --- reading and writing -------------------------------------------------------------------------


def test_without_rights_nothing_is_shown(asker: Asker) -> None:
    cannot = 'User "alice" cannot {} resource "{}" in API group "{}" {}'
    assert refused(asker.ask("GET", PODS)) == "pods is forbidden: " + cannot.format(
        "list", "pods", "", 'in the namespace "default"'
    )
    assert refused(asker.ask("GET", f"{NODES}/n")) == 'nodes "n" is forbidden: ' + cannot.format(
        "get", "nodes", "", "at the cluster scope"
    )
    assert "cannot watch resource" in refused(asker.ask("GET", PODS, watch="true"))
    assert "cannot deletecollection resource" in refused(asker.ask("DELETE", PODS))
    assert 'cannot create resource "pods/eviction"' in refused(asker.ask("POST", f"{PODS}/a/eviction", {}))
    assert 'cannot create resource "bindings"' in refused(asker.ask("POST", OLDER_BINDINGS, {}))
    assert refused(asker.ask("PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale", {})).startswith(
        'deployments.apps "d" is forbidden'
    )
    assert refused(asker.ask("GET", "/nowhere")) == 'forbidden: User "alice" cannot get path "/nowhere"'


def test_what_everybody_may_know(asker: Asker) -> None:
    for page in ("/api", "/apis", "/api/v1", "/openapi/v3", "/version"):
        asker.get(page)


def test_a_right_in_a_namespace_is_for_that_namespace(asker: Asker) -> None:
    grant(asker, BINDINGS, binding("view"))
    assert asker.get(PODS)["items"] == []
    assert refused(asker.ask("GET", "/api/v1/pods"))
    assert refused(asker.ask("GET", "/api/v1/namespaces/kube-system/pods"))
    assert refused(asker.ask("GET", "/api/v1/namespaces/default/secrets"))
    assert refused(asker.ask("POST", MAPS, {"metadata": {"name": "m"}}))


def test_a_right_everywhere(asker: Asker) -> None:
    grant(
        asker, CLUSTER_BINDINGS, binding("edit", subject={"kind": "Group", "apiGroup": GROUP, "name": "dev"})
    )
    asker.get("/api/v1/pods")
    asker.post(MAPS, {"metadata": {"name": "m"}})
    assert refused(asker.ask("GET", NODES))


def test_a_role_of_one_s_own_with_names(asker: Asker) -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["m"]}
    grant(asker, ROLES, {"metadata": {"name": "r"}, "rules": [rule]})
    grant(asker, BINDINGS, binding("r", "Role"))
    grant(asker, MAPS, {"metadata": {"name": "m"}})
    asker.get(f"{MAPS}/m")
    assert refused(asker.ask("GET", f"{MAPS}/n"))
    assert refused(asker.ask("GET", MAPS))


def test_rights_end_with_their_binding(asker: Asker) -> None:
    grant(asker, BINDINGS, binding("view"))
    asker.get(PODS)
    asker.user = ADMIN
    said(asker.ask("DELETE", f"{BINDINGS}/b"), 200)
    asker.user = ALICE
    assert refused(asker.ask("GET", PODS))


def test_a_role_that_is_put_together_grows_with_its_parts(asker: Asker) -> None:
    label = f"{GROUP}/aggregate-to-view"
    rule = {"verbs": ["get"], "apiGroups": ["x.dev"], "resources": ["things"]}
    part = {"metadata": {"name": "p", "labels": {label: "true"}}, "rules": [rule]}
    grant(asker, f"/apis/{GROUP}/v1/clusterroles", part)
    put_together(asker)
    asker.user = ADMIN
    for role in ("view", "edit", "admin"):
        assert rule in asker.get(f"/apis/{GROUP}/v1/clusterroles/{role}")["rules"]


# --- nobody gives what they do not have ----------------------------------------------------------


def test_nobody_gives_what_they_do_not_have(asker: Asker) -> None:
    grant(asker, BINDINGS, binding("admin"))
    asker.post(BINDINGS, binding("edit", name="c", subject={"kind": "User", "name": "bob"}))
    message = refused(asker.ask("POST", BINDINGS, binding("cluster-admin", name="d")))
    assert "since it gives rights that the user has not: * *.*" in message
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}
    role = {"metadata": {"name": "r"}, "rules": [rule]}
    assert "rights that the user has not: get nodes" in refused(asker.ask("POST", ROLES, role))
    grant(asker, ROLES, role)
    assert refused(asker.ask("PUT", f"{ROLES}/r", {**role, "rules": [rule, {**rule, "verbs": ["list"]}]}))


def test_who_may_escalate_may(asker: Asker) -> None:
    rule = {"verbs": ["escalate", "create"], "apiGroups": [GROUP], "resources": ["roles"]}
    grant(asker, ROLES, {"metadata": {"name": "r"}, "rules": [rule]})
    grant(asker, BINDINGS, binding("r", "Role"))
    asker.post(ROLES, {"metadata": {"name": "s"}, "rules": [{**rule, "verbs": ["*"]}]})


def test_a_binding_stays_with_its_role(asker: Asker) -> None:
    asker.user = ADMIN
    made = asker.post(BINDINGS, binding("view"))
    answer = asker.ask("PUT", f"{BINDINGS}/b", {**made, "roleRef": {**made["roleRef"], "name": "edit"}})
    assert "roleRef" in said(answer, 422)["message"]


# --- questions -----------------------------------------------------------------------------------


def may(asker: Asker, kind: str, attributes: Mapping[str, str], **more: object) -> bool:
    spec = {"resourceAttributes": attributes, **more}
    return bool(asker.post(f"{REVIEWS}/{kind}", {"spec": spec})["status"]["allowed"])


def test_may_i(asker: Asker) -> None:
    pods = {"verb": "list", "resource": "pods", "namespace": "default"}
    assert not may(asker, "selfsubjectaccessreviews", pods)
    grant(asker, BINDINGS, binding("view"))
    assert may(asker, "selfsubjectaccessreviews", pods)
    assert not may(asker, "selfsubjectaccessreviews", {**pods, "namespace": ""})
    assert may(asker, "selfsubjectaccessreviews", {**pods, "subresource": "log", "verb": "get"})
    path = {"nonResourceAttributes": {"verb": "get", "path": "/api"}}
    assert asker.post(f"{REVIEWS}/selfsubjectaccessreviews", {"spec": path})["status"]["allowed"]


def test_may_they(asker: Asker) -> None:
    grant(asker, BINDINGS, binding("view"))
    pods = {"verb": "list", "resource": "pods", "namespace": "default"}
    assert refused(asker.ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": {}}))
    asker.user = ADMIN
    assert may(asker, "subjectaccessreviews", pods, user="alice")
    assert not may(asker, "subjectaccessreviews", pods, user="bob")
    assert may(asker, "subjectaccessreviews", pods, groups=["system:masters"])
    said(asker.ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": {"resourceAttributes": pods}}), 422)
    said(asker.ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": {"user": "bob"}}), 422)


def test_what_may_i(asker: Asker) -> None:
    grant(asker, BINDINGS, binding("view"))
    status = asker.post(f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})["status"]
    assert any("pods" in rule["resources"] for rule in status["resourceRules"])
    assert any("/api/*" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])
    elsewhere = asker.post(f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "x"}})["status"]
    assert not any("pods" in rule["resources"] for rule in elsewhere["resourceRules"])


def test_who_am_i(asker: Asker) -> None:
    status = asker.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})["status"]
    assert status["userInfo"] == {"username": "alice", "groups": ["dev", AUTHENTICATED]}


def test_questions_are_not_stored(asker: Asker) -> None:
    version = asker.store.version
    asker.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert asker.store.version == version
    asker.user = ADMIN
    said(asker.ask("GET", f"{REVIEWS}/selfsubjectaccessreviews"), 405)


# --- tokens --------------------------------------------------------------------------------------


def test_a_token_for_a_service_account(asker: Asker) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    assert 'cannot create resource "serviceaccounts/token"' in refused(asker.ask("POST", path, {}))
    asker.user = ADMIN
    token = asker.post(path, {"spec": {"expirationSeconds": 600}})["status"]["token"]
    review = {"spec": {"token": token}}
    status = asker.post("/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
    assert status["user"]["username"] == "system:serviceaccount:default:default"
    asker.clock.now += 601
    assert not asker.post("/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]["authenticated"]
    said(asker.ask("POST", path, {"spec": {"expirationSeconds": 5}}), 422)


def test_a_service_account_has_what_it_is_bound_to(asker: Asker) -> None:
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
    grant(asker, BINDINGS, binding("view", subject=account))
    asker.user = ADMIN
    token = asker.post("/api/v1/namespaces/default/serviceaccounts/default/token", {})["status"]["token"]
    asker.user = asker.front.who("/", {"Authorization": f"Bearer {token}"})
    asker.get(PODS)
    assert 'User "system:serviceaccount:default:default"' in refused(asker.ask("GET", NODES))


# --- who asks ------------------------------------------------------------------------------------


def test_strangers_are_sent_away(asker: Asker) -> None:
    for header in ("", "Bearer x", f"Basic {SECRET}", "Bearer"):
        with pytest.raises(ApiError) as error:
            asker.front.who("/api", {"Authorization": header})
        assert error.value.status == 401
    assert asker.front.who("/version", {}).name == "system:anonymous"


def test_in_the_name_of_others(asker: Asker) -> None:
    headers = {"Authorization": f"Bearer {SECRET}", "Impersonate-User": "alice", "Impersonate-Group": "a, b"}
    assert asker.front.who("/", headers) == User("alice", ("a", "b", AUTHENTICATED))
    account = {**headers, "Impersonate-User": "system:serviceaccount:ns:sa", "Impersonate-Group": ""}
    assert "system:serviceaccounts:ns" in asker.front.who("/", account).groups
    token = Issuer(SECRET).token_of(ALICE)
    with pytest.raises(ApiError, match='User "alice" cannot impersonate resource "users"'):
        asker.front.who("/", {**headers, "Authorization": f"Bearer {token}", "Impersonate-User": "bob"})


# --- mistakes ------------------------------------------------------------------------------------


def test_the_group_of_a_role_and_of_people_goes_without_saying(asker: Asker) -> None:
    asker.user = ADMIN
    people = [
        {"kind": "User", "name": "bob"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "default"},
    ]
    body = {"metadata": {"name": "x"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": people}
    made = asker.post(BINDINGS, body)
    assert made["roleRef"]["apiGroup"] == GROUP
    assert [subject.get("apiGroup") for subject in made["subjects"]] == [GROUP, None]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (ROLES, {"rules": [{"apiGroups": [""], "resources": ["pods"]}]}, "rules[0].verbs"),
        (ROLES, {"rules": [{"verbs": ["get"], "resources": ["pods"]}]}, "rules[0].apiGroups"),
        (ROLES, {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}, "rules[0].nonResourceURLs"),
        (BINDINGS, {"roleRef": {"apiGroup": "x", "kind": "Role", "name": "r"}}, "roleRef.apiGroup"),
        (BINDINGS, {"roleRef": {"apiGroup": GROUP, "kind": "Pod", "name": "r"}}, "roleRef.kind"),
        (CLUSTER_BINDINGS, {"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"}}, "roleRef.kind"),
        (BINDINGS, binding("r", subject={"kind": "Robot", "name": "x"}), "subjects[0].kind"),
        (CLUSTER_BINDINGS, binding("r", subject=HOMELESS), "subjects[0].namespace"),
    ],
)
def test_roles_that_cannot_be(asker: Asker, path: str, body: Json, field: str) -> None:
    asker.user = ADMIN
    status = said(asker.ask("POST", path, {"metadata": {"name": "x"}, **body}), 422)
    assert field in [cause["field"] for cause in status["details"]["causes"]]
