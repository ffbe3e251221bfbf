"""What was promised and is not yet seen: pods given a node before the cluster shows them there."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from heapq import heapify, heappop, heappush

from reprieve.model.effects import Bind, BindVolume, SelectNode, Target

VolumeStep = BindVolume | SelectNode


class Promise(Enum):
    PREPARING = "preparing"  # its volumes are being bound or made; the pod is not sent yet
    SENT = "sent"  # the bind is on its way, or done and not yet seen
    UNKNOWN = "unknown"  # an answer was lost: it may be bound, and only the cluster can show that it is not


@dataclass(frozen=True, slots=True)
class Assumed:
    """A pod that counts as running on a node because we said so."""

    pod: Target
    node: str
    state: Promise
    due: float | None = None  # when something must be done if nothing has been shown by then
    steps: tuple[VolumeStep, ...] = ()  # what its volumes need first
    acknowledged: frozenset[VolumeStep] = frozenset()  # of these, what the cluster has agreed to
    shown: frozenset[VolumeStep] = frozenset()  # of these, what the cluster has shown

    @property
    def bind(self) -> Bind:
        return Bind(self.pod, self.node)


class Ledger:
    """Every promise ends in exactly one way: kept, as the cluster shows, or withdrawn.

    A promise is to one very pod: a namesake of it has none.
    """

    def __init__(self) -> None:
        self._assumed: dict[Target, Assumed] = {}
        self._due: list[tuple[float, Target]] = []  # some no longer hold; see ``_holds``

    def __len__(self) -> int:
        return len(self._assumed)

    def __iter__(self) -> Iterator[Assumed]:
        yield from self._assumed.values()

    def promise(self, assumed: Assumed) -> None:
        """A new promise, or a new state of one."""
        before = self._assumed.get(assumed.pod)
        self._assumed[assumed.pod] = assumed
        if assumed.due is not None and (before is None or before.due != assumed.due):
            heappush(self._due, (assumed.due, assumed.pod))

    def of(self, pod: Target) -> Assumed | None:
        return self._assumed.get(pod)

    def settle(self, pod: Target) -> Assumed | None:
        """The promise is kept or withdrawn: the ledger has nothing more to say."""
        return self._assumed.pop(pod, None)

    def overdue(self, now: float) -> Iterator[Assumed]:
        """The promises whose time has come, each once."""
        while (at := self.next_time()) is not None and at <= now:
            _, pod = heappop(self._due)
            yield self._assumed[pod]

    def next_time(self) -> float | None:
        """When a promise will be overdue."""
        while self._due and not self._holds(*self._due[0]):
            heappop(self._due)
        return self._due[0][0] if self._due else None

    def shift(self, seconds: float) -> None:
        """The clock was put back."""
        for pod, assumed in self._assumed.items():
            if assumed.due is not None:
                self._assumed[pod] = replace(assumed, due=assumed.due + seconds)
        self._due = [(a.due, pod) for pod, a in self._assumed.items() if a.due is not None]
        heapify(self._due)

    def _holds(self, due: float, pod: Target) -> bool:
        assumed = self._assumed.get(pod)
        return assumed is not None and assumed.due == due
