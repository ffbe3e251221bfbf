"""The handler of each method of a resource path. Discovery lists the same verbs."""

from collections.abc import Callable, Mapping

from reprieve.cluster.mini.errors import ApiError, bad_request
from reprieve.cluster.mini.kinds import ResourceKind
from reprieve.cluster.mini.rest.binding import create_binding
from reprieve.cluster.mini.rest.eviction import create_eviction
from reprieve.cluster.mini.rest.http_messages import Answer, ApiResponse, Stream, answer
from reprieve.cluster.mini.rest.listing import check_version
from reprieve.cluster.mini.rest.query_parameters import forbidden
from reprieve.cluster.mini.rest.reviews import review
from reprieve.cluster.mini.rest.routes import ResourcePath
from reprieve.cluster.mini.rest.scale import get_scale, patch_scale, replace_scale
from reprieve.cluster.mini.rest.selection_predicate import predicate_of
from reprieve.cluster.mini.rest.server_side_apply import patch_or_apply
from reprieve.cluster.mini.rest.token_request import create_token
from reprieve.cluster.mini.rest.watch_handler import watch_options_of, watch_stream
from reprieve.cluster.mini.rest.write_handlers import ApiCall, create, delete, delete_many, finalize, replace

Handler = Callable[[ApiCall], Answer]


def get(call: ApiCall) -> ApiResponse:
    check_version(call.query, call.api.store.version)
    return answer(call.serializer.one(call.api.store.get(call.place.key)))


def list_or_watch(call: ApiCall) -> Answer:
    if call.query.flag("watch"):
        return watch(call)
    call.query.number("timeoutSeconds")  # validated and ignored: lists do not wait
    if call.query.text("sendInitialEvents"):
        raise forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    items, extent = call.api.lists.list(call.place, call.query, predicate_of(call.place, call.query))
    return answer(call.serializer.many(items, extent))


def watch(call: ApiCall) -> Stream:
    """Validates the whole request before the stream starts."""
    wanted = predicate_of(call.place, call.query)
    options = watch_options_of(call.query, call.api.store.version)
    return Stream(watch_stream(call.api.store, call.serializer, wanted, options))


def reject_simulated(call: ApiCall) -> ApiResponse:
    call.api.store.get(call.place.key)
    what = _MISSING.get(call.place.part, "are no containers to run commands in or connect to")
    raise bad_request(f"pod {call.place.name} runs on a simulated kubelet: there {what}")


_MISSING = {
    "log": "are no logs",
    "portforward": "are no ports to connect to",
    "ephemeralcontainers": "are no containers to debug",
}
_COLLECTION: Mapping[str, Handler] = {"GET": list_or_watch, "POST": create, "DELETE": delete_many}
_ITEM: Mapping[str, Handler] = {"GET": get, "PUT": replace, "PATCH": patch_or_apply, "DELETE": delete}
_STATUS: Mapping[str, Handler] = {"GET": get, "PUT": replace, "PATCH": patch_or_apply}
_CONNECT: Mapping[str, Handler] = {"GET": reject_simulated, "POST": reject_simulated}
_PARTS: Mapping[str, Mapping[str, Handler]] = {
    "status": _STATUS,
    "resize": _STATUS,
    "finalize": {"PUT": finalize},
    "scale": {"GET": get_scale, "PUT": replace_scale, "PATCH": patch_scale},
    "binding": {"POST": create_binding},
    "token": {"POST": create_token},
    "eviction": {"POST": create_eviction},
    "log": {"GET": reject_simulated},
    "ephemeralcontainers": dict.fromkeys(("GET", "PATCH", "PUT"), reject_simulated),
    **dict.fromkeys(("exec", "attach", "portforward", "proxy"), _CONNECT),
}
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def handlers(place: ResourcePath) -> Mapping[str, Handler]:
    if place.kind.asked:
        return {"POST": review}
    if place.part:
        return _PARTS[place.part]
    return _ITEM if place.name else _COLLECTION


def handler(place: ResourcePath, method: str) -> Handler:
    known = handlers(place)
    if method not in known:
        message = (
            f"the server does not allow this method on the requested resource: {method}; "
            f"allowed are {', '.join(known)}"
        )
        raise ApiError(405, "MethodNotAllowed", message)
    return known[method]


def verbs_of(kind: ResourceKind, part: str = "") -> list[str]:
    if kind.asked:
        return ["create"]
    if part:
        return [_VERBS[method] for method in _PARTS[part]]
    return ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
