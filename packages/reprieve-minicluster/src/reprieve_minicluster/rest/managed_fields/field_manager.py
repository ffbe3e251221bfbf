"""The field manager of a request, and the managedFields after its write.

A write with the parameter ``fieldManager``, as kubectl sends it, is tracked from the first one on. Otherwise
an object has no managedFields until a client applies it, which keeps writes cheap; from then on every write
by a client is tracked. Writes of the built-in controllers and kubelets are not.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reprieve.cluster.admission.structural_schemas import shape_in
from reprieve.cluster.api.merge_shapes import MergeShape, shape_of
from reprieve.cluster.api.timestamps import stamp
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, Cause, bad_request
from reprieve_minicluster.kinds import StatusSubresource, peek
from reprieve_minicluster.rest.http_messages import ApiRequest
from reprieve_minicluster.rest.managed_fields.fields import owned
from reprieve_minicluster.rest.managed_fields.ownership import (
    APPLY,
    EVERYTHING,
    UPDATE,
    FieldUpdater,
    Free,
    ManagedFields,
    ManagerId,
    before_first,
    entries_of,
    manageable_part,
    read,
)
from reprieve_minicluster.rest.query_parameters import Query
from reprieve_minicluster.rest.request_bodies import as_object, from_json
from reprieve_minicluster.rest.routes import ResourcePath
from reprieve_minicluster.store.metadata import metadata_of

_LONGEST = 128
_KUBECTL, _LAST_APPLIED = "kubectl", "kubectl.kubernetes.io/last-applied-configuration"
_CONDITIONS = ("name", "namespace", "uid", "resourceVersion")


@dataclass(frozen=True, slots=True)
class FieldManager:
    """Tracks ownership in the object of one request."""

    place: ResourcePath
    request: ApiRequest
    now: float

    def of_new(self, new: Callable[[], Json]) -> list[Json]:
        """The managedFields of an object that a client creates without apply. ``new``: what it owns."""
        return self._after_update({}, {}, new()) if self._given_name else []

    def of_changed(self, new: Json, old: Json) -> list[Json]:
        """The managedFields after an update. A client may also set or clear them explicitly."""
        before = peek(old, "metadata").get("managedFields") or []
        said = metadata_of(new).get("managedFields")
        if said in ([], [{}]):
            before = []
        elif said is not None and said != before and read(said) is not None:
            before = said
        if not self._given_name and not before:
            return []
        return self._after_update(read(before) or {}, old, new)

    def _after_update(self, managed: ManagedFields, old: Json, new: Json) -> list[Json]:
        agent = self.request.agent.partition("/")[0][:_LONGEST]
        manager = self._manager(self._given_name or agent or "unknown", UPDATE)
        return entries_of(self._updater(managed).updated(manager, self._part(old), self._part(new)))

    def put_on(self, wanted: Json, there: Json | None) -> Json:
        """The object after an apply, with its managedFields."""
        if not self._given_name:
            raise _invalid("FieldValueRequired", "Required value: is required for apply patch")
        if peek(wanted, "metadata").get("managedFields") is not None:
            raise bad_request("metadata.managedFields must be nil")
        old = there or {}
        has = self._part(old)
        managed = read(peek(old, "metadata").get("managedFields")) or {}
        if there is not None and not managed:
            managed = before_first(self.place.api_version, owned(has, self._shape), stamp(self.now))
        result = self._updater(managed).applied(
            self._manager(self._given_name, APPLY),
            has,
            self._part(wanted),
            self._free(old),
        )
        return _rejoined(old, has, peek(wanted, "metadata"), result.body, entries_of(result.managed))

    def _free(self, old: Json) -> Free:
        """Fields that may be taken from other managers: all with force; for kubectl those that it applied
        client-side before."""
        if Query(self.request.query).flag("force"):
            return EVERYTHING
        text = peek(peek(old, "metadata"), "annotations").get(_LAST_APPLIED)
        if self._given_name != _KUBECTL or not isinstance(text, str):
            return frozenset()
        try:
            return frozenset(owned(self._part(as_object(from_json(text.encode()))), self._shape))
        except ApiError:
            return frozenset()

    @property
    def _given_name(self) -> str:
        name = self.request.query.get("fieldManager", "")
        if len(name) > _LONGEST or not name.isprintable():
            raise _invalid("FieldValueInvalid", f"expected at most {_LONGEST} printable characters")
        return name

    @property
    def _shape(self) -> MergeShape:
        custom = self.place.kind.custom
        if custom is not None:
            return shape_in(custom.schemas[self.place.version], is_root=True)
        return shape_of(self.place.api_version, self.place.kind.kind)

    def _updater(self, managed: ManagedFields) -> FieldUpdater:
        return FieldUpdater(managed, self._shape, stamp(self.now))

    def _manager(self, name: str, operation: str) -> ManagerId:
        return ManagerId(name, operation, self.place.api_version, self.place.part)

    def _part(self, body: Json) -> Json:
        apart = self.place.kind.status is not StatusSubresource.NONE
        return manageable_part(body, status=self.place.part == "status" if apart else None)


def _rejoined(old: Json, had: Json, said: Json, part: Json, entries: list[Json]) -> Json:
    """Join the managed part with the rest of the old object, and the client's preconditions."""
    kept = {name: value for name, value in old.items() if name not in had}
    meta = peek(old, "metadata")
    unowned = {name: value for name, value in meta.items() if name not in peek(had, "metadata")}
    conditions = {name: value for name, value in said.items() if name in _CONDITIONS}
    return {
        **kept,
        **part,
        "metadata": {**unowned, **peek(part, "metadata"), **conditions, "managedFields": entries},
    }


def _invalid(reason: str, why: str) -> ApiError:
    cause = Cause(reason, why, "fieldManager")
    return ApiError(422, "Invalid", f"PatchOptions.meta.k8s.io is invalid: fieldManager: {why}", (cause,))
