"""Random rules, roles and bindings from a small vocabulary, and every request that it can name."""

from itertools import product

from hypothesis import strategies as st

from reprieve.model.json import Json
from reprieve_minicluster.auth.authorizer import GROUP
from tests.reference.plain.rights import Request, User

RBAC_WRITES = ("create", "update", "patch", "delete")
RBAC = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
VERBS = ("get", "create", "bind", "escalate", "*")
GROUPS = ("", GROUP, "*")
RESOURCES = ("pods", "pods/log", "*/log", "roles", "clusterroles", "*")
NAMES = ("a", "b", "")
PATHS = ("/x", "/x/*", "/x/y", "*")
NAMESPACES = ("default", "other")
ALICE, ACCOUNT = User("alice", ("dev",)), User("system:serviceaccount:other:robot")
USERS = (ALICE, ACCOUNT, User("bob"))

REQUESTS = [
    *(
        Request(verb, group, resource, name, namespace)
        for verb, group, resource, name, namespace in product(
            ("get", "create", "bind", "escalate", "odd"),
            ("", GROUP, "odd"),
            ("pods", "pods/log", "roles", "clusterroles", "odd"),
            NAMES,
            ("", *NAMESPACES),
        )
    ),
    *(Request(verb, path=path) for verb in ("get", "odd") for path in ("/x", "/x/y", "/x/y/z", "/odd")),
]


def some(entries: tuple[str, ...], least: int = 1, most: int = 3) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(entries), min_size=least, max_size=most, unique=True)


def rules(verbs: tuple[str, ...] = VERBS, groups: tuple[str, ...] = GROUPS) -> st.SearchStrategy[Json]:
    on_resources = st.fixed_dictionaries(
        {"verbs": some(verbs), "apiGroups": some(groups), "resources": some(RESOURCES)},
        optional={"resourceNames": some(NAMES)},
    )
    on_paths = st.fixed_dictionaries({"verbs": some(verbs), "nonResourceURLs": some(PATHS)})
    return on_resources | on_paths


def rule_lists() -> st.SearchStrategy[list[Json]]:
    return st.lists(rules(), max_size=2)


def subjects() -> st.SearchStrategy[list[Json]]:
    known: list[Json] = [
        {"kind": "User", "name": "alice"},
        {"kind": "Group", "name": "dev"},
        {"kind": "User", "name": "bob"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": "other"},
    ]
    return st.lists(st.sampled_from(known), max_size=2)


def role_refs() -> st.SearchStrategy[Json]:
    return st.builds(
        lambda kind, name: {"apiGroup": GROUP, "kind": kind, "name": name},
        st.sampled_from(("Role", "ClusterRole")),
        st.sampled_from(("a", "b", "granted", "strong", "sum", "later")),
    )
