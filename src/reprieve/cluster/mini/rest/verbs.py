"""Which methods a place answers, and who answers them. The list is also what discovery tells."""

from collections.abc import Callable, Mapping

from reprieve.cluster.mini.errors import ApiError, bad_request
from reprieve.cluster.mini.kinds import Kind
from reprieve.cluster.mini.rest.applying import patch_or_apply
from reprieve.cluster.mini.rest.binding import create_binding
from reprieve.cluster.mini.rest.eviction import create_eviction
from reprieve.cluster.mini.rest.exchange import Answer, Response, Stream, answer
from reprieve.cluster.mini.rest.filters import filter_of
from reprieve.cluster.mini.rest.query import forbidden
from reprieve.cluster.mini.rest.reading import check_version
from reprieve.cluster.mini.rest.reviews import create_token, review
from reprieve.cluster.mini.rest.routes import Place
from reprieve.cluster.mini.rest.scale import get_scale, patch_scale, replace_scale
from reprieve.cluster.mini.rest.watching import follow, wish_of
from reprieve.cluster.mini.rest.writing import Call, create, delete, delete_many, replace

Handler = Callable[[Call], Answer]


def get(call: Call) -> Response:
    check_version(call.query, call.api.store.version)
    return answer(call.view.one(call.api.store.get(call.place.key)))


def list_or_watch(call: Call) -> Answer:
    if call.query.flag("watch"):
        return watch(call)
    call.query.number("timeoutSeconds")  # only that it is one: lists do not wait
    if call.query.text("sendInitialEvents"):
        raise forbidden("sendInitialEvents", "it is for watches, and the parameter watch is not true")
    items, extent = call.api.lists.list(call.place, call.query, filter_of(call.place, call.query))
    return answer(call.view.many(items, extent))


def watch(call: Call) -> Stream:
    """Everything about the request is checked now, before the stream begins."""
    wanted = filter_of(call.place, call.query)
    wish = wish_of(call.query, call.api.store.version)
    return Stream(follow(call.api.store, call.view, wanted, wish))


def refuse_simulated(call: Call) -> Response:
    call.api.store.get(call.place.key)
    what = _MISSING.get(call.place.part, "is nothing to run in or to talk to")
    raise bad_request(f"the pod {call.place.name} is run by a simulated kubelet: there {what}")


_MISSING = {
    "log": "are no logs",
    "portforward": "is nothing to connect to",
    "ephemeralcontainers": "is nothing to look into",
}
_COLLECTION: Mapping[str, Handler] = {"GET": list_or_watch, "POST": create, "DELETE": delete_many}
_ITEM: Mapping[str, Handler] = {"GET": get, "PUT": replace, "PATCH": patch_or_apply, "DELETE": delete}
_STATUS: Mapping[str, Handler] = {"GET": get, "PUT": replace, "PATCH": patch_or_apply}
_KUBELETS: Mapping[str, Handler] = {"GET": refuse_simulated, "POST": refuse_simulated}
_PARTS: Mapping[str, Mapping[str, Handler]] = {
    "status": _STATUS,
    "resize": _STATUS,
    "finalize": {"PUT": replace},
    "scale": {"GET": get_scale, "PUT": replace_scale, "PATCH": patch_scale},
    "binding": {"POST": create_binding},
    "token": {"POST": create_token},
    "eviction": {"POST": create_eviction},
    "log": {"GET": refuse_simulated},
    "ephemeralcontainers": dict.fromkeys(("GET", "PATCH", "PUT"), refuse_simulated),
    **dict.fromkeys(("exec", "attach", "portforward", "proxy"), _KUBELETS),
}
_WORDS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def handlers(place: Place) -> Mapping[str, Handler]:
    if place.kind.asked:
        return {"POST": review}
    if place.part:
        return _PARTS[place.part]
    return _ITEM if place.name else _COLLECTION


def handler(place: Place, method: str) -> Handler:
    known = handlers(place)
    if method not in known:
        message = (
            f"the server does not allow {method} on the requested resource; it allows {', '.join(known)}"
        )
        raise ApiError(405, "MethodNotAllowed", message)
    return known[method]


def verbs_of(kind: Kind, part: str = "") -> list[str]:
    if kind.asked:
        return ["create"]
    if part:
        return [_WORDS[method] for method in _PARTS[part]]
    return ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
