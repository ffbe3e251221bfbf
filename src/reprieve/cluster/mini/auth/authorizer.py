"""The RBAC authorizer: roles and bindings in the store decide what a user may do."""

from collections.abc import Iterator
from typing import Any

import msgspec

from reprieve.cluster.mini.auth.authentication import UserInfo, account_user
from reprieve.cluster.mini.auth.policy_rules import PolicyRule, RequestAttributes, allows
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.store import Store
from reprieve.cluster.mini.stored_objects import Key
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
BINDINGS, CLUSTER_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"
_EVERYTHING = PolicyRule(("*",), ("*",), ("*",))
_EVERY_PATH = PolicyRule(("*",), non_resource_urls=("*",))


class _Subject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _RoleRef(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""


class Role(msgspec.Struct, frozen=True):
    rules: tuple[PolicyRule, ...] | None = None


class Binding(msgspec.Struct, frozen=True, rename="camel"):
    role_ref: _RoleRef = _RoleRef()
    subjects: tuple[_Subject, ...] | None = None


_DECODERS: dict[str, Any] = {
    ROLES: msgspec.json.Decoder(Role),
    CLUSTER_ROLES: msgspec.json.Decoder(Role),
    BINDINGS: msgspec.json.Decoder(Binding),
    CLUSTER_BINDINGS: msgspec.json.Decoder(Binding),
}


class RbacAuthorizer:
    """Reads pending changes before every answer."""

    def __init__(self, store: Store) -> None:
        self._informer = Informer(store, tuple(_DECODERS))
        self._known: dict[str, dict[Key, Any]] = {resource: {} for resource in _DECODERS}

    def allows(self, user: UserInfo, attributes: RequestAttributes) -> bool:
        rules = self.rules_of(user, attributes.namespace)
        return user.is_admin or any(allows(rule, attributes) for rule in rules)

    def rules_of(self, user: UserInfo, namespace: str) -> Iterator[PolicyRule]:
        """The rules that a user has in a namespace; those for the cluster scope without one."""
        self._refresh()
        if user.is_admin:
            yield from (_EVERYTHING, _EVERY_PATH)
        for binding in self._known[CLUSTER_BINDINGS].values():
            if _is_bound(binding, user, ""):
                yield from self._role(binding.role_ref, "")
        for key, binding in self._known[BINDINGS].items():
            if key.namespace == namespace and namespace and _is_bound(binding, user, namespace):
                yield from self._role(binding.role_ref, namespace)

    def rules_in(self, kind: str, name: str, namespace: str) -> list[PolicyRule]:
        """The rules of a role; none if it does not exist."""
        self._refresh()
        return list(self._role(_RoleRef(kind, name), namespace))

    def _role(self, ref: _RoleRef, namespace: str) -> Iterator[PolicyRule]:
        resource, place = (ROLES, namespace) if ref.kind == "Role" else (CLUSTER_ROLES, "")
        role: Role | None = self._known[resource].get(Key(resource, place, ref.name))
        yield from (role.rules or ()) if role is not None else ()

    def _refresh(self) -> None:
        for change in self._informer.poll():
            self._see(change)

    def _see(self, change: WatchEvent) -> None:
        key = change.object.key
        self._known[key.resource].pop(key, None)
        if change.type is not EventType.DELETED:
            self._known[key.resource][key] = _DECODERS[key.resource].decode(change.object.raw)


def _is_bound(binding: Binding, user: UserInfo, namespace: str) -> bool:
    return any(_is(subject, user, namespace) for subject in binding.subjects or ())


def _is(subject: _Subject, user: UserInfo, namespace: str) -> bool:
    match subject.kind:
        case "User":
            return subject.name == user.name
        case "Group":
            return subject.name in user.groups
        case "ServiceAccount":
            return account_user(subject.namespace or namespace, subject.name).name == user.name
        case _:
            return False
