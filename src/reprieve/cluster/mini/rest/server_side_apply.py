"""Server-side apply: a client sends the fields that it wants to own, under the name of a field manager."""

from typing import Any

from reprieve.cluster.mini.conversion import normalized
from reprieve.cluster.mini.errors import bad_request, conflict
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.escalation import check_escalation
from reprieve.cluster.mini.rest.field_validation import validated
from reprieve.cluster.mini.rest.http_messages import ApiResponse, answer
from reprieve.cluster.mini.rest.patches import APPLY
from reprieve.cluster.mini.rest.query_parameters import FieldValidation
from reprieve.cluster.mini.rest.request_bodies import as_object, from_yaml, media_type
from reprieve.cluster.mini.rest.routes import ResourcePath
from reprieve.cluster.mini.rest.url_matching import with_namespace, with_type_meta
from reprieve.cluster.mini.rest.write_handlers import ApiCall, authorize_creation, created, patch, written
from reprieve.cluster.mini.store import without_status
from reprieve.model.json import Json


def patch_or_apply(call: ApiCall) -> ApiResponse:
    return apply(call) if media_type(call.request) == APPLY else patch(call)


def apply(call: ApiCall) -> ApiResponse:
    """Apply to an object; a missing one is created, which needs the verb create."""
    place = call.place
    wanted = _wanted(call)
    if place.part or call.api.store.find(place.key) is not None:
        return answer(
            call.serializer.one(written(call, lambda old: _put(call, wanted, old), counts_owners=False))
        )
    authorize_creation(call)
    meta = metadata_of(wanted)
    if meta.get("resourceVersion") or meta.get("uid"):
        raise conflict(
            str(place.key),
            "it does not exist, and the request names a uid or resourceVersion; leave them out to create it",
        )
    new = without_status(place.kind, normalized(place.api_version, _put(call, wanted, None)))
    check_escalation(call.api.authorizer, call.request.user, place, new)
    admitted = call.chosen.admit_new(place, new)
    return answer(call.serializer.one(created(call, admitted, metadata_of(new)["managedFields"])), 201)


def _put(call: ApiCall, wanted: Json, there: Json | None) -> Json:
    return with_type_meta(call.place, call.ownership.put_on(wanted, there))


def _wanted(call: ApiCall) -> Json:
    """Unknown fields are always refused, whatever fieldValidation says: they cannot have owners."""
    body = _without_nulls(as_object(from_yaml(call.request.body)))
    for name in ("apiVersion", "kind"):
        if not body.get(name):
            raise bad_request(f"{name} must be set in an apply patch")
    body = with_type_meta(call.place, _named(call.place, body))
    validated(call.place, call.request, FieldValidation.STRICT, body)
    return with_namespace(call.place, body)


def _named(place: ResourcePath, body: Json) -> Json:
    if not isinstance(body.get("metadata", {}), dict):
        return body
    return {**body, "metadata": {"name": place.name, **peek(body, "metadata")}}


def _without_nulls(value: Any) -> Any:
    """A null in an apply patch counts as absent."""
    match value:
        case dict():
            return {name: _without_nulls(one) for name, one in value.items() if one is not None}
        case list():
            return [_without_nulls(one) for one in value]
    return value
