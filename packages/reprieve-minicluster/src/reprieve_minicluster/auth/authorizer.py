"""The RBAC authorizer: roles and bindings in the store decide what a user may do.

It keeps them parsed. What it answers is what a fresh reading of the store would give, whatever is stored.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import UserInfo, account_user
from reprieve_minicluster.auth.policy_rules import EVERYTHING, PolicyRule, RequestAttributes, allows
from reprieve_minicluster.store import EventType, Informer, Key, Store, WatchEvent, parsed

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
BINDINGS, CLUSTER_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"
T = TypeVar("T")


class BindingSubject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""

    def is_user(self, user: UserInfo, namespace: str) -> bool:
        """``namespace``: that of the binding; a ServiceAccount without one is of this namespace."""
        match self.kind:
            case "User":
                return self.name == user.name
            case "Group":
                return self.name in user.groups
            case "ServiceAccount":
                home = self.namespace or namespace
                return bool(home) and account_user(home, self.name).name == user.name
        return False


class RoleRef(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """``aggregates``: whether a controller fills in its rules. ``malformed``: what was left out."""

    rules: tuple[PolicyRule, ...] = ()
    aggregates: bool = False
    malformed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    role_ref: RoleRef
    subjects: tuple[BindingSubject, ...] = ()
    malformed: tuple[str, ...] = ()

    def binds(self, user: UserInfo, namespace: str) -> bool:
        """``namespace``: that of the binding; empty for a ClusterRoleBinding."""
        return any(subject.is_user(user, namespace) for subject in self.subjects)


def role_of(body: Json) -> Role:
    malformed: list[str] = []
    rules = _items(body, "rules", PolicyRule, malformed)
    return Role(rules, body.get("aggregationRule") is not None, tuple(malformed))


def binding_of(body: Json) -> Binding:
    malformed: list[str] = []
    ref = _item(body.get("roleRef"), "roleRef", RoleRef, malformed)
    subjects = _items(body, "subjects", BindingSubject, malformed)
    return Binding(ref or RoleRef(), subjects, tuple(malformed))


def _items(body: Json, field: str, kind: type[T], malformed: list[str]) -> tuple[T, ...]:
    listed = body.get(field)
    if listed is None:
        return ()
    if not isinstance(listed, list):
        malformed.append(f"{field}: expected a list")
        return ()
    found = [_item(item, f"{field}[{i}]", kind, malformed) for i, item in enumerate(listed)]
    return tuple(item for item in found if item is not None)


def _item(value: object, path: str, kind: type[T], malformed: list[str]) -> T | None:
    """A field that is null counts as absent."""
    if isinstance(value, dict):
        value = {name: one for name, one in value.items() if one is not None}
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        malformed.append(f"{path}: {error}")
        return None


# --- the authorizer -------------------------------------------------------------------------------


_log = logging.getLogger(__name__)


class RbacAuthorizer:
    """Reads pending changes before every answer."""

    def __init__(self, store: Store) -> None:
        self._informer = Informer(store, (ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS))
        self._roles: dict[Key, Role] = {}
        self._bindings: dict[Key, Binding] = {}

    def allows(self, user: UserInfo, request: RequestAttributes) -> bool:
        if user.is_admin:
            return True
        self._refresh()
        return allows(self._bound_rules(user, request.namespace), request)

    def rules_of(self, user: UserInfo, namespace: str) -> list[PolicyRule]:
        """The rules that a user has in a namespace; those for the cluster scope without one."""
        self._refresh()
        everything = EVERYTHING if user.is_admin else ()
        return [*everything, *self._bound_rules(user, namespace)]

    def role(self, ref: RoleRef, namespace: str) -> Role | None:
        """The role that a binding in a namespace refers to, if it exists."""
        self._refresh()
        return self._role(ref, namespace)

    def _bound_rules(self, user: UserInfo, namespace: str) -> Iterator[PolicyRule]:
        for key, binding in self._bindings.items():
            if key.namespace in ("", namespace) and binding.binds(user, key.namespace):
                role = self._role(binding.role_ref, key.namespace)
                yield from role.rules if role is not None else ()

    def _role(self, ref: RoleRef, namespace: str) -> Role | None:
        match ref.kind:
            case "Role":
                return self._roles.get(Key(ROLES, namespace, ref.name))
            case "ClusterRole":
                return self._roles.get(Key(CLUSTER_ROLES, "", ref.name))
        return None

    def _refresh(self) -> None:
        for change in self._informer.poll():
            self._apply(change)

    def _apply(self, change: WatchEvent) -> None:
        """Nothing here may raise: the informer does not report a change twice."""
        key = change.object.key
        if change.type is EventType.DELETED:
            self._roles.pop(key, None)
            self._bindings.pop(key, None)
            return
        body = parsed(change.object)
        if key.resource in (ROLES, CLUSTER_ROLES):
            role = self._roles[key] = role_of(body)
            malformed = role.malformed
        else:
            binding = self._bindings[key] = binding_of(body)
            malformed = binding.malformed
        where = f" in namespace {key.namespace}" if key.namespace else ""
        for problem in malformed:
            _log.warning("%s%s is malformed; this part grants nothing: %s", key, where, problem)
