"""Authorization of requests: what a request asks for, which user it acts as, and the refusal."""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from reprieve_minicluster.auth.authentication import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    UserInfo,
    account_of,
    account_user,
)
from reprieve_minicluster.auth.authorizer import RbacAuthorizer
from reprieve_minicluster.auth.policy_rules import RequestAttributes
from reprieve_minicluster.errors import ApiError, bad_request
from reprieve_minicluster.rest.http_messages import ApiRequest
from reprieve_minicluster.rest.query_parameters import Query
from reprieve_minicluster.rest.routes import NonResourcePath, ResourcePath
from reprieve_minicluster.rest.selection import SelectorOperator, field_requirements

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def attributes_of(place: ResourcePath | NonResourcePath, request: ApiRequest) -> RequestAttributes:
    if isinstance(place, NonResourcePath):
        return RequestAttributes(
            "get" if request.method == "GET" else request.method.lower(), path=request.path
        )
    query = Query(request.query)
    verb = _verb(place, request, query)
    name = _selected_name(query) if verb in ("list", "watch") else place.name
    resource = f"{place.kind.plural}/{place.part}" if place.part else place.kind.plural
    if place.part == "binding" and not place.name:
        resource = "bindings"
    # As in Kubernetes, a Namespace counts as an object in itself: a RoleBinding there can grant it.
    namespace = place.name if place.kind.kind == "Namespace" else place.namespace
    return RequestAttributes(verb, place.group, resource, name, namespace)


def _selected_name(query: Query) -> str:
    """The name that a list or watch is limited to: a rule for that name allows it, as in Kubernetes.

    For other verbs a field selector says nothing: ``create`` would ignore it and create any name.
    """
    try:
        required = field_requirements(query.text("fieldSelector"))
    except ApiError:
        return ""  # the handler refuses the selector
    names = (r for r in required if r.name == "metadata.name" and r.operator is SelectorOperator.IN)
    return next((requirement.values[0] for requirement in names), "")


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


_USER, _GROUP, _UID, _EXTRA = (
    "impersonate-user",
    "impersonate-group",
    "impersonate-uid",
    "impersonate-extra-",
)
_AUTHENTICATION = "authentication.k8s.io"


def impersonated(authorizer: RbacAuthorizer, user: UserInfo, headers: Mapping[str, str]) -> UserInfo:
    """The user that a request acts as; an ApiError 400 for malformed headers, 403 without the rights."""
    wanted = requested_user(headers)
    if wanted is None:
        return user
    for right in needed_rights(wanted):
        authorize(authorizer, user, right)
    return _completed(wanted)


def requested_user(headers: Mapping[str, str]) -> UserInfo | None:
    """The user as the headers name it, without the groups that follow from its name; None if they name none.

    ``headers``: in any case; the items of a multi-mapping have a repeated header as often as it was sent.
    """
    given: dict[str, list[str]] = {}
    for name, value in headers.items():
        if _is_ours(name.lower()):
            given.setdefault(name.lower(), []).append(_checked(name, value))
    if not given:
        return None
    if _USER not in given:
        raise bad_request(f"{', '.join(sorted(given))} without {_USER}: impersonation needs a user")
    return UserInfo(
        _single(given, _USER), tuple(given.get(_GROUP, ())), _single(given, _UID), dict(_extra(given))
    )


def needed_rights(wanted: UserInfo) -> Iterator[RequestAttributes]:
    account = account_of(wanted.name)
    if account is not None:
        namespace, name = account
        yield RequestAttributes("impersonate", "", "serviceaccounts", name, namespace)
    else:
        yield RequestAttributes("impersonate", "", "users", wanted.name)
    for group in wanted.groups:
        yield RequestAttributes("impersonate", "", "groups", group)
    for key, values in wanted.extra.items():
        for value in values:
            yield RequestAttributes("impersonate", _AUTHENTICATION, f"userextras/{key}", value)
    if wanted.uid:
        yield RequestAttributes("impersonate", _AUTHENTICATION, "uids", wanted.uid)


def _completed(wanted: UserInfo) -> UserInfo:
    """Add the groups that authentication would have given the user."""
    account = account_of(wanted.name)
    groups = wanted.groups
    if account is not None and not groups:
        groups = account_user(*account).groups
    if wanted.name == ANONYMOUS.name:
        implied = () if UNAUTHENTICATED in groups else (UNAUTHENTICATED,)
    else:
        implied = () if {AUTHENTICATED, UNAUTHENTICATED} & set(groups) else (AUTHENTICATED,)
    return UserInfo(wanted.name, (*groups, *implied), wanted.uid, wanted.extra)


# --- headers ---------------------------------------------------------------------------------------


def _is_ours(header: str) -> bool:
    return header in (_USER, _GROUP, _UID) or header.startswith(_EXTRA)


def _checked(header: str, value: str) -> str:
    if not value:
        raise bad_request(f"{header} must not be empty")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise bad_request(f"{header} must be UTF-8")
    return value


def _single(given: dict[str, list[str]], header: str) -> str:
    first, *more = given.get(header, [""])
    if more:
        raise bad_request(f"{header} must be given once, not {len(more) + 1} times")
    return first


def _extra(given: dict[str, list[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Keys are percent-encoded, since they may have characters that a header may not."""
    for header, values in given.items():
        if header.startswith(_EXTRA):
            key = unquote(header.removeprefix(_EXTRA))
            if not key:
                raise bad_request(f"{header} must end with a key")
            yield key, tuple(values)
