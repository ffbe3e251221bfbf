"""The parts that all kinds share: the record itself, metadata, conditions, selectors."""

from datetime import datetime
from typing import Annotated

import msgspec

Quantity = str | int | float
# The API's own ranges; values beyond them would not fit the columns either.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Time = Annotated[datetime, msgspec.Meta(tz=True)]  # times without a zone cannot be compared


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """A decoded object: immutable, and untracked by the garbage collector, since it has no cycles."""


class Ref(Record, frozen=True):
    """A reference to an object. Cluster-scoped objects have an empty namespace."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        scope = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {scope}{self.name}".strip()


class Problem(Record, frozen=True):
    """What is wrong with one field of an object, as a sentence."""

    ref: Ref
    path: str
    expected: str

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.ref), self.path, self.expected) if part)


class OwnerReference(Record, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Record, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(Record, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0
    last_transition_time: Time | None = None


class LabelSelectorRequirement(Record, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Record, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorTerm(Record, frozen=True):
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_fields: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelector(Record, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class Named(Record, frozen=True):
    name: str = ""


class Ignored(Record, frozen=True):
    """A field whose presence matters, but not its content."""


class ResourceRequirements(Record, frozen=True):
    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None
    # Decoded only to reject pods that use it: a field that restricts placement must not be ignored.
    claims: tuple[Ignored, ...] = ()
