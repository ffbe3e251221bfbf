"""Cells of tables: how a value is read from an object and formatted.

Objects may be malformed: a value that is missing or of the wrong type is an empty cell.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from reprieve.model.json import Json

NONE, UNKNOWN = "<none>", "<unknown>"

Cell = str | int
Reader = Callable[[Json, float], Cell]  # an object, and now


@dataclass(frozen=True, slots=True)
class TableColumn:
    """``wide``: shown only by `kubectl get -o wide`."""

    name: str
    read: Reader
    wide: bool = False
    type: str = "string"
    format: str = ""


def at(body: object, path: str) -> object:
    for step in path.split("."):
        body = body.get(step) if isinstance(body, dict) else None
    return body


def text_at(body: object, path: str, missing: str = NONE) -> str:
    value = at(body, path)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) and value != "" else missing


def number_at(body: object, path: str, missing: int = 0) -> int:
    value = at(body, path)
    return value if isinstance(value, int) else missing


def items_at(body: object, path: str) -> list[Json]:
    value = at(body, path)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def condition(body: object, name: str) -> Json:
    return next((c for c in items_at(body, "status.conditions") if c.get("type") == name), {})


# --- columns that many kinds share -----------------------------------------------------------------


def text(name: str, path: str, missing: str = NONE, *, wide: bool = False) -> TableColumn:
    return TableColumn(name, lambda body, now: text_at(body, path, missing), wide)


def number(name: str, path: str, missing: int = 0, *, wide: bool = False) -> TableColumn:
    return TableColumn(name, lambda body, now: number_at(body, path, missing), wide, "integer")


def joined(name: str, path: str, field: str, *, wide: bool = False) -> TableColumn:
    """One field of all items of a list."""

    def read(body: Json, now: float) -> str:
        return ",".join(text_at(item, field, "") for item in items_at(body, path)) or NONE

    return TableColumn(name, read, wide)


def size(name: str, *paths: str) -> TableColumn:
    """How many entries there are."""

    def read(body: Json, now: float) -> int:
        found = (at(body, path) for path in paths)
        return sum(len(value) for value in found if isinstance(value, dict | list))

    return TableColumn(name, read, type="integer")


def since(name: str, path: str, missing: str = UNKNOWN, *, wide: bool = False) -> TableColumn:
    return TableColumn(name, lambda body, now: age(at(body, path), now, missing), wide)


NAME = TableColumn("Name", lambda body, now: text_at(body, "metadata.name"), format="name")
AGE = since("Age", "metadata.creationTimestamp")


# --- time ------------------------------------------------------------------------------------------


def moment(stamp: object) -> float | None:
    try:
        return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else None
    except ValueError:
        return None


def age(stamp: object, now: float, missing: str = UNKNOWN) -> str:
    then = moment(stamp)
    return missing if then is None else duration(now - then)


def duration(seconds: float) -> str:
    """Written as kubectl does: two units at most, and one for longer durations."""
    whole = max(0, int(seconds))
    minutes, hours, days, years = whole // 60, whole // 3600, whole // 86400, whole // 31_536_000
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _pair(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if years < 2:
        return f"{days}d"
    return _pair(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
