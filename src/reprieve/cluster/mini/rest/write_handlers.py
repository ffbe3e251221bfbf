"""Handlers of create, update, patch and delete. They validate everything before they write."""

from collections.abc import Generator
from dataclasses import dataclass
from dataclasses import replace as replaced

from reprieve.cluster.api.values import without_nulls
from reprieve.cluster.apiserver.defaults import default
from reprieve.cluster.mini.conversion import normalized, to_storage_version, to_version
from reprieve.cluster.mini.errors import ApiError, bad_request, invalid
from reprieve.cluster.mini.kinds import peek, section
from reprieve.cluster.mini.metadata import expected_version, metadata_of
from reprieve.cluster.mini.namespace_controller import NAMESPACE_FINALIZER, SYSTEM_NAMESPACES, released
from reprieve.cluster.mini.rest.api_context import ApiContext
from reprieve.cluster.mini.rest.api_status import subject_of, success
from reprieve.cluster.mini.rest.authorization import attributes_of, authorize
from reprieve.cluster.mini.rest.delete_options import DeleteOptions, delete_options_of
from reprieve.cluster.mini.rest.escalation import check_escalation
from reprieve.cluster.mini.rest.field_manager import FieldManager
from reprieve.cluster.mini.rest.field_validation import ValidatedBody, validated, validated_patch
from reprieve.cluster.mini.rest.http_messages import ApiRequest, ApiResponse, Batched, answer
from reprieve.cluster.mini.rest.patches import Change, change_of
from reprieve.cluster.mini.rest.query_parameters import Query, forbidden
from reprieve.cluster.mini.rest.request_bodies import media_type, read_object
from reprieve.cluster.mini.rest.routes import ResourcePath
from reprieve.cluster.mini.rest.selection_predicate import predicate_of
from reprieve.cluster.mini.rest.serialization import ObjectSerializer
from reprieve.cluster.mini.rest.url_matching import with_namespace, with_type_meta
from reprieve.cluster.mini.store import Part, Store, check_preconditions, parsed, without_status
from reprieve.cluster.mini.stored_objects import Stored
from reprieve.model.json import Json

