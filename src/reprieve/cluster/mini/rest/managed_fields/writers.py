"""Who owns which fields of an object: managedFields, read and written."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reprieve.cluster.mini.rest.managed_fields.paths import Path, paths_in, tree_of
from reprieve.model.json import Json

APPLY, UPDATE = "Apply", "Update"
# Whoever wrote an object before anybody kept count of it, and those who did so long ago.
_BEFORE, _LONG_AGO = "before-first-apply", "ancient-changes"
_MOST_UPDATES = 10


@dataclass(frozen=True, slots=True)
class Writer:
    name: str
    operation: str
    api_version: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """``since``: when it last became another one."""

    paths: frozenset[Path]
    since: str


Shares = Mapping[Writer, Share]


def read(entries: object) -> dict[Writer, Share] | None:
    """None for what cannot be read, or is not there."""
    if not isinstance(entries, list):
        return None
    try:
        return dict(map(_read_one, entries))
    except ValueError:
        return None


def _read_one(entry: Any) -> tuple[Writer, Share]:
    if not isinstance(entry, dict):
        raise ValueError("expected an object")
    names = ("manager", "operation", "apiVersion", "subresource", "time")
    name, operation, api_version, part, since = (entry.get(name) or "" for name in names)
    if operation not in (APPLY, UPDATE) or not isinstance(api_version, str) or not api_version:
        raise ValueError("expected an operation and an API version")
    writer = Writer(str(name), operation, api_version, str(part))
    return writer, Share(frozenset(paths_in(entry.get("fieldsV1") or {})), str(since))


def entries_of(shares: Shares) -> list[Json]:
    """Those who apply come first, then the others by time."""
    ordered = sorted(
        shares.items(), key=lambda s: (s[0].operation, s[1].since, s[0].name, s[0].api_version, s[0].part)
    )
    return [_entry(writer, share) for writer, share in ordered if share.paths]


def _entry(writer: Writer, share: Share) -> Json:
    part = {"subresource": writer.part} if writer.part else {}
    since = {"time": share.since} if share.since else {}
    return {
        "manager": writer.name,
        "operation": writer.operation,
        "apiVersion": writer.api_version,
        **since,
        "fieldsType": "FieldsV1",
        "fieldsV1": tree_of(share.paths),
        **part,
    }


def before_first(api_version: str, paths: set[Path], since: str) -> dict[Writer, Share]:
    return {Writer(_BEFORE, UPDATE, api_version): Share(frozenset(paths), since)}


def with_share(shares: Shares, writer: Writer, paths: frozenset[Path], now: str) -> dict[Writer, Share]:
    """``paths`` are what the writer owns from now on."""
    old = shares.get(writer)
    share = old if old is not None and old.paths == paths else Share(paths, now)
    return {**shares, writer: share}


def taken_from_others(shares: Shares, writer: Writer, paths: set[Path]) -> dict[Writer, Share]:
    return {
        other: share if other == writer else replace(share, paths=share.paths - paths)
        for other, share in shares.items()
    }


def bounded(shares: Shares) -> dict[Writer, Share]:
    """Of very many who once updated the object, the oldest are counted as one for each API version."""
    updates = sorted(
        (w for w in shares if w.operation == UPDATE), key=lambda w: (shares[w].since, w.name, w.part)
    )
    kept = dict(shares)
    for writer in updates[: max(0, len(updates) - _MOST_UPDATES)]:
        share = kept.pop(writer)
        heap = Writer(_LONG_AGO, UPDATE, writer.api_version)
        there = kept.get(heap)
        kept[heap] = Share(share.paths | (there.paths if there else frozenset()), share.since)
    return kept
