"""Roles, their bindings, and reviews of what users may do."""

from collections.abc import Callable
from functools import partial

from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import AGE, NAME, TableColumn, items_at, size, text_at
from reprieve_minicluster.kinds.kind import ResourceKind, RoleAccess

_GROUP = "rbac.authorization.k8s.io"


def _role(body: Json, now: float) -> str:
    return f"{text_at(body, 'roleRef.kind', '')}/{text_at(body, 'roleRef.name', '')}"


def _bound(*kinds: str) -> Callable[[Json, float], str]:
    def names(body: Json, now: float) -> str:
        subjects = [s for s in items_at(body, "subjects") if text_at(s, "kind") in kinds]
        full = ((text_at(s, "namespace", ""), text_at(s, "name")) for s in subjects)
        return ", ".join("/".join(filter(None, name)) for name in full)

    return names


ROLE = (NAME, size("Rules", "rules"), AGE)
BINDING = (
    NAME,
    TableColumn("Role", _role),
    AGE,
    TableColumn("Users", _bound("User"), wide=True),
    TableColumn("Groups", _bound("Group"), wide=True),
    TableColumn("ServiceAccounts", _bound("ServiceAccount"), wide=True),
)


_review = partial(ResourceKind, namespaced=False, asked=True)
KINDS = (
    ResourceKind(
        "Role",
        "roles",
        _GROUP,
        description="Policy rules in one namespace.",
        upserts=True,
        access=RoleAccess.ADMINS_ONLY,
        columns=ROLE,
    ),
    ResourceKind(
        "RoleBinding",
        "rolebindings",
        _GROUP,
        description="Grants a role to subjects in one namespace.",
        upserts=True,
        access=RoleAccess.ADMINS_ONLY,
        columns=BINDING,
    ),
    ResourceKind(
        "ClusterRole",
        "clusterroles",
        _GROUP,
        description="Policy rules for the whole cluster, or for namespaces with a RoleBinding to it.",
        namespaced=False,
        upserts=True,
        columns=ROLE,
    ),
    ResourceKind(
        "ClusterRoleBinding",
        "clusterrolebindings",
        _GROUP,
        description="Grants a ClusterRole to subjects in all namespaces.",
        namespaced=False,
        upserts=True,
        columns=BINDING,
    ),
    _review(
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        "authorization.k8s.io",
        description="Checks whether the current user can perform an action.",
        access=RoleAccess.EVERYBODY,
    ),
    _review(
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        "authorization.k8s.io",
        description="Lists the actions that the current user can perform in a namespace.",
        access=RoleAccess.EVERYBODY,
    ),
    _review(
        "SubjectAccessReview",
        "subjectaccessreviews",
        "authorization.k8s.io",
        description="Checks whether a user or group can perform an action.",
    ),
    ResourceKind(
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        "authorization.k8s.io",
        description="Checks whether a user or group can perform an action in one namespace.",
        asked=True,
        access=RoleAccess.ADMINS_ONLY,
    ),
    _review(
        "SelfSubjectReview",
        "selfsubjectreviews",
        "authentication.k8s.io",
        description="Returns the name and groups of the current user.",
        access=RoleAccess.EVERYBODY,
    ),
    _review(
        "TokenReview",
        "tokenreviews",
        "authentication.k8s.io",
        description="Attempts to authenticate a token to a known user.",
    ),
)
