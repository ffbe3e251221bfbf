"""Creating, replacing, patching and deleting objects. Everything is checked before anything is written."""

from dataclasses import dataclass

from reprieve.cluster.mini.errors import ApiError, bad_request, invalid
from reprieve.cluster.mini.history import Stored
from reprieve.cluster.mini.kinds import section
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.namespaces import STANDARD
from reprieve.cluster.mini.rest.api import Api
from reprieve.cluster.mini.rest.authorizing import check_gift
from reprieve.cluster.mini.rest.bodies import media_type, read_object
from reprieve.cluster.mini.rest.exchange import Request, Response, answer
from reprieve.cluster.mini.rest.filters import filter_of
from reprieve.cluster.mini.rest.heads import addressed, headed
from reprieve.cluster.mini.rest.ownership import Ownership
from reprieve.cluster.mini.rest.patches import Change, change_of
from reprieve.cluster.mini.rest.query import Query, forbidden
from reprieve.cluster.mini.rest.removals import Removal, removal_of
from reprieve.cluster.mini.rest.routes import Place
from reprieve.cluster.mini.rest.statuses import subject_of, success
from reprieve.cluster.mini.rest.strictness import Read, readable, still_readable
from reprieve.cluster.mini.rest.views import View
from reprieve.cluster.mini.spelling import settled, spelled, stored_form
from reprieve.cluster.mini.store import Part, Store, check_preconditions, parsed, without_status
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class Call:
    """One request, understood so far: where it leads, what it says, and how to answer it."""

    api: Api
    place: Place
    request: Request
    query: Query
    view: View

    @property
    def chosen(self) -> Api:
        """The API to write with: on a dry run, one in which nothing stays."""
        return self.api.rehearsing() if self.query.is_dry_run else self.api

    @property
    def ownership(self) -> Ownership:
        return Ownership(self.place, self.request, self.api.clock())


def create(call: Call) -> Response:
    place, api = call.place, call.chosen
    read = _read(call)
    body = settled(place.api_version, addressed(place, read.body))
    if metadata_of(body).get("resourceVersion"):
        raise bad_request("metadata.resourceVersion must not be set on objects to be created")
    sent = without_status(place.kind, body)
    check_gift(api.rights, call.request.user, place, sent)
    admitted = api.admit_new(place, sent)
    owners = call.ownership.of_new(admitted)
    return answer(call.view.one(created(call, admitted, owners)), 201, read.warnings)


def _read(call: Call) -> Read:
    sent = read_object(call.request)
    if sent.get("metadata") is None:
        sent = {**sent, "metadata": {}}
    body = headed(call.place, sent)
    return readable(call.place, call.request, call.query.field_validation, body)


def created(call: Call, admitted: Json, owners: list[Json]) -> Stored:
    """``owners``: who owns which of its fields."""
    place = call.place
    form = stored_form(place.kind, place.api_version, admitted)
    return call.chosen.store.create(place.kind.resource, form, owners)


def replace(call: Call) -> Response:
    read = _read(call)
    if not call.place.kind.blind and not metadata_of(read.body).get("resourceVersion"):
        raise invalid(call.place.kind.kind, "metadata.resourceVersion", "must be specified for an update")
    return answer(call.view.one(written(call, lambda _: read.body)), 200, read.warnings)


def patch(call: Call) -> Response:
    if call.query.text("force"):
        raise forbidden("force", "may not be specified for non-apply patch")
    change = change_of(call.place.kind, media_type(call.request), call.request.body)
    warnings: list[str] = []

    def patched(old: Json) -> Json:
        new = headed(call.place, change(old))
        read = still_readable(call.place, call.query.field_validation, new, old)
        warnings.extend(read.warnings)
        return read.body

    return answer(call.view.one(written(call, patched)), 200, tuple(warnings))


def written(call: Call, change: Change, *, counts_owners: bool = True) -> Stored:
    """What is stored after a change of an object as the client spells it was admitted.

    ``counts_owners``: whether who owns what follows from the change, and is not part of it.
    """
    place, api = call.place, call.chosen
    stored = api.store.get(place.key)
    before = parsed(stored)
    old = spelled(place.kind, place.api_version, before)
    new = addressed(place, change(old))
    check_gift(api.rights, call.request.user, place, new)
    meta = metadata_of(new)
    uid = meta.get("uid") or ""
    if call.request.method == "PATCH" and uid not in ("", stored.uid):
        # One who replaces an object says by its UID which one he means; one who patches it changes the field.
        raise invalid(str(place.key), "metadata.uid", "the field is immutable")
    check_preconditions(stored, uid, meta.get("resourceVersion") or "")
    admitted = api.admit_change(place, settled(place.api_version, new), old)
    form = stored_form(place.kind, place.api_version, admitted, before)
    owners = meta.get("managedFields")
    if counts_owners:
        owners = call.ownership.of_changed(admitted, old)
    return api.store.update(place.kind.resource, form, _part(place), owners)


def _part(place: Place) -> Part:
    return Part.STATUS if place.part == "status" else Part.MAIN


# --- deleting --------------------------------------------------------------------------------------


def delete(call: Call) -> Response:
    removal = removal_of(call.request, call.query)
    store = call.api.rehearsing().store if removal.dry_run else call.api.store
    old = store.get(call.place.key)
    left = remove(store, old, removal, call.api.clock())
    if left is not None or call.place.kind.drains:
        return answer(call.view.one(left or old))
    return answer(success(subject_of(call.place.kind, old.key.name, old.uid)))


def delete_many(call: Call) -> Response:
    removal = removal_of(call.request, call.query)
    store = call.api.rehearsing().store if removal.dry_run else call.api.store
    items, extent = call.api.lists.list(call.place, call.query, filter_of(call.place, call.query))
    for item in items:
        check_preconditions(item, removal.uid, removal.version)
    for item in items:
        remove(store, item, removal, call.api.clock())
    return answer(call.view.many(items, extent))


def remove(store: Store, old: Stored, removal: Removal, now: float) -> Stored | None:
    """What is left of an object for others to finish, or None when it is gone."""
    kind = store.kinds[old.key.resource]
    if kind.resource == "namespaces" and old.key.name in STANDARD:
        raise ApiError(403, "Forbidden", f"{old.key} is forbidden: this namespace may not be deleted")
    left = store.delete(
        old.key, removal.uid, removal.version, grace=removal.grace, held_by=removal.held_by(kind)
    )
    if left is None or kind.resource != "namespaces":
        return left
    return store.patch(old.key, _terminating, Part.STATUS)


def _terminating(namespace: Json) -> Json:
    section(namespace, "status")["phase"] = "Terminating"
    return namespace
