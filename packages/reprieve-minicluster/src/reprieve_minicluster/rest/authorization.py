"""Authorization of requests: what a request asks for, and the refusal if its user may not do that."""

from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.auth.authorizer import RbacAuthorizer
from reprieve_minicluster.auth.policy_rules import RequestAttributes
from reprieve_minicluster.errors import ApiError
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