_DELETIONS_IN_A_ROW = 100  # a few milliseconds; then other requests have their turn


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One routed request: its resource path, its parameters, and how to serialize the response."""

    api: ApiContext
    place: ResourcePath
    request: ApiRequest
    query: Query
    serializer: ObjectSerializer

    @property
    def chosen(self) -> ApiContext:
        """The context to write with; on a dry run one that writes nothing."""
        return self.api.dry_run() if self.query.is_dry_run else self.api

    @property
    def ownership(self) -> FieldManager:
        return FieldManager(self.place, self.request, self.api.clock())


def create(call: ApiCall) -> ApiResponse:
    return _create(call, _read(call))


def _create(call: ApiCall, read: ValidatedBody) -> ApiResponse:
    place, api = call.place, call.chosen
    body = normalized(place.api_version, with_namespace(place, read.body))
    if metadata_of(body).get("resourceVersion"):
        raise bad_request("metadata.resourceVersion must not be set on objects to be created")
    sent = without_status(place.kind, body)
    check_escalation(api.authorizer, call.request.user, place, sent)
    admitted = api.admit_new(place, sent)
    owners = call.ownership.of_new(lambda: admitted if place.kind.custom else _with_defaults(call, sent))
    return answer(call.serializer.one(created(call, admitted, owners)), 201, read.warnings)


def _with_defaults(call: ApiCall, sent: Json) -> Json:
    """What its creator owns: what the server generates beyond defaults, as the selector of a Job, has no
    owner. A later apply that does not name it would remove it."""
    body: Json = without_nulls(sent)
    default(body, call.place.version, call.api.features)
    return body


def authorize_creation(call: ApiCall) -> None:
    """An update or apply that creates its object needs the verb create, too."""
    attributes = replaced(attributes_of(call.place, call.request), verb="create")
    authorize(call.api.authorizer, call.request.user, attributes)


def _read(call: ApiCall) -> ValidatedBody:
    sent = read_object(call.request)
    if sent.get("metadata") is None:
        sent = {**sent, "metadata": {}}
    body = with_type_meta(call.place, sent)
    return validated(call.place, call.request, call.query.field_validation, body)


def created(call: ApiCall, admitted: Json, owners: list[Json]) -> Stored:
    """``owners``: its managedFields."""
    place = call.place
    form = to_storage_version(place.kind, place.api_version, admitted)
    return call.chosen.store.create(place.kind.resource, form, owners)


def replace(call: ApiCall) -> ApiResponse:
    read = _read(call)
    if call.place.kind.upserts and not call.place.part and call.api.store.find(call.place.key) is None:
        authorize_creation(call)
        return _create(call, read)
    if not call.place.kind.blind and not expected_version(metadata_of(read.body)):
        raise invalid(call.place.kind.kind, "metadata.resourceVersion", "must be specified for an update")
    return answer(call.serializer.one(written(call, lambda _: read.body)), 200, read.warnings)


def finalize(call: ApiCall) -> ApiResponse:
    """A terminating namespace goes when a namespace controller has removed its finalizer from the spec."""
    read = _read(call)
    left = peek(read.body, "spec").get("finalizers") or ()

    def finalized(old: Json) -> Json:
        if "deletionTimestamp" not in metadata_of(old) or NAMESPACE_FINALIZER in left:
            return read.body
        return released(read.body)

    return answer(call.serializer.one(written(call, finalized)), 200, read.warnings)


def patch(call: ApiCall) -> ApiResponse:
    if call.query.text("force"):
        raise forbidden("force", "may not be specified for non-apply patch")
    change = change_of(call.place.kind, media_type(call.request), call.request.body)
    warnings: list[str] = []

    def patched(old: Json) -> Json:
        new = with_type_meta(call.place, change(old))
        read = validated_patch(call.place, call.query.field_validation, new, old)
        warnings.extend(read.warnings)
        return read.body

    return answer(call.serializer.one(written(call, patched)), 200, tuple(warnings))


def written(call: ApiCall, change: Change, *, counts_owners: bool = True) -> Stored:
    """Change an object in the client's API version, admit it and store it.

    ``counts_owners``: whether managedFields follow from the change; otherwise the change includes them.
    """
    place, api = call.place, call.chosen
    stored = api.store.get(place.key)
    before = parsed(stored)
    old = to_version(place.api_version, before)
    new = with_namespace(place, change(old))
    check_escalation(api.authorizer, call.request.user, place, new, old)
    meta = metadata_of(new)
    uid = meta.get("uid") or ""
    if call.request.method == "PATCH" and uid not in ("", stored.uid):
        # In an update the UID is a precondition; in a patch it is a change of the field.
        raise invalid(str(place.key), "metadata.uid", "the field is immutable")
    check_preconditions(stored, uid, expected_version(meta))
    admitted = api.admit_change(place, normalized(place.api_version, new), old)
    form = to_storage_version(place.kind, place.api_version, admitted, before)
    owners = meta.get("managedFields")
    if counts_owners:
        owners = call.ownership.of_changed(admitted, old)
    return api.store.update(place.kind.resource, form, _part(place), owners)


def _part(place: ResourcePath) -> Part:
    return Part.STATUS if place.part == "status" else Part.MAIN


# --- deleting --------------------------------------------------------------------------------------


def delete(call: ApiCall) -> ApiResponse:
    options = delete_options_of(call.request, call.query)
    store = call.api.dry_run().store if options.dry_run else call.api.store
    old = store.get(call.place.key)
    left = remove(store, old, options)
    if left is not None or call.place.kind.drains:
        return answer(call.serializer.one(left or old))
    return answer(success(subject_of(call.place.kind, old.key.name, old.uid)))


def delete_many(call: ApiCall) -> ApiResponse | Batched:
    options = delete_options_of(call.request, call.query)
    store = call.api.dry_run().store if options.dry_run else call.api.store
    items, extent = call.api.lists.list(call.place, call.query, predicate_of(call.place, call.query))
    for item in items:
        check_preconditions(item, options.uid, options.version)

    def delete_in_batches() -> Generator[None, None, ApiResponse]:
        for number, item in enumerate(items, 1):
            found = store.find(item.key)
            # Between two batches another client may have deleted it, and even created another one.
            if found is not None and found.uid == item.uid:
                remove(store, item, options)
            if number % _DELETIONS_IN_A_ROW == 0:
                yield
        return answer(call.serializer.many(items, extent))

    batched = Batched(delete_in_batches())
    return batched if len(items) > _DELETIONS_IN_A_ROW else batched.finished()


def remove(store: Store, old: Stored, options: DeleteOptions) -> Stored | None:
    """The object if it waits for finalizers or its kubelet, or None when it is gone."""
    kind = store.kinds[old.key.resource]
    if kind.resource == "namespaces" and old.key.name in SYSTEM_NAMESPACES:
        raise ApiError(403, "Forbidden", f"{old.key} is forbidden: this namespace may not be deleted")
    left = store.delete(
        old.key, options.uid, options.version, grace=options.grace, held_by=options.held_by(kind)
    )
    if left is None or kind.resource != "namespaces":
        return left
    return store.patch(old.key, _terminating, Part.STATUS)


def _terminating(namespace: Json) -> Json:
    section(namespace, "status")["phase"] = "Terminating"
    return namespace
