"""What the scheduler may do to the cluster. An effect is a request; the shell performs it.

Each one names its object by UID, so that it cannot hit a later object of the same name.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b

import msgspec


class Target(msgspec.Struct, frozen=True, order=True, gc=False):
    """The object of an effect; cluster-scoped objects have an empty namespace.

    A Struct, since targets are the keys of almost every table, and a Struct is hashed and compared in C.
    """

    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind a pod to a node."""

    target: Target
    node: str


@dataclass(frozen=True, slots=True)
class SetCondition:
    """Write a condition into the status of an object.

    ``since``: its lastTransitionTime. None: now if the status changes, and as it was if it does not.
    """

    target: Target
    type: str
    status: str
    reason: str
    message: str
    since: float | None = None


class Tone(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Announce:
    """Emit a Kubernetes event on the object.

    ``once``: a key; of all events with the same key only one is stored, whichever replica emits them and
    whatever their notes. Empty: every event is stored. ``related``: another object that it is about.
    """

    target: Target
    tone: Tone
    reason: str
    action: str
    note: str
    once: str = ""
    related: Target | None = None

    @property
    def suffix(self) -> str:
        """The end of the event's name; it follows from ``once``, so that all replicas choose the same."""
        about = f"{self.target.uid}/{self.reason}/{self.once}"
        return blake2b(about.encode(), digest_size=8).hexdigest() if self.once else ""


@dataclass(frozen=True, slots=True)
class BindVolume:
    """Reserve an existing volume (the target) for a claim."""

    target: Target
    claim: Target


@dataclass(frozen=True, slots=True)
class SelectNode:
    """Select the node for which the provisioner of a claim (the target) creates the volume."""

    target: Target
    node: str


@dataclass(frozen=True, slots=True)
class Nominate:
    """Set nominatedNodeName, which reserves room on the node; an empty node clears it."""

    target: Target
    node: str


@dataclass(frozen=True, slots=True)
class Evict:
    """Delete a pod, with its own grace period or a shorter one (in seconds): it is the same call."""

    target: Target
    grace: int | None = field(default=None, compare=False)


StatusPart = SetCondition | Nominate


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """The status writes of several effects on one object, as one request.

    The scheduler never decides this: the performer merges what it can send together.
    """

    target: Target
    parts: tuple[StatusPart, ...]


Effect = Bind | SetCondition | Announce | BindVolume | SelectNode | Nominate | Evict
