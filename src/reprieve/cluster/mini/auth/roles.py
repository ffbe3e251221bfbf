"""Roles and bindings as records, parsed once from what is stored or sent.

Validation refuses malformed rules and subjects at the door, but a data directory may have some from before.
Rules and subjects only ever add rights, so a malformed one is left out and grants nothing.
"""

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from reprieve.cluster.mini.auth.authentication import UserInfo, account_user
from reprieve.cluster.mini.auth.policy_rules import PolicyRule
from reprieve.model.json import Json

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
