"""Entries of managedFields: reading and writing, and which manager owns which paths."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reprieve.cluster.mini.rest.managed_fields.field_paths import Path, paths_in, tree_of
from reprieve.model.json import Json

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
