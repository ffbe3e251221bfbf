"""Which plain JSON values count as absent, and which as equal? As in Kubernetes; and safe access to them.

Nothing here raises if a value has the wrong type.
"""

from collections.abc import Iterator
from typing import Any

from reprieve.model.json import Json
from reprieve.model.resources import milli
from reprieve.model.volumes import OLDER_CLASS

_QUANTITIES = frozenset({"requests", "limits", "capacity", "overhead", "allocatable"})
# Mappings whose keys the user chooses: an empty one counts as absent. An empty object elsewhere (emptyDir,
# securityContext) has a meaning.
_MAPPINGS = _QUANTITIES | {"labels", "annotations", "nodeSelector", "matchLabels"}
# Flags and numbers for which false and 0 count as absent; elsewhere, false may have a meaning.
_OFF_UNLESS_SAID = frozenset(
    {"hostIPC", "hostNetwork", "hostPID", "hostPort", "readOnly", "stdin", "stdinOnce", "tty"}
)
_DEEPEST = 100


class TooDeepError(ValueError):
    """A value is nested more deeply than any object of the API."""


def without_nulls(value: object, levels: int = _DEEPEST) -> Any:
    """A copy without nulls: to Kubernetes, null means absent."""
    if levels == 0:
        raise TooDeepError
    match value:
        case dict():
            return {k: without_nulls(v, levels - 1) for k, v in value.items() if v is not None}
        case list():
            return [without_nulls(item, levels - 1) for item in value]
    return value


def part(body: object, *names: str) -> Json:
    """The object at a path, for reading; empty if there is none."""
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, dict) else {}


def made(body: Json, name: str) -> Json:
    """The object under a name, for writing. A value that is no object is left unchanged."""
    found = body.setdefault(name, {})
    return found if isinstance(found, dict) else {}


def items(body: object, name: str) -> Iterator[Json]:
    """The objects in a list."""
    found = body.get(name) if isinstance(body, dict) else None
    if isinstance(found, list):
        yield from (item for item in found if isinstance(item, dict))


def texts(body: object, name: str) -> Iterator[str]:
    found = body.get(name) if isinstance(body, dict) else None
    if isinstance(found, list):
        yield from (item for item in found if isinstance(item, str))


def name_of(body: object) -> str:
    return text_in(part(body, "metadata"), "name")


def text_in(body: object, name: str) -> str:
    found = body.get(name) if isinstance(body, dict) else None
    return found if isinstance(found, str) else ""


def means_the_same(one: object, other: object) -> bool:
    """Whether two values mean the same: quantities by their amount, and what is empty as absent."""
    return _plain(one) == _plain(other)


def _plain(value: object) -> object:
    match value:
        case dict():
            read = {k: _field(k, v) for k, v in value.items()}
            return {k: v for k, v in read.items() if not _is_absent(k, v)}
        case list():
            return [_plain(item) for item in value]
    return value


def _field(name: str, value: object) -> object:
    """In a mapping whose keys the user chooses, an empty text differs from an absent one."""
    if name in _QUANTITIES:
        return _amounts(value)
    return value if name in _MAPPINGS else _plain(value)


def _is_absent(name: str, value: object) -> bool:
    if value is None or value in ([], ""):
        return True
    return (value == {} and name in _MAPPINGS) or (not value and name in _OFF_UNLESS_SAID)


def _amounts(quantities: object) -> object:
    if not isinstance(quantities, dict):
        return quantities
    return {k: amount_of(v, otherwise=v) for k, v in quantities.items()}


def amount_of(quantity: object, otherwise: Any = None) -> Any:
    """A quantity in thousandths, or ``otherwise`` if it is none."""
    if isinstance(quantity, bool) or not isinstance(quantity, str | int | float):
        return otherwise
    amount = milli(quantity)
    return otherwise if amount is None else amount


def sized(quantity: object) -> object:
    """A number as the text that is stored; a text unchanged."""
    if isinstance(quantity, bool) or not isinstance(quantity, int | float):
        return quantity
    amount = milli(quantity)
    return quantity if amount is None else written(amount)


def written(thousandths: int) -> str:
    """An amount as a quantity."""
    return str(thousandths // 1000) if thousandths % 1000 == 0 else f"{thousandths}m"


def storage_class_in(body: Json) -> str:
    """The class of a claim or a volume."""
    annotations = part(body, "metadata", "annotations")
    if OLDER_CLASS in annotations:
        return text_in(annotations, OLDER_CLASS)
    return text_in(part(body, "spec"), "storageClassName")
