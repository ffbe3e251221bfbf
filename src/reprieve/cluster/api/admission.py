"""What becomes of an object that a client sends, before it is stored: completed, or refused, and why.

``admit`` is the entry point of whoever serves the API, and a pure function of plain JSON values. Call it

- on CREATE with the object as it was sent; metadata.name may still be missing if metadata.generateName is
  there, and metadata.namespace where ``Request.namespace`` says it;
- on UPDATE with the whole object as it will be (patches are applied before) and the stored one as ``old``;
- with a subresource for ``status`` and ``resize``, both of them updates of the whole object; a change of scale
  is an update of the object itself. Binding and eviction are no business of admission.

``new`` and ``old`` are both in the spelling of ``Request.version``: conversion comes before. Neither is changed.
The answer is the object to be stored (with nulls removed, defaults filled in, priorities resolved and fields
behind missing features dropped), or the field errors for a 422, or a refusal for a 403 or 404. Of metadata,
what the server itself owns (uid, generation, resourceVersion, times) is taken as it comes: the store keeps it.

HTTP, storage, and where the gates come from are not known here.
"""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Protocol

from reprieve.cluster.api.features import Features
from reprieve.cluster.api.fields import FieldError, Reason
from reprieve.cluster.api.values import Json

__all__ = [
    "Answer",
    "Features",
    "FieldError",
    "Lookup",
    "Operation",
    "Reason",
    "Refusal",
    "RefusalReason",
    "Request",
    "admit",
]


class Operation(Enum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"


@dataclass(frozen=True, slots=True)
class Request:
    """``name`` and ``namespace`` are those of the URL; empty where it has none."""

    operation: Operation
    group: str
    version: str
    kind: str
    new: Json
    old: Json | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    features: Features = Features()


class Lookup(Protocol):
    """What admission must read. Objects of kinds with several spellings are not asked for."""

    def find(self, kind: str, namespace: str, name: str) -> Json | None: ...

    def all(self, kind: str) -> Iterable[Json]: ...


class RefusalReason(StrEnum):
    FORBIDDEN = "Forbidden"  # 403
    NOT_FOUND = "NotFound"  # 404


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal of the whole request, with the ``reason`` of a ``Status`` and a sentence."""

    reason: RefusalReason
    sentence: str


Answer = Json | tuple[FieldError, ...] | Refusal


def admit(request: Request, lookup: Lookup) -> Answer:
    return deepcopy(request.new)
