"""Whether a body matches its URL: kind, API version, name and namespace."""

from reprieve.cluster.mini.errors import bad_request
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.routes import ResourcePath
from reprieve.model.json import Json


def with_type_meta(place: ResourcePath, body: Json) -> Json:
    """The body with the kind and API version of the URL; an ApiError 400 if it has others."""
    check_type(body, place.api_version, place.kind.kind)
    return {**body, "apiVersion": place.api_version, "kind": place.kind.kind}


def check_type(body: Json, api_version: str, kind: str) -> None:
    said_version, said_kind = body.get("apiVersion"), body.get("kind")
    if said_version not in (None, "", api_version):
        raise bad_request(
            f"the API version in the data ({said_version}) does not match the expected ({api_version})"
        )
    if said_kind not in (None, "", kind):
        raise bad_request(f"the kind in the data ({said_kind}) does not match the expected ({kind})")


def with_namespace(place: ResourcePath, body: Json) -> Json:
    """The body with the namespace of the URL; an ApiError 400 if it has another name or namespace.

    A namespace in a cluster-scoped object is dropped.
    """
    meta = metadata_of(body)
    if place.name and meta.get("name") != place.name:
        raise bad_request(
            f"the name of the object ({meta.get('name')}) does not match the name on the URL ({place.name})"
        )
    if not place.kind.namespaced:
        return {**body, "metadata": {name: value for name, value in meta.items() if name != "namespace"}}
    said = meta.get("namespace")
    if said and said != place.namespace:
        raise bad_request(
            f"the namespace of the provided object ({said}) does not match the namespace "
            f"sent on the request ({place.namespace})"
        )
    return {**body, "metadata": {**meta, "namespace": place.namespace}}
