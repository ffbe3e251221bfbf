"""The RBAC authorizer: roles and bindings in the store decide what a user may do.

It keeps them parsed. What it answers is what a fresh reading of the store would give, whatever is stored.
"""

import logging
from collections.abc import Iterator

from reprieve.cluster.mini.auth.authentication import UserInfo
from reprieve.cluster.mini.auth.policy_rules import EVERYTHING, PolicyRule, RequestAttributes, allows
from reprieve.cluster.mini.auth.roles import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    ROLES,
    Binding,
    Role,
    RoleRef,
    binding_of,
    role_of,
)
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.store import Store, parsed
from reprieve.cluster.mini.stored_objects import Key
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent

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
