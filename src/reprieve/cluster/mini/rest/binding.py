"""Binding: a pod is given its node."""

from reprieve.cluster.mini.calls import bind
from reprieve.cluster.mini.errors import bad_request, conflict, invalid
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import peek, section
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.bodies import read_object
from reprieve.cluster.mini.rest.exchange import Response, answer
from reprieve.cluster.mini.rest.heads import check_type
from reprieve.cluster.mini.rest.statuses import success
from reprieve.cluster.mini.rest.writing import Call
from reprieve.cluster.mini.store import Part, parsed
from reprieve.model.effects import Target
from reprieve.model.json import Json


def create_binding(call: Call) -> Response:
    body = read_object(call.request)
    check_type(body, "v1", "Binding")
    key = _pod(call, metadata_of(body) if "metadata" in body or not call.place.name else {})
    node, notes = _node(peek(body, "target")), _notes(peek(body, "metadata"))
    api = call.chosen
    stored = api.store.get(key)
    if peek(parsed(stored), "spec").get("nodeName"):
        raise conflict(str(key), "it has a node already, and is bound once and for all")
    uid = str(peek(body, "metadata").get("uid") or "")
    bind(api.store, Target("Pod", key.namespace, key.name, uid or stored.uid), node, api.clock())
    if notes:
        api.store.patch(key, lambda pod: _noted(pod, notes), Part.MAIN)
    return answer(success(code=201), 201)


def _pod(call: Call, meta: Json) -> Key:
    """Named by the URL, or by the body alone where the URL names none; if both do, they must agree."""
    name = call.place.name or meta.get("name")
    if not isinstance(name, str) or not name:
        raise bad_request("the name of the pod to be bound must be given in metadata.name")
    if meta.get("name") not in (None, "", name):
        raise bad_request(f"the binding is for {meta['name']}, and the URL for {name}")
    if meta.get("namespace") not in (None, "", call.place.namespace):
        raise bad_request(f"the binding is for the namespace {meta['namespace']}, not {call.place.namespace}")
    return Key(call.place.kind.resource, call.place.namespace, name)


def _node(target: Json) -> str:
    if target.get("kind") not in (None, "", "Node"):
        raise invalid("Binding", "target.kind", f"supported value: Node, not {target.get('kind')!r}")
    name = target.get("name")
    if not isinstance(name, str) or not name:
        raise invalid("Binding", "target.name", "expected the name of a node")
    return name


def _notes(meta: Json) -> Json:
    """A scheduler may leave annotations on the pod with the binding."""
    notes = peek(meta, "annotations")
    if not all(isinstance(text, str) for text in notes.values()):
        raise bad_request("the annotations of a binding must be texts")
    return notes


def _noted(pod: Json, notes: Json) -> Json:
    section(section(pod, "metadata"), "annotations").update(notes)
    return pod
