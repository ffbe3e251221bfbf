"""Whose name a write goes under, and what is kept of that.

Who says so with ``fieldManager``, as kubectl does, is remembered from the first write on. Otherwise an object
that nobody has applied yet has no owners and costs nothing; from then on every write by a client counts. What
controllers and kubelets do inside the cluster has no owner.
"""

from dataclasses import dataclass

from reprieve.cluster.api.merge_shapes import MergeShape, shape_of
from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.apiserver.structural_schemas import shape_in
from reprieve.cluster.mini.errors import ApiError, Cause, bad_request
from reprieve.cluster.mini.kinds import Status, peek
from reprieve.cluster.mini.metadata import metadata_of
from reprieve.cluster.mini.rest.bodies import as_object, from_json
from reprieve.cluster.mini.rest.exchange import Request
from reprieve.cluster.mini.rest.managed_fields.deciding import EVERYTHING, Free, Sharing, shared_part
from reprieve.cluster.mini.rest.managed_fields.paths import owned
from reprieve.cluster.mini.rest.managed_fields.writers import (
    APPLY,
    UPDATE,
    Shares,
    Writer,
    before_first,
    entries_of,
    read,
)
from reprieve.cluster.mini.rest.query import Query
from reprieve.cluster.mini.rest.routes import Place
from reprieve.model.json import Json

_LONGEST = 128
_KUBECTL, _LAST_APPLIED = "kubectl", "kubectl.kubernetes.io/last-applied-configuration"
_CONDITIONS = ("name", "namespace", "uid", "resourceVersion")


@dataclass(frozen=True, slots=True)
class Ownership:
    """Of the object at a place, for one request."""

    place: Place
    request: Request
    now: float

    def of_new(self, new: Json) -> list[Json]:
        """The managedFields of an object that is created, and not applied."""
        return self._after_update({}, {}, new) if self._said_name else []

    def of_changed(self, new: Json, old: Json) -> list[Json]:
        """Those after an update. Clients may also write themselves who owns what, or that nobody does."""
        before = peek(old, "metadata").get("managedFields") or []
        said = metadata_of(new).get("managedFields")
        if said in ([], [{}]):
            before = []
        elif said is not None and said != before and read(said) is not None:
            before = said
        if not self._said_name and not before:
            return []
        return self._after_update(read(before) or {}, old, new)

    def _after_update(self, shares: Shares, old: Json, new: Json) -> list[Json]:
        agent = self.request.agent.partition("/")[0][:_LONGEST]
        writer = self._writer(self._said_name or agent or "unknown", UPDATE)
        return entries_of(self._sharing(shares).updated(writer, self._part(old), self._part(new)))

    def put_on(self, wanted: Json, there: Json | None) -> Json:
        """An object after somebody has applied a part of it, managedFields included."""
        if not self._said_name:
            raise _invalid("FieldValueRequired", "Required value: is required for apply patch")
        if peek(wanted, "metadata").get("managedFields") is not None:
            raise bad_request("metadata.managedFields must be nil")
        old = there or {}
        has = self._part(old)
        shares = read(peek(old, "metadata").get("managedFields")) or {}
        if there is not None and not shares:
            shares = before_first(self.place.api_version, owned(has, self._shape), stamp(self.now))
        result = self._sharing(shares).applied(
            self._writer(self._said_name, APPLY),
            has,
            self._part(wanted),
            self._free(old),
        )
        return _rejoined(old, has, peek(wanted, "metadata"), result.body, entries_of(result.shares))

    def _free(self, old: Json) -> Free:
        """What may be taken from others: what kubectl applied on its own side before, it still owns."""
        if Query(self.request.query).flag("force"):
            return EVERYTHING
        text = peek(peek(old, "metadata"), "annotations").get(_LAST_APPLIED)
        if self._said_name != _KUBECTL or not isinstance(text, str):
            return frozenset()
        try:
            return frozenset(owned(self._part(as_object(from_json(text.encode()))), self._shape))
        except ApiError:
            return frozenset()

    @property
    def _said_name(self) -> str:
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

    def _sharing(self, shares: Shares) -> Sharing:
        return Sharing(shares, self._shape, stamp(self.now))

    def _writer(self, name: str, operation: str) -> Writer:
        return Writer(name, operation, self.place.api_version, self.place.part)

    def _part(self, body: Json) -> Json:
        apart = self.place.kind.status is not Status.NONE
        return shared_part(body, status=self.place.part == "status" if apart else None)


def _rejoined(old: Json, had: Json, said: Json, part: Json, entries: list[Json]) -> Json:
    """What has owners, with what has none as it was. Name, UID and version are conditions of the client's."""
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
