"""Field ownership: what an apply or an update makes of an object, and the managedFields after a write.

A write with the parameter ``fieldManager``, as kubectl sends it, is tracked from the first one on. Otherwise
an object has no managedFields until a client applies it, which keeps writes cheap; from then on every write
by a client is tracked. Writes of the built-in controllers and kubelets are not.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Literal

from reprieve.cluster.admission.structural_schemas import shape_in
from reprieve.cluster.api.merge_shapes import MergeShape, shape_of
from reprieve.cluster.api.timestamps import stamp
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, Cause, bad_request
from reprieve_minicluster.kinds import StatusSubresource, peek
from reprieve_minicluster.rest.http_messages import ApiRequest
from reprieve_minicluster.rest.managed_fields.fields import (
    FieldComparison,
    Path,
    compare,
    merged,
    owned,
    paths_in,
    shown,
    tree_of,
    without,
)
from reprieve_minicluster.rest.query_parameters import Query
from reprieve_minicluster.rest.request_bodies import as_object, from_json
from reprieve_minicluster.rest.routes import ResourcePath
from reprieve_minicluster.store.metadata import metadata_of

APPLY, UPDATE = "Apply", "Update"
# Managers of writes before the first apply, and of the oldest updates that are merged into one entry.
_BEFORE, _LONG_AGO = "before-first-apply", "ancient-changes"
_MOST_UPDATES = 10


@dataclass(frozen=True, slots=True)
class ManagerId:
    name: str
    operation: str
    api_version: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class OwnedFields:
    """``since``: when the set of paths last changed."""

    paths: frozenset[Path]
    since: str


ManagedFields = Mapping[ManagerId, OwnedFields]


def read(entries: object) -> dict[ManagerId, OwnedFields] | None:
    """None for entries that are missing or malformed."""
    if not isinstance(entries, list):
        return None
    try:
        return dict(map(_read_one, entries))
    except ValueError:
        return None


def _read_one(entry: Any) -> tuple[ManagerId, OwnedFields]:
    if not isinstance(entry, dict):
        raise ValueError("expected an object")
    names = ("manager", "operation", "apiVersion", "subresource", "time")
    name, operation, api_version, part, since = (entry.get(name) or "" for name in names)
    if operation not in (APPLY, UPDATE) or not isinstance(api_version, str) or not api_version:
        raise ValueError("expected an operation and an API version")
    manager = ManagerId(str(name), operation, api_version, str(part))
    return manager, OwnedFields(frozenset(paths_in(entry.get("fieldsV1") or {})), str(since))


def entries_of(managed: ManagedFields) -> list[Json]:
    """Managers that apply come first, then the others by time."""
    ordered = sorted(
        managed.items(), key=lambda s: (s[0].operation, s[1].since, s[0].name, s[0].api_version, s[0].part)
    )
    return [_entry(manager, entry) for manager, entry in ordered if entry.paths]


def _entry(manager: ManagerId, entry: OwnedFields) -> Json:
    part = {"subresource": manager.part} if manager.part else {}
    since = {"time": entry.since} if entry.since else {}
    return {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        **since,
        "fieldsType": "FieldsV1",
        "fieldsV1": tree_of(entry.paths),
        **part,
    }


def before_first(api_version: str, paths: set[Path], since: str) -> dict[ManagerId, OwnedFields]:
    return {ManagerId(_BEFORE, UPDATE, api_version): OwnedFields(frozenset(paths), since)}


def with_owned(
    managed: ManagedFields, manager: ManagerId, paths: frozenset[Path], now: str
) -> dict[ManagerId, OwnedFields]:
    """Set the paths that a manager owns."""
    old = managed.get(manager)
    entry = old if old is not None and old.paths == paths else OwnedFields(paths, now)
    return {**managed, manager: entry}


def removed_from_others(
    managed: ManagedFields, manager: ManagerId, paths: set[Path]
) -> dict[ManagerId, OwnedFields]:
    return {
        other: entry if other == manager else replace(entry, paths=entry.paths - paths)
        for other, entry in managed.items()
    }


def bounded(managed: ManagedFields) -> dict[ManagerId, OwnedFields]:
    """Merge the oldest updates beyond a limit into one entry for each API version."""
    updates = sorted(
        (w for w in managed if w.operation == UPDATE), key=lambda w: (managed[w].since, w.name, w.part)
    )
    kept = dict(managed)
    for manager in updates[: max(0, len(updates) - _MOST_UPDATES)]:
        entry = kept.pop(manager)
        heap = ManagerId(_LONG_AGO, UPDATE, manager.api_version)
        there = kept.get(heap)
        kept[heap] = OwnedFields(entry.paths | (there.paths if there else frozenset()), entry.since)
    return kept


# --- applying and updating ------------------------------------------------------------------------


_NOT_SHARED = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"),
)
_HEAD_AND_STATUS = ("apiVersion", "kind", "metadata", "status")
_METADATA = "f:metadata"


def manageable_part(body: Json, *, status: bool | None) -> Json:
    """The part of an object that can have owners.

    ``status``: whether the write is to the status or to the rest; None for kinds without a status
    subresource.
    """
    if status:
        return {"status": body["status"]} if "status" in body else {}
    apart = ("apiVersion", "kind", "metadata") if status is None else _HEAD_AND_STATUS
    meta = body.get("metadata")
    own = {n: v for n, v in meta.items() if n not in _NOT_SHARED} if isinstance(meta, dict) else {}
    rest = {name: value for name, value in body.items() if name not in apart}
    return {"metadata": own, **rest} if own else rest


class Everything(Enum):
    EVERYTHING = "every field"


EVERYTHING: Final = Everything.EVERYTHING
Free = frozenset[Path] | Literal[Everything.EVERYTHING]


@dataclass(frozen=True, slots=True)
class Applied:
    body: Json
    managed: dict[ManagerId, OwnedFields]


@dataclass(frozen=True, slots=True)
class FieldUpdater:
    """The ownership of an object so far. Bodies are the parts of the object that can have owners."""

    managed: ManagedFields
    shape: MergeShape
    now: str

    def updated(self, manager: ManagerId, old: Json, new: Json) -> dict[ManagerId, OwnedFields]:
        """The manager of an update becomes the only owner of the fields that it changes."""
        change = compare(old, new, self.shape)
        if not change:
            return dict(self.managed)
        others = removed_from_others(self.managed, manager, change.written | change.removed)
        mine = others[manager].paths if manager in others else frozenset()
        return bounded(with_owned(others, manager, (mine | change.written) - change.removed, self.now))

    def applied(self, manager: ManagerId, there: Json, wanted: Json, free: Free) -> Applied:
        """An ApiError 409 if other managers own fields that would change and that are not free."""
        mine = frozenset(owned(wanted, self.shape)) if wanted else frozenset()
        after = with_owned(self.managed, manager, mine, self.now)
        new = merged(there, wanted, self.shape)
        if manager in self.managed:
            held = _with_parents(path for entry in after.values() for path in entry.paths)
            new = without(new, _with_parents(self.managed[manager].paths) - held, self.shape)
        change = compare(there, new, self.shape)
        if free is not EVERYTHING:
            _check(after, manager, change, free)
        return Applied(new, removed_from_others(after, manager, change.written | change.removed))


def _with_parents(paths: Iterable[Path]) -> set[Path]:
    """Add the parent fields, except in metadata: labels and annotations may have entries without
    owners."""
    found = set(paths)
    for path in list(found):
        if path[0] == _METADATA:
            continue
        found.update(path[:end] for end in range(1, len(path)) if path[end - 1].startswith("f:"))
    return found


# --- conflicts -------------------------------------------------------------------------------------


def _check(
    managed: ManagedFields, manager: ManagerId, change: FieldComparison, free: frozenset[Path]
) -> None:
    wanted = (change.written | change.removed) - free
    conflicts = [
        (other, path)
        for other, entry in managed.items()
        if other != manager
        for path in sorted(entry.paths & wanted)
    ]
    if conflicts:
        raise _conflict(managed, conflicts)


def _conflict(managed: ManagedFields, conflicts: list[tuple[ManagerId, Path]]) -> ApiError:
    causes = tuple(
        Cause("FieldManagerConflict", f"conflict with {_named(other, managed[other])}", shown(path))
        for other, path in conflicts
    )
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
        return ApiError(409, "Conflict", message, causes)
    lines: dict[str, list[str]] = {}
    for cause in causes:
        lines.setdefault(cause.message.replace("conflict with", "conflicts with"), []).append(
            f"- {cause.field}"
        )
    listed = "\n".join(f"{manager}:\n" + "\n".join(fields) for manager, fields in sorted(lines.items()))
    return ApiError(409, "Conflict", f"Apply failed with {len(causes)} conflicts: {listed}", causes)


def _named(manager: ManagerId, entry: OwnedFields) -> str:
    part = f' with subresource "{manager.part}"' if manager.part else ""
    if manager.operation != UPDATE:
        return f'"{manager.name}"{part}'
    since = f" at {entry.since}" if entry.since else ""
    return f'"{manager.name}"{part} using {manager.api_version}{since}'


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
            return shape_in(custom.schema(self.place.version), is_root=True)
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
