"""The scale subresource: the replicas of workloads, and of custom kinds that declare it."""

from dataclasses import dataclass

from reprieve.cluster.mini.errors import bad_request, invalid
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.http_messages import ApiResponse, answer
from reprieve.cluster.mini.rest.patches import Change, change_of
from reprieve.cluster.mini.rest.request_bodies import media_type, read_object
from reprieve.cluster.mini.rest.routes import ResourcePath, path_not_found
from reprieve.cluster.mini.rest.tables.cells import at
from reprieve.cluster.mini.rest.url_matching import check_type
from reprieve.cluster.mini.rest.write_handlers import ApiCall, written
from reprieve.cluster.mini.store import parsed
from reprieve.cluster.mini.stored_objects import Stored
from reprieve.model.json import Json

SCALE_VERSION = "autoscaling/v1"
_MOST = 2**31 - 1


def get_scale(call: ApiCall) -> ApiResponse:
    return answer(_scale_of(call, call.api.store.get(call.place.key)))


def replace_scale(call: ApiCall) -> ApiResponse:
    body = read_object(call.request)
    return _scaled(call, lambda _: body)


def patch_scale(call: ApiCall) -> ApiResponse:
    return _scaled(call, change_of(call.place.kind, media_type(call.request), call.request.body))


def _scaled(call: ApiCall, change: Change) -> ApiResponse:
    scale = change(_scale_of(call, call.api.store.get(call.place.key)))
    check_type(scale, SCALE_VERSION, "Scale")
    replicas = _replicas(scale)
    meta = metadata_of(scale) if "metadata" in scale else {}
    if meta.get("name") not in (None, "", call.place.name):
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({call.place.name})"
        )
    conditions = {name: meta[name] for name in ("uid", "resourceVersion") if name in meta}
    places = _places(call.place)

    def resized(old: Json) -> Json:
        kept = {k: v for k, v in old["metadata"].items() if k not in ("uid", "resourceVersion")}
        return _with(places.wanted, {**old, "metadata": {**kept, **conditions}}, replicas)

    return answer(_scale_of(call, written(call, resized)))


def _replicas(scale: Json) -> int:
    replicas = peek(scale, "spec").get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or not 0 <= replicas <= _MOST:
        raise invalid("Scale", "spec.replicas", f"expected a number from 0 to {_MOST}, got {replicas!r}")
    return replicas


def _scale_of(call: ApiCall, stored: Stored) -> Json:
    body, places = parsed(stored), _places(call.place)
    meta, wanted, there = body["metadata"], at(body, places.wanted), at(body, places.there)
    selector = at(body, places.selector) if places.selector else ""
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {name: meta[name] for name in names if name in meta},
        "spec": {"replicas": wanted if isinstance(wanted, int) else places.usual},
        "status": {
            "replicas": there if isinstance(there, int) else 0,
            "selector": _selector(selector) if isinstance(selector, dict) else str(selector or ""),
        },
    }


@dataclass(frozen=True, slots=True)
class _Places:
    """Paths of the wanted replicas, the actual ones, and the selector. ``usual``: the default replicas."""

    wanted: str = "spec.replicas"
    there: str = "status.replicas"
    selector: str = "spec.selector"
    usual: int = 1


def _places(place: ResourcePath) -> _Places:
    """Of custom kinds, the definition has the paths; a version without them has no scale."""
    if place.kind.custom is None:
        return _Places()
    said = place.kind.custom.scales.get(place.version)
    if not said:
        raise path_not_found()
    names = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    wanted, there, selector = (str(said.get(name) or "").lstrip(".") for name in names)
    return _Places(wanted, there, selector, usual=0)


def _with(path: str, body: Json, value: int) -> Json:
    first, _, rest = path.partition(".")
    return {**body, first: _with(rest, peek(body, first), value) if rest else value}


def _selector(selector: Json) -> str:
    """The selector as a string, which autoscalers parse."""
    # The selector of a ReplicationController is a mapping of labels.
    plain = "matchLabels" not in selector and "matchExpressions" not in selector
    found = selector if plain else peek(selector, "matchLabels")
    labels = [f"{key}={value}" for key, value in sorted(found.items())]
    expressions = selector.get("matchExpressions")
    terms = expressions if isinstance(expressions, list) else []
    return ",".join([*labels, *(_expression(e) for e in terms if isinstance(e, dict))])


def _expression(expression: Json) -> str:
    key, values = expression.get("key"), expression.get("values") or []
    match expression.get("operator"):
        case "Exists":
            return f"{key}"
        case "DoesNotExist":
            return f"!{key}"
        case operator:
            word = "notin" if operator == "NotIn" else "in"
            return f"{key} {word} ({','.join(map(str, values))})"
