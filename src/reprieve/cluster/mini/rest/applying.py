"""Server-side apply: a client says what it wants to be so of an object, and under whose name."""

from dataclasses import replace
from typing import Any

from reprieve.cluster.mini.errors import bad_request, conflict
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.authorizing import act_of, check, check_gift
from reprieve.cluster.mini.rest.bodies import as_object, from_yaml, media_type
from reprieve.cluster.mini.rest.exchange import Response, answer
from reprieve.cluster.mini.rest.heads import addressed, headed
from reprieve.cluster.mini.rest.patches import APPLY
from reprieve.cluster.mini.rest.query import FieldValidation
from reprieve.cluster.mini.rest.routes import Place
from reprieve.cluster.mini.rest.strictness import readable
from reprieve.cluster.mini.rest.writing import Call, created, patch, written
from reprieve.cluster.mini.spelling import settled
from reprieve.cluster.mini.store import without_status
from reprieve.model.json import Json


def patch_or_apply(call: Call) -> Response:
    return apply(call) if media_type(call.request) == APPLY else patch(call)


def apply(call: Call) -> Response:
    """What is not there is made, by those who may."""
    place = call.place
    wanted = _wanted(call)
    if place.part or call.api.store.find(place.key) is not None:
        return answer(call.view.one(written(call, lambda old: _put(call, wanted, old), counts_owners=False)))
    check(call.api.rights, call.request.user, replace(act_of(place, call.request), verb="create"))
    meta = metadata_of(wanted)
    if meta.get("resourceVersion") or meta.get("uid"):
        raise conflict(str(place.key), "it is not there, and the request is meant for one that is")
    new = without_status(place.kind, settled(place.api_version, _put(call, wanted, None)))
    check_gift(call.api.rights, call.request.user, place, new)
    admitted = call.chosen.admit_new(place, new)
    return answer(call.view.one(created(call, admitted, metadata_of(new)["managedFields"])), 201)


def _put(call: Call, wanted: Json, there: Json | None) -> Json:
    return headed(call.place, call.ownership.put_on(wanted, there))


def _wanted(call: Call) -> Json:
    """A field that nobody knows is refused whatever the client says: nobody could own it."""
    body = _without_nulls(as_object(from_yaml(call.request.body)))
    for name in ("apiVersion", "kind"):
        if not body.get(name):
            raise bad_request(f"{name} is missing in what is to be applied")
    body = headed(call.place, _named(call.place, body))
    readable(call.place, call.request, FieldValidation.STRICT, body)
    return addressed(call.place, body)


def _named(place: Place, body: Json) -> Json:
    if not isinstance(body.get("metadata", {}), dict):
        return body
    return {**body, "metadata": {"name": place.name, **peek(body, "metadata")}}


def _without_nulls(value: Any) -> Any:
    """Who says null says nothing."""
    match value:
        case dict():
            return {name: _without_nulls(one) for name, one in value.items() if one is not None}
        case list():
            return [_without_nulls(one) for one in value]
    return value
