"""What was promised and is not yet seen: pods given a node before the cluster shows them there."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from reprieve.model.effects import Bind, BindVolume, SelectNode, Target

PodKey = tuple[str, str]  # namespace, name
VolumeStep = BindVolume | SelectNode


class Promise(Enum):
    PREPARING = "preparing"  # its volumes are being bound or made; the pod is not sent yet
    SENT = "sent"  # the bind is on its way, or done and not yet seen
    UNKNOWN = "unknown"  # the answer was lost: it may be bound


@dataclass(frozen=True, slots=True)
class Assumed:
    """A pod that counts as running on a node because we said so."""

    pod: Target
    node: str
    state: Promise
    steps: tuple[VolumeStep, ...] = ()  # what its volumes need first
    shown: frozenset[VolumeStep] = frozenset()  # of these, what the cluster has shown

    @property
    def bind(self) -> Bind:
        return Bind(self.pod, self.node)


class Ledger:
    """Every promise ends in exactly one way: kept, as the cluster shows, or withdrawn."""

    def __init__(self) -> None:
        self._assumed: dict[PodKey, Assumed] = {}

    def __len__(self) -> int:
        return len(self._assumed)

    def __iter__(self) -> Iterator[Assumed]:
        yield from self._assumed.values()

    def promise(self, assumed: Assumed) -> None:
        """A new promise, or a new state of one."""
        self._assumed[assumed.pod.namespace, assumed.pod.name] = assumed

    def of(self, pod: PodKey, uid: str) -> Assumed | None:
        """The promise to this very pod, not to a namesake."""
        assumed = self._assumed.get(pod)
        return assumed if assumed is not None and assumed.pod.uid == uid else None

    def settle(self, pod: PodKey) -> Assumed | None:
        """The promise is kept or withdrawn: the ledger has nothing more to say."""
        return self._assumed.pop(pod, None)
