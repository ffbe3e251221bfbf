"""What can be done to the cluster. Effects are orders, not deeds: the shell carries them out.

Each one names its object by UID, so that a namesake that came later is never hit.
"""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """The object an effect is meant for; cluster-scoped objects have an empty namespace."""

    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Bind:
    """Give a pod its node."""

    target: Target
    node: str


@dataclass(frozen=True, slots=True)
class SetCondition:
    """Write a condition into the status of an object."""

    target: Target
    type: str
    status: str
    reason: str
    message: str


class Tone(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Announce:
    """Tell people, as a Kubernetes event on the object.

    ``once``: about what it is told a single time, whoever tells it and in whatever words; empty: each time.
    """

    target: Target
    tone: Tone
    reason: str
    action: str
    note: str
    once: str = ""

    @property
    def suffix(self) -> str:
        """What is to be told once has a name that everybody would give it; this is its end."""
        about = f"{self.target.uid}/{self.reason}/{self.once}"
        return blake2b(about.encode(), digest_size=8).hexdigest() if self.once else ""


@dataclass(frozen=True, slots=True)
class BindVolume:
    """Promise an existing volume (the target) to a claim."""

    target: Target
    claim: Target


@dataclass(frozen=True, slots=True)
class SelectNode:
    """Ask the provisioner of a claim (the target) to make its volume reachable from a node."""

    target: Target
    node: str


@dataclass(frozen=True, slots=True)
class Nominate:
    """Write down which node a pod waits for, so that its room is reserved; no node: it waits for none."""

    target: Target
    node: str


@dataclass(frozen=True, slots=True)
class Evict:
    """Delete a pod, with its own grace period."""

    target: Target


StatusPart = SetCondition | Nominate


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """What several effects on one object write into its status, as one write.

    Nobody decides this: whoever carries effects out puts together what travels together.
    """

    target: Target
    parts: tuple[StatusPart, ...]


Effect = Bind | SetCondition | Announce | BindVolume | SelectNode | Nominate | Evict
