"""Tables of kinds that somebody has defined: the columns that he wants, or else how old they are."""

from collections.abc import Iterable

import msgspec

from reprieve.cluster.mini.rest.tables.cells import AGE, NAME, Cell, Column, age
from reprieve.cluster.mini.rest.tables.jsonpath import first_at
from reprieve.model.json import Json


def columns(wanted: Iterable[Json]) -> tuple[Column, ...]:
    return (NAME, *(map(_column, wanted) if wanted else (AGE,)))


def _column(wanted: Json) -> Column:
    path, kind = str(wanted.get("jsonPath")), str(wanted.get("type"))

    def read(body: Json, now: float) -> Cell:
        return _cell(first_at(body, path), kind, now)

    wide = (wanted.get("priority") or 0) > 0
    return Column(str(wanted.get("name")), read, wide, kind, str(wanted.get("format") or ""))


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
