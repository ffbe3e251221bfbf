"""Authorization of requests: their attributes, impersonation, and privilege escalation."""

from collections.abc import Iterator, Mapping

from reprieve.cluster.mini.auth.authentication import AUTHENTICATED, UserInfo, account_user
from reprieve.cluster.mini.auth.authorizer import GROUP, RbacAuthorizer
from reprieve.cluster.mini.auth.policy_rules import PolicyRule, RequestAttributes, uncovered
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.rest.http_messages import ApiRequest
from reprieve.cluster.mini.rest.query_parameters import Query
from reprieve.cluster.mini.rest.routes import NonResourcePath, ResourcePath
from reprieve.model.json import Json

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_AS_USER, _AS_GROUP, _AS_UID = "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"


def attributes_of(place: ResourcePath | NonResourcePath, request: ApiRequest) -> RequestAttributes:
    if isinstance(place, NonResourcePath):
        return RequestAttributes(
            "get" if request.method == "GET" else request.method.lower(), path=request.path
        )
    query = Query(request.query)
    name = place.name or query.text("fieldSelector").partition("metadata.name=")[2].partition(",")[0]
    resource = f"{place.kind.plural}/{place.part}" if place.part else place.kind.plural
    if place.part == "binding" and not place.name:
        resource = "bindings"
    return RequestAttributes(_verb(place, request, query), place.group, resource, name, place.namespace)


def _verb(place: ResourcePath, request: ApiRequest, query: Query) -> str:
    if request.method in ("GET", "HEAD"):
        if place.name:
            return "get"
        return "watch" if query.flag("watch") else "list"
    verb = _VERBS.get(request.method, request.method.lower())
    return "deletecollection" if verb == "delete" and not place.name else verb


def authorize(authorizer: RbacAuthorizer, user: UserInfo, attributes: RequestAttributes) -> None:
    if not authorizer.allows(user, attributes):
        raise forbidden(user, attributes)


def forbidden(user: UserInfo, attributes: RequestAttributes, why: str = "") -> ApiError:
    denied = f'User "{user.name}" cannot {attributes.verb}'
    if attributes.path:
        return ApiError(403, "Forbidden", f'forbidden: {denied} path "{attributes.path}"')
    resource, _, _ = attributes.resource.partition("/")
    what = f"{resource}.{attributes.group}" if attributes.group else resource
    named = f'{what} "{attributes.name}"' if attributes.name else what
    where = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
    cannot = f'{denied} resource "{attributes.resource}" in API group "{attributes.group}" {where}'
    return ApiError(403, "Forbidden", f"{named} is forbidden: {cannot}{why}")


# --- impersonation ---------------------------------------------------------------------------------


def impersonated(authorizer: RbacAuthorizer, user: UserInfo, headers: Mapping[str, str]) -> UserInfo:
    """The user that a request acts as, by the headers of `kubectl --as`; an ApiError 403 if not allowed."""
    name, groups = headers.get(_AS_USER, ""), _listed(headers.get(_AS_GROUP, ""))
    if not name:
        return user
    for attributes in _impersonations(name, groups):
        authorize(authorizer, user, attributes)
    _, account, *rest = (*name.split(":"), "", "")
    if account == "serviceaccount" and not groups and len(rest) > 1 and rest[1]:
        return account_user(rest[0], rest[1])
    return UserInfo(name, (*groups, AUTHENTICATED), headers.get(_AS_UID, ""))


def _impersonations(name: str, groups: tuple[str, ...]) -> Iterator[RequestAttributes]:
    match name.split(":"):
        case ["system", "serviceaccount", namespace, account]:
            yield RequestAttributes("impersonate", "", "serviceaccounts", account, namespace)
        case _:
            yield RequestAttributes("impersonate", "", "users", name)
    for group in groups:
        yield RequestAttributes("impersonate", "", "groups", group)


def _listed(header: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in header.split(",") if part.strip())


# --- privilege escalation --------------------------------------------------------------------------


def check_escalation(authorizer: RbacAuthorizer, user: UserInfo, place: ResourcePath, body: Json) -> None:
    """A role or binding may only grant rules that its author has, unless the author may escalate or bind."""
    if user.is_admin or place.part or place.kind.group != GROUP:
        return
    meta, resource = peek(body, "metadata"), place.kind.plural
    name = str(meta.get("name") or place.name)
    if resource.endswith("roles"):
        wanted, attributes = (
            _rules(body),
            RequestAttributes("escalate", GROUP, resource, name, place.namespace),
        )
    else:
        ref = peek(body, "roleRef")
        kind, role = str(ref.get("kind")), str(ref.get("name"))
        wanted = authorizer.rules_in(kind, role, place.namespace)
        plural = "roles" if kind == "Role" else "clusterroles"
        attributes = RequestAttributes("bind", GROUP, plural, role, place.namespace)
    missing = uncovered(wanted, authorizer.rules_of(user, place.namespace))
    if missing and not authorizer.allows(user, attributes):
        change = RequestAttributes(
            "update" if place.name else "create", GROUP, resource, name, place.namespace
        )
        raise forbidden(
            user, change, f": it grants rights that the user does not have: {_described(missing[0])}"
        )


def _rules(body: Json) -> list[PolicyRule]:
    found = body.get("rules")
    return [_rule(rule) for rule in found if isinstance(rule, dict)] if isinstance(found, list) else []


def _rule(body: Json) -> PolicyRule:
    fields = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return PolicyRule(*(tuple(map(str, body.get(field) or ())) for field in fields))


def _described(rule: PolicyRule) -> str:
    verb = rule.verbs[0]
    if rule.non_resource_urls:
        return f"{verb} {rule.non_resource_urls[0]}"
    group = f".{rule.api_groups[0]}" if rule.api_groups[0] else ""
    name = f' "{rule.resource_names[0]}"' if rule.resource_names else ""
    return f"{verb} {rule.resources[0]}{group}{name}"
