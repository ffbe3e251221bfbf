"""Which pods the scheduler has to serve, and which demand each of them is part of.

A pod is served from its first sight until it is seen bound, is gone, or names another scheduler. It may
move to another demand in between: the label that links it to a group can be changed. This module knows
neither the queue nor why a pod waits.
"""

from collections.abc import Iterator

from reprieve.model.effects import Target
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.ledger.index import Index


class Parts:
    def __init__(self) -> None:
        self._demands: dict[Target, DemandKey] = {}
        self._pods: Index[DemandKey, Target] = Index()

    def __len__(self) -> int:
        return len(self._demands)

    def __contains__(self, pod: Target) -> bool:
        return pod in self._demands

    def __getitem__(self, pod: Target) -> DemandKey:
        return self._demands[pod]

    def __iter__(self) -> Iterator[tuple[Target, DemandKey]]:
        yield from self._demands.items()

    def get(self, pod: Target) -> DemandKey | None:
        return self._demands.get(pod)

    def demands(self) -> list[DemandKey]:
        """All demands, in the order in which their first pods came."""
        return list(dict.fromkeys(self._demands.values()))

    def has(self, demand: DemandKey) -> bool:
        """Whether any pod is part of this demand."""
        return demand in self._pods

    def pods(self, demand: DemandKey) -> frozenset[Target]:
        return self._pods.under(demand)

    def join(self, pod: Target, demand: DemandKey) -> None:
        """The pod is part of this demand, and of no other any more."""
        before = self._demands.get(pod)
        if before == demand:
            return
        if before is not None:
            self._pods.remove(before, pod)
        self._demands[pod] = demand
        self._pods.add(demand, pod)

    def leave(self, pod: Target) -> None:
        """The scheduler has nothing more to do for the pod."""
        self._pods.remove(self._demands.pop(pod), pod)
