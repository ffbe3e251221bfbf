"""The scale of those that keep a number of pods: one number to read and to write."""

from dataclasses import dataclass

from reprieve.cluster.mini.errors import bad_request, invalid
from reprieve.cluster.mini.history import Stored
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.bodies import media_type, read_object
from reprieve.cluster.mini.rest.exchange import Response, answer
from reprieve.cluster.mini.rest.heads import check_type
from reprieve.cluster.mini.rest.patches import Change, change_of
from reprieve.cluster.mini.rest.routes import Place, lost
from reprieve.cluster.mini.rest.tables.cells import at
from reprieve.cluster.mini.rest.writing import Call, written
from reprieve.cluster.mini.store import parsed
from reprieve.model.json import Json

SCALE_VERSION = "autoscaling/v1"
_MOST = 2**31 - 1


def get_scale(call: Call) -> Response:
    return answer(_scale_of(call, call.api.store.get(call.place.key)))


def replace_scale(call: Call) -> Response:
    body = read_object(call.request)
    return _scaled(call, lambda _: body)


def patch_scale(call: Call) -> Response:
    return _scaled(call, change_of(call.place.kind, media_type(call.request), call.request.body))


def _scaled(call: Call, change: Change) -> Response:
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


def _scale_of(call: Call, stored: Stored) -> Json:
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
    """Where it says how many pods it wants, how many there are, and which. ``usual``: if it says none."""

    wanted: str = "spec.replicas"
    there: str = "status.replicas"
    selector: str = "spec.selector"
    usual: int = 1


def _places(place: Place) -> _Places:
    """A kind of somebody's own says it; one of its versions that does not has no scale."""
    if place.kind.custom is None:
        return _Places()
    said = place.kind.custom.scales.get(place.version)
    if not said:
        raise lost()
    names = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    wanted, there, selector = (str(said.get(name) or "").lstrip(".") for name in names)
    return _Places(wanted, there, selector, usual=0)


def _with(path: str, body: Json, value: int) -> Json:
    first, _, rest = path.partition(".")
    return {**body, first: _with(rest, peek(body, first), value) if rest else value}


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
