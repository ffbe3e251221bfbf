"""Columns of custom kinds: their additionalPrinterColumns, or else their age."""

from collections.abc import Iterable

import msgspec

from reprieve.cluster.mini.rest.tables.cells import AGE, NAME, Cell, TableColumn, age
from reprieve.cluster.mini.rest.tables.jsonpath import first_at
from reprieve.model.json import Json


def columns(wanted: Iterable[Json]) -> tuple[TableColumn, ...]:
    return (NAME, *(map(_column, wanted) if wanted else (AGE,)))


def _column(wanted: Json) -> TableColumn:
    path, kind = str(wanted.get("jsonPath")), str(wanted.get("type"))

    def read(body: Json, now: float) -> Cell:
        return _cell(first_at(body, path), kind, now)

    wide = (wanted.get("priority") or 0) > 0
    return TableColumn(str(wanted.get("name")), read, wide, kind, str(wanted.get("format") or ""))


def _cell(value: object, kind: str, now: float) -> Cell:
    match value:
        case None:
            return ""
        case str() if kind == "date":
            return age(value, now)
        case bool():
            return str(value).lower()
        case str() | int():
            return value
    return msgspec.json.encode(value).decode()
