"""Privilege escalation: a user cannot give rights that it does not have, to itself or to others.

As in Kubernetes, a role needs all of its rules or the verb ``escalate``, a binding all rules of its role or
the verb ``bind``, and an aggregationRule, which can gather any rule, the rules of cluster-admin.
"""

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.auth.authorizer import GROUP, RbacAuthorizer, binding_of, role_of
from reprieve_minicluster.auth.policy_rules import EVERYTHING, PolicyRule, RequestAttributes, uncovered
from reprieve_minicluster.errors import ApiError, not_found
from reprieve_minicluster.kinds import peek
from reprieve_minicluster.rest.authorization import forbidden
from reprieve_minicluster.rest.routes import ResourcePath

_COLLECTION = ("finalizers", "ownerReferences", "managedFields")
_ROLE_RESOURCES = {"Role": "roles", "ClusterRole": "clusterroles"}


def check_escalation(
    authorizer: RbacAuthorizer, user: UserInfo, place: ResourcePath, new: Json, old: Json | None = None
) -> None:
    """An ApiError 403 if a role or binding would give rights that the user does not have.

    ``old``: the object before an update.
    """
    if user.is_admin or place.kind.group != GROUP or _gives_nothing(new, old):
        return
    if place.kind.kind in _ROLE_RESOURCES:
        _check_role(authorizer, user, place, new, old or {})
    else:
        _check_binding(authorizer, user, place, new)


def _gives_nothing(new: Json, old: Json | None) -> bool:
    """Whether nothing changes but the fields by which objects are collected: a collector needs no rights."""
    return old is not None and _without_collection(new) == _without_collection(old)


def _without_collection(body: Json) -> Json:
    kept = {name: value for name, value in peek(body, "metadata").items() if name not in _COLLECTION}
    return {**body, "metadata": kept}


def _check_role(
    authorizer: RbacAuthorizer, user: UserInfo, place: ResourcePath, new: Json, old: Json
) -> None:
    may_escalate = RequestAttributes("escalate", GROUP, place.kind.plural, place.name, place.namespace)
    if authorizer.allows(user, may_escalate):
        return
    owned = authorizer.rules_of(user, place.namespace)
    role = role_of(new)
    missing = uncovered(role.rules, owned)
    if missing is not None:
        raise _refused(user, place, new, f"it grants rights that the user does not have: {_shown(missing)}")
    # Also without a new one: to remove it would freeze the rules that it has gathered so far.
    if (role.aggregates or role_of(old).aggregates) and uncovered(EVERYTHING, owned) is not None:
        raise _refused(user, place, new, "an aggregationRule needs the rights of cluster-admin")


def _check_binding(authorizer: RbacAuthorizer, user: UserInfo, place: ResourcePath, new: Json) -> None:
    ref = binding_of(new).role_ref
    resource = _ROLE_RESOURCES.get(ref.kind)
    if resource is None:
        return  # validation refuses it
    if authorizer.allows(user, RequestAttributes("bind", GROUP, resource, ref.name, place.namespace)):
        return
    role = authorizer.role(ref, place.namespace)
    if role is None:
        # A binding to a role that is created later would give rights without any check.
        raise not_found(f'{resource}.{GROUP} "{ref.name}"')
    missing = uncovered(role.rules, authorizer.rules_of(user, place.namespace))
    if missing is not None:
        raise _refused(user, place, new, f"it grants rights that the user does not have: {_shown(missing)}")


def _refused(user: UserInfo, place: ResourcePath, new: Json, why: str) -> ApiError:
    verb, name = ("update", place.name) if place.name else ("create", peek(new, "metadata").get("name"))
    change = RequestAttributes(verb, GROUP, place.kind.plural, str(name or ""), place.namespace)
    return forbidden(user, change, f": {why}")


def _shown(rule: PolicyRule) -> str:
    verb = rule.verbs[0]
    if rule.non_resource_urls:
        return f"{verb} {rule.non_resource_urls[0]}"
    group = f".{rule.api_groups[0]}" if rule.api_groups[0] else ""
    name = f' "{rule.resource_names[0]}"' if rule.resource_names else ""
    return f"{verb} {rule.resources[0]}{group}{name}"
