"""Serialization of stored objects for one client: in its API version, as object, table or metadata."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import msgspec

from reprieve.model.json import Json
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.kinds.cells import TableColumn
from reprieve_minicluster.rest.http_messages import ApiRequest
from reprieve_minicluster.rest.negotiation import ResponseForm, form_of
from reprieve_minicluster.rest.query_parameters import Query
from reprieve_minicluster.rest.routes import ResourcePath
from reprieve_minicluster.store import EventType, Stored, parsed
from reprieve_minicluster.webhooks.calls import Replies, Webhooks
from reprieve_minicluster.webhooks.conversion import all_converted

META = "meta.k8s.io/v1"


class Included(Enum):
    """How much of its object a row carries."""

    NOTHING = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def included(query: Query) -> Included:
    allowed = tuple(choice.value for choice in Included)
    return Included(query.choice("includeObject", allowed) or Included.METADATA.value)


def definitions(kind: ResourceKind, version: str) -> list[Json]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": f"{column.name} of the {kind.kind}",
            "priority": 1 if column.wide else 0,
        }
        for column in kind.columns_in(version)
    ]


def row(columns: Iterable[TableColumn], stored: Json, shown: Json, include: Included, now: float) -> Json:
    """Cells come from ``stored``; ``shown`` is the same object in the client's API version."""
    cells = [column.read(stored, now) for column in columns]
    match include:
        case Included.NOTHING:
            return {"cells": cells}
        case Included.METADATA:
            return {"cells": cells, "object": metadata_only(shown)}
        case Included.OBJECT:
            return {"cells": cells, "object": shown}


def table(rows: Iterable[Json], head: list[Json], metadata: Json) -> Json:
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": metadata,
        "columnDefinitions": head,
        "rows": list(rows),
    }


def metadata_only(shown: Json) -> Json:
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": shown.get("metadata", {})}


# --- for one client -------------------------------------------------------------------------------


_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ListExtent:
    """The metadata of a list: its version, and how to continue it."""

    version: int
    token: str = ""
    remaining: int | None = None

    @property
    def metadata(self) -> Json:
        meta: Json = {"resourceVersion": str(self.version)}
        if self.token:
            meta["continue"] = self.token
        if self.remaining is not None:
            meta["remainingItemCount"] = self.remaining
        return meta


@dataclass(frozen=True, slots=True)
class ObjectSerializer:
    place: ResourcePath
    form: ResponseForm
    include: Included
    now: float
    webhooks: Webhooks

    @property
    def kind(self) -> ResourceKind:
        return self.place.kind

    def raw(self, stored: Stored) -> bytes:
        """The object as JSON. One that is stored in the client's API version needs no decoding."""
        if stored.raw.startswith(b'{"apiVersion":"%b"' % self.place.api_version.encode()):
            return stored.raw
        return _encode(self.value(stored))

    def value(self, stored: Stored) -> Json:
        return self.values((stored,))[0]

    def values(self, items: Sequence[Stored]) -> list[Json]:
        """Together, since a webhook converts many objects in one call."""
        bodies = [parsed(item) for item in items]
        return all_converted(self.kind, self.place.api_version, bodies, self.webhooks)

    def knowing(self, replies: Replies) -> "ObjectSerializer":
        return replace(self, webhooks=replace(self.webhooks, replies=replies))

    def _raws(self, items: Sequence[Stored]) -> Iterable[bytes]:
        if self.kind.converted_by_webhook:
            return map(_encode, self.values(items))
        return map(self.raw, items)

    def one(self, stored: Stored) -> bytes:
        match self.form:
            case ResponseForm.TABLE:
                return _encode(self._table([stored], ListExtent(stored.version)))
            case ResponseForm.METADATA | ResponseForm.METADATA_LIST:
                return _encode(metadata_only(self.value(stored)))
            case ResponseForm.OBJECT:
                return self.raw(stored)

    def many(self, items: Sequence[Stored], extent: ListExtent) -> bytes:
        match self.form:
            case ResponseForm.TABLE:
                return _encode(self._table(items, extent))
            case ResponseForm.METADATA | ResponseForm.METADATA_LIST:
                return _encode(
                    {
                        "kind": "PartialObjectMetadataList",
                        "apiVersion": META,
                        "metadata": extent.metadata,
                        "items": [metadata_only(value) for value in self.values(items)],
                    }
                )
            case ResponseForm.OBJECT:
                head = {
                    "kind": self.kind.list_kind,
                    "apiVersion": self.place.api_version,
                    "metadata": extent.metadata,
                }
                return _encode(head)[:-1] + b',"items":[' + b",".join(self._raws(items)) + b"]}"

    # --- watching --------------------------------------------------------------------------------

    def event(self, verb: EventType, stored: Stored, *, first: bool) -> bytes:
        """``first``: whether a table must define its columns."""
        if self.form is ResponseForm.TABLE:
            shown = _encode(self._table([stored], ListExtent(stored.version), headed=first))
        else:
            shown = self.one(stored)
        return b'{"type":"%b","object":%b}\n' % (verb.encode(), shown)

    def bookmark(self, version: int, *, ends_initial_events: bool) -> bytes:
        meta: Json = {"resourceVersion": str(version)}
        if ends_initial_events:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        return _encode({"type": "BOOKMARK", "object": self._bookmarked(meta)}) + b"\n"

    def _bookmarked(self, meta: Json) -> Json:
        match self.form:
            case ResponseForm.TABLE:
                return table([], [], meta)
            case ResponseForm.METADATA | ResponseForm.METADATA_LIST:
                return metadata_only({"metadata": meta})
            case ResponseForm.OBJECT:
                return {"kind": self.kind.kind, "apiVersion": self.place.api_version, "metadata": meta}

    def _table(self, items: Sequence[Stored], extent: ListExtent, *, headed: bool = True) -> Json:
        columns = self.kind.columns_in(self.place.version)
        shown = self.values(items)
        # Columns of our own kinds are of the stored version.
        read = shown if self.kind.custom is not None else map(parsed, items)
        rows = (row(columns, *bodies, self.include, self.now) for bodies in zip(read, shown, strict=True))
        head = definitions(self.kind, self.place.version) if headed else []
        return table(rows, head, extent.metadata)


def serializer_of(
    place: ResourcePath, request: ApiRequest, now: float, webhooks: Webhooks, *, is_list: bool
) -> ObjectSerializer:
    form, include = form_of(request.accept, is_list=is_list), included(Query(request.query))
    return ObjectSerializer(place, form, include, now, webhooks)
