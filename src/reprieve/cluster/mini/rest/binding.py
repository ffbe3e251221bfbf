"""The binding subresource: assigns a pod to a node."""

from reprieve.cluster.mini.errors import bad_request, conflict, invalid
from reprieve.cluster.mini.kinds import peek, section
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.api_status import success
from reprieve.cluster.mini.rest.http_messages import ApiResponse, answer
from reprieve.cluster.mini.rest.request_bodies import read_object
from reprieve.cluster.mini.rest.url_matching import check_type
from reprieve.cluster.mini.rest.write_handlers import ApiCall
from reprieve.cluster.mini.scheduler_calls import bind
from reprieve.cluster.mini.store import Part, parsed
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.effects import Target
from reprieve.model.json import Json


def create_binding(call: ApiCall) -> ApiResponse:
    body = read_object(call.request)
    check_type(body, "v1", "Binding")
    key = _pod(call, metadata_of(body) if "metadata" in body or not call.place.name else {})
    node, annotations = _node(peek(body, "target")), _annotations(peek(body, "metadata"))
    api = call.chosen
    stored = api.store.get(key)
    if assigned := peek(parsed(stored), "spec").get("nodeName"):
        raise conflict(str(key), f'it is already assigned to node "{assigned}"')
    uid = str(peek(body, "metadata").get("uid") or "")
    bind(api.store, Target("Pod", key.namespace, key.name, uid or stored.uid), node, api.clock())
    if annotations:
        api.store.patch(key, lambda pod: _annotated(pod, annotations), Part.MAIN)
    return answer(success(code=201), 201)


def _pod(call: ApiCall, meta: Json) -> Key:
    """The key of the pod, from the URL or else from the body; if both name it, they must agree."""
    name = call.place.name or meta.get("name")
    if not isinstance(name, str) or not name:
        raise bad_request("metadata.name must be the name of the pod to bind")
    if meta.get("name") not in (None, "", name):
        raise bad_request(
            f"the name in the binding ({meta['name']}) does not match the name on the URL ({name})"
        )
    if meta.get("namespace") not in (None, "", call.place.namespace):
        raise bad_request(
            f"the namespace in the binding ({meta['namespace']}) does not match the namespace on the URL "
            f"({call.place.namespace})"
        )
    return Key(call.place.kind.resource, call.place.namespace, name)


def _node(target: Json) -> str:
    if target.get("kind") not in (None, "", "Node"):
        raise invalid("Binding", "target.kind", f"supported value: Node, not {target.get('kind')!r}")
    name = target.get("name")
    if not isinstance(name, str) or not name:
        raise invalid("Binding", "target.name", "expected the name of a node")
    return name


def _annotations(meta: Json) -> Json:
    """Annotations of the binding, which are copied to the pod."""
    annotations = peek(meta, "annotations")
    if not all(isinstance(text, str) for text in annotations.values()):
        raise bad_request("the annotations of a binding must be strings")
    return annotations


def _annotated(pod: Json, annotations: Json) -> Json:
    section(section(pod, "metadata"), "annotations").update(annotations)
    return pod
