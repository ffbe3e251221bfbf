"""How stored objects look to one client: in its API version, and in the form that it asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from reprieve.cluster.mini.history import Stored, Verb
from reprieve.cluster.mini.kinds import Kind
from reprieve.cluster.mini.rest.accept import Form, form_of
from reprieve.cluster.mini.rest.exchange import Request
from reprieve.cluster.mini.rest.query import Query
from reprieve.cluster.mini.rest.routes import Place
from reprieve.cluster.mini.rest.tables import (
    META,
    Included,
    columns_of,
    definitions,
    included,
    metadata_only,
    row,
    table,
)
from reprieve.cluster.mini.rest.tables.cells import Column
from reprieve.cluster.mini.spelling import spelled
from reprieve.cluster.mini.store import parsed
from reprieve.model.json import Json

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Range:
    """Where a list stands: at which version, and how it goes on."""

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
class View:
    place: Place
    form: Form
    include: Included
    now: float

    @property
    def kind(self) -> Kind:
        return self.place.kind

    def raw(self, stored: Stored) -> bytes:
        """As JSON. What is stored as the client spells it need not be touched."""
        if stored.raw.startswith(b'{"apiVersion":"%b"' % self.place.api_version.encode()):
            return stored.raw
        return _encode(self.value(stored))

    def value(self, stored: Stored) -> Json:
        return spelled(self.kind, self.place.api_version, parsed(stored))

    def one(self, stored: Stored) -> bytes:
        match self.form:
            case Form.TABLE:
                return _encode(self._table([stored], Range(stored.version)))
            case Form.METADATA | Form.METADATA_LIST:
                return _encode(metadata_only(self.value(stored)))
            case Form.OBJECT:
                return self.raw(stored)

    def many(self, items: Sequence[Stored], extent: Range) -> bytes:
        match self.form:
            case Form.TABLE:
                return _encode(self._table(items, extent))
            case Form.METADATA | Form.METADATA_LIST:
                return _encode(
                    {
                        "kind": "PartialObjectMetadataList",
                        "apiVersion": META,
                        "metadata": extent.metadata,
                        "items": [metadata_only(self.value(item)) for item in items],
                    }
                )
            case Form.OBJECT:
                head = {
                    "kind": self.kind.list_kind,
                    "apiVersion": self.place.api_version,
                    "metadata": extent.metadata,
                }
                return _encode(head)[:-1] + b',"items":[' + b",".join(map(self.raw, items)) + b"]}"

    # --- watching --------------------------------------------------------------------------------

    def event(self, verb: Verb, stored: Stored, *, first: bool) -> bytes:
        """``first``: whether a table still has to say what its columns are."""
        if self.form is Form.TABLE:
            shown = _encode(self._table([stored], Range(stored.version), headed=first))
        else:
            shown = self.one(stored)
        return b'{"type":"%b","object":%b}\n' % (verb.encode(), shown)

    def bookmark(self, version: int, *, ends_the_beginning: bool) -> bytes:
        meta: Json = {"resourceVersion": str(version)}
        if ends_the_beginning:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        return _encode({"type": "BOOKMARK", "object": self._bookmarked(meta)}) + b"\n"

    def _bookmarked(self, meta: Json) -> Json:
        match self.form:
            case Form.TABLE:
                return table([], [], meta)
            case Form.METADATA | Form.METADATA_LIST:
                return metadata_only({"metadata": meta})
            case Form.OBJECT:
                return {"kind": self.kind.kind, "apiVersion": self.place.api_version, "metadata": meta}

    def _table(self, items: Sequence[Stored], extent: Range, *, headed: bool = True) -> Json:
        columns = columns_of(self.kind, self.place.version)
        rows = (self._row(item, columns) for item in items)
        head = definitions(self.kind, self.place.version) if headed else []
        return table(rows, head, extent.metadata)

    def _row(self, stored: Stored, columns: Sequence[Column]) -> Json:
        body = parsed(stored)
        shown = spelled(self.kind, self.place.api_version, body)
        return row(columns, body, shown, self.include, self.now)


def view_of(place: Place, request: Request, query: Query, now: float, *, is_list: bool) -> View:
    return View(place, form_of(request.accept, is_list=is_list), included(query), now)
