"""A cluster with the default roles, and a client of the user alice, without rights but those granted."""

from tests.minicluster.rest.api_client import ApiClient, said

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import ADMIN, AUTHENTICATED, UserInfo
from reprieve_minicluster.auth.authorizer import GROUP
from reprieve_minicluster.bootstrap import standard_objects
from reprieve_minicluster.controllers import ControllerManager
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.rest.http_messages import ApiResponse

ALICE = UserInfo("alice", ("dev", AUTHENTICATED))
ROLES = f"/apis/{GROUP}/v1/namespaces/default/roles"
BINDINGS = f"/apis/{GROUP}/v1/namespaces/default/rolebindings"
CLUSTER_ROLES = f"/apis/{GROUP}/v1/clusterroles"
CLUSTER_BINDINGS = f"/apis/{GROUP}/v1/clusterrolebindings"


def alice_s_client() -> ApiClient:
    client = ApiClient()
    for body in standard_objects():
        client.store.create(BY_NAME[body["kind"]].resource, body)
    aggregate_roles(client)
    client.user = ALICE
    return client


def aggregate_roles(client: ApiClient) -> None:
    """Aggregated roles may be parts of others, so it takes several steps."""
    controllers = ControllerManager(client.store)
    for _ in range(8):
        controllers.step()
        client.clock.now += 1


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> Json:
    named = {"resourceNames": names.split()} if names else {}
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), **named}


def role(name: str, *rules: Json) -> Json:
    return {"metadata": {"name": name}, "rules": list(rules)}


def binding(role: str, kind: str = "ClusterRole", name: str = "b", subject: Json | None = None) -> Json:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [subject or {"kind": "User", "apiGroup": GROUP, "name": "alice"}],
    }


def grant(client: ApiClient, path: str, body: Json) -> None:
    client.user, before = ADMIN, client.user
    client.post(path, body)
    client.user = before


def grant_everywhere(client: ApiClient, *rules: Json) -> None:
    grant(client, CLUSTER_ROLES, role("granted", *rules))
    grant(client, CLUSTER_BINDINGS, binding("granted", name="granted"))


def refused(answer: ApiResponse) -> str:
    return str(said(answer, 403)["message"])
