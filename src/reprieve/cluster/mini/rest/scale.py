"""The scale of those that keep a number of pods: one number to read and to write."""

from reprieve.cluster.mini.errors import bad_request, invalid
from reprieve.cluster.mini.history import Stored
from reprieve.cluster.mini.kinds import Json, peek
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.bodies import media_type, read_object
from reprieve.cluster.mini.rest.exchange import Response, answer
from reprieve.cluster.mini.rest.heads import check_type
from reprieve.cluster.mini.rest.patches import Change, change_of
from reprieve.cluster.mini.rest.writing import Call, written
from reprieve.cluster.mini.store import parsed

SCALE_VERSION = "autoscaling/v1"
_MOST = 2**31 - 1


def get_scale(call: Call) -> Response:
    return answer(scale_of(call.api.store.get(call.place.key)))


def replace_scale(call: Call) -> Response:
    body = read_object(call.request)
    return _scaled(call, lambda _: body)


def patch_scale(call: Call) -> Response:
    return _scaled(call, change_of(call.place.kind, media_type(call.request), call.request.body))


def _scaled(call: Call, change: Change) -> Response:
    scale = change(scale_of(call.api.store.get(call.place.key)))
    check_type(scale, SCALE_VERSION, "Scale")
    replicas = _replicas(scale)
    meta = metadata_of(scale) if "metadata" in scale else {}
    if meta.get("name") not in (None, "", call.place.name):
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({call.place.name})"
        )
    conditions = {name: meta[name] for name in ("uid", "resourceVersion") if name in meta}

    def resized(old: Json) -> Json:
        kept = {k: v for k, v in old["metadata"].items() if k not in ("uid", "resourceVersion")}
        return {
            **old,
            "metadata": {**kept, **conditions},
            "spec": {**peek(old, "spec"), "replicas": replicas},
        }

    return answer(scale_of(written(call, resized)))


def _replicas(scale: Json) -> int:
    replicas = peek(scale, "spec").get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or not 0 <= replicas <= _MOST:
        raise invalid("Scale", "spec.replicas", f"expected a number from 0 to {_MOST}, got {replicas!r}")
    return replicas


def scale_of(stored: Stored) -> Json:
    body = parsed(stored)
    meta, spec, status = body["metadata"], peek(body, "spec"), peek(body, "status")
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {name: meta[name] for name in names if name in meta},
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {"replicas": status.get("replicas", 0), "selector": _selector(peek(spec, "selector"))},
    }


def _selector(selector: Json) -> str:
    """As text, as an autoscaler wants it."""
    # The oldest of the kinds has the labels in the selector itself.
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
