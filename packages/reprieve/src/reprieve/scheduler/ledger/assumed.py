"""Which pods count as running on a node because the scheduler said so, and which volume steps they wait for.

A promise to a pod lasts from the decision until the cluster shows the pod on its node, or until the
scheduler withdraws it. Its sight and the answer to its bind arrive in any order, and the answer may be
lost; so an answer alone never ends a promise, a sight or a failure does. A promise belongs to one UID: a
namesake that is created while the bind is in flight has none.

This module knows neither the world nor the queue. The world reads placements and volume steps from here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush

from reprieve.model.effects import Bind, BindVolume, SelectNode, Target
from reprieve.scheduler.ledger.index import Index

VolumeStep = BindVolume | SelectNode


class Promise(Enum):
    PREPARING = "preparing"  # its volumes are being bound or provisioned; its bind is not sent yet
    SENT = "sent"  # the bind is in flight, or done and not yet seen
    UNKNOWN = "unknown"  # the bind's answer was lost: the pod may be bound, and only the cluster can tell


@dataclass(frozen=True, slots=True)
class Assumed:
    """A promise to one pod: it counts as running on this node."""

    pod: Target
    node: str
    state: Promise
    due: float | None = None  # when the scheduler acts if the cluster has shown nothing by then
    steps: tuple[VolumeStep, ...] = ()  # what must happen to its volumes before its bind is sent
    acknowledged: frozenset[VolumeStep] = frozenset()  # those of the steps that the API server accepted
    shown: frozenset[VolumeStep] = frozenset()  # those of the steps that the cluster has shown

    @property
    def bind(self) -> Bind:
        return Bind(self.pod, self.node)


class AssumedPods:
    """Every promise ends once: the cluster shows that it is kept, or the scheduler withdraws it."""

    def __init__(self) -> None:
        self._by_pod: dict[Target, Assumed] = {}
        self._by_step: Index[VolumeStep, Target] = Index()  # pods of one claim share its step
        self._due: list[tuple[float, Target]] = []  # may hold outdated entries; see ``_is_current``

    def __len__(self) -> int:
        return len(self._by_pod)

    def __iter__(self) -> Iterator[Assumed]:
        yield from self._by_pod.values()

    def __contains__(self, pod: Target) -> bool:
        return pod in self._by_pod

    def of(self, pod: Target) -> Assumed | None:
        return self._by_pod.get(pod)

    def node_of(self, pod: Target) -> str:
        """The node that a pod is promised; empty if it is promised none."""
        assumed = self._by_pod.get(pod)
        return assumed.node if assumed is not None else ""

    def promise(self, assumed: Assumed) -> None:
        """Makes a promise, or takes it to its next state."""
        before = self._by_pod.get(assumed.pod)
        self._by_pod[assumed.pod] = assumed
        if before is None or before.steps != assumed.steps:
            if before is not None:
                self._release(before)
            for step in assumed.steps:
                self._by_step.add(step, assumed.pod)
        if assumed.due is not None and (before is None or before.due != assumed.due):
            heappush(self._due, (assumed.due, assumed.pod))

    def settle(self, pod: Target) -> Assumed | None:
        """Ends a promise, kept or withdrawn."""
        assumed = self._by_pod.pop(pod, None)
        if assumed is not None:
            self._release(assumed)
        return assumed

    def _release(self, assumed: Assumed) -> None:
        for step in assumed.steps:
            self._by_step.remove(step, assumed.pod)

    # --- volume steps ---

    def steps(self) -> dict[Target, VolumeStep]:
        """The steps of all promises, by the object that each of them changes."""
        return {step.target: step for step in self._by_step}

    def needs(self, step: VolumeStep) -> bool:
        """Whether any promise waits for a step, or rests on it."""
        return step in self._by_step

    def is_preparing(self, pod: Target) -> bool:
        assumed = self._by_pod.get(pod)
        return assumed is not None and assumed.state is Promise.PREPARING

    def preparing(self, step: VolumeStep | None = None) -> list[Assumed]:
        """The promises whose volumes are not ready: because of this step, or of any."""
        waiting = [assumed for assumed in self if assumed.state is Promise.PREPARING]
        return waiting if step is None else [assumed for assumed in waiting if step in assumed.steps]

    # --- times ---

    def overdue(self, now: float) -> Iterator[Assumed]:
        """The promises whose time has come, each once."""
        while (at := self.next_time()) is not None and at <= now:
            _, pod = heappop(self._due)
            yield self._by_pod[pod]

    def next_time(self) -> float | None:
        """When the next promise is overdue."""
        while self._due and not self._is_current(*self._due[0]):
            heappop(self._due)
        return self._due[0][0] if self._due else None

    def _is_current(self, due: float, pod: Target) -> bool:
        assumed = self._by_pod.get(pod)
        return assumed is not None and assumed.due == due
