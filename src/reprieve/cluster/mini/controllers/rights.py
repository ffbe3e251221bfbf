"""ClusterRoles that are put together from others, and the ServiceAccount that every namespace has."""

from collections.abc import Iterator

from reprieve.cluster.mini.controllers.mirror import (
    ACCOUNTS,
    CLUSTER_ROLES,
    NAMESPACES,
    Described,
    Mirror,
    Name,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import ClusterRole, NamespaceFacts, ServiceAccount
from reprieve.cluster.mini.controllers.writes import Amend, Create, Write
from reprieve.cluster.mini.history import Key
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_selector

ACCOUNT = "default"
_NOBODY = Ref(kind="ClusterRole", namespace="", name="")


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    """A role may be part of any that is put together, and these may be parts of others."""
    if isinstance(thing, ClusterRole):
        yield from (key_in(CLUSTER_ROLES, role) for role in mirror.roles if role.aggregation_rule)


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    role = mirror.roles.get(Name("", key.name))
    if role is None or role.aggregation_rule is None:
        return
    wanted: list[Json] = []
    for part in sorted(mirror.roles, key=lambda part: part.metadata.name):
        if part is not role and _selects(role.aggregation_rule.cluster_role_selectors, part):
            wanted += [rule for rule in part.rules or () if rule not in wanted]
    if wanted != (role.rules or []):
        yield Amend(key, role.metadata.uid, lambda body: body.update(rules=wanted))


def _selects(selectors: tuple[LabelSelector, ...], part: ClusterRole) -> bool:
    compiled = (compile_selector(s, "clusterRoleSelectors", Problems(_NOBODY)) for s in selectors)
    return any(selector.matches(part.metadata.labels) for selector in compiled)


def account_concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case NamespaceFacts():
            yield key_in(NAMESPACES, thing)
        case ServiceAccount():
            yield Key(NAMESPACES, "", thing.metadata.namespace)


def reconcile_account(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    namespace = mirror.namespaces.get(Name("", key.name))
    if namespace is None or namespace.metadata.deletion_timestamp is not None:
        return
    if mirror.accounts.get(Name(key.name, ACCOUNT)) is None:
        meta = {"name": ACCOUNT, "namespace": key.name}
        yield Create(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
