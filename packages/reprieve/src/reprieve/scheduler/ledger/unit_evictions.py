"""Whole units whose eviction has begun: which of their pods are left, and what became of each one's delete.

A unit goes whole or not at all. Before its first delete a plan may drop it; from then on it is finished here,
with or without the plan. A pod stays in this book until it is gone: its delete is in flight, was accepted, or
was refused and is due again. Only if every delete was refused may the unit still be released: nothing has
happened to it, and it goes for the demands it was chosen for, or not at all.

Pods that turn out to have a node while the unit is being evicted are taken in as well. The watch shows pods
in the order of their changes, so one that had its node before the first delete is seen before the last of the
pods that were deleted then is seen to be gone. A watch may be behind for longer than the scheduler waits for
a victim, or until a delete is refused for good: such a pod ends the time in which others may join only after
``BEHIND_SECONDS``. Late pods do not prolong that time, so that a controller that places its replacements
itself cannot keep the eviction going for ever.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from reprieve.model.effects import Target
from reprieve.model.groups import GroupKey
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.ledger.index import CountedTargets, Index
from reprieve.supervision.backoff import Backoff

_FOR_GOOD = 2  # refusals; one may be chance
_SOON = 1.0  # seconds until a refused delete is tried again
_PAUSES = Backoff(first=30.0, longest=3600.0, harmless=_FOR_GOOD - 1)  # if it was refused for good
BEHIND_SECONDS = 60.0  # how long after a delete the watch shows what was there before it, at the latest


class DeleteState(Enum):
    MARKING = "marking"  # a late pod is marked before it is deleted
    SENT = "sent"  # in flight or accepted; a delete whose answer was lost counts as sent
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class UnitPod:
    pod: Target
    unit: str  # the name of the group that is evicted whole, with its kind
    group: GroupKey  # its own, which may be inside that one
    mark: str  # the text of its mark
    begun: float  # when its unit was begun to be evicted, or taken over
    state: DeleteState = DeleteState.SENT
    late: bool = False  # it joined after the first delete
    refusals: int = 0
    error: str = ""

    @property
    def is_refused_for_good(self) -> bool:
        return self.refusals >= _FOR_GOOD


class UnitEvictions:
    def __init__(self) -> None:
        self._pods: dict[Target, UnitPod] = {}
        self._units: dict[str, dict[Target, None]] = {}
        self._groups: Index[GroupKey, Target] = Index()
        self.pods = CountedTargets()  # the same pods, with what changed
        self._due: dict[Target, float] = {}  # when refused calls are made again
        self._untouched: dict[str, set[DemandKey]] = {}  # units of which no delete had effect, and for whom

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[UnitPod]:
        yield from self._pods.values()

    def __contains__(self, pod: Target) -> bool:
        return pod in self._pods

    def of(self, pod: Target) -> UnitPod | None:
        return self._pods.get(pod)

    def units(self) -> list[str]:
        return list(self._units)

    def has_group(self, group: GroupKey) -> bool:
        """Whether any of the pods is of this group."""
        return group in self._groups

    def groups(self) -> frozenset[GroupKey]:
        return frozenset(self._groups)

    def unit_of(self, group: GroupKey) -> str | None:
        """The unit that pods of this group are being evicted with; None if none are."""
        pod = self._groups.any_under(group)
        return self._pods[pod].unit if pod is not None else None

    def left(self, unit: str) -> Iterator[UnitPod]:
        return (self._pods[pod] for pod in self._units.get(unit, ()))

    def begin(self, pods: Iterable[UnitPod], demand: DemandKey | None = None) -> None:
        """The first deletes of a unit are sent, or those of a plan that shares it with another.

        ``demand``: that they are for; None: a predecessor began, and no demand is known.
        """
        for one in pods:
            if demand is not None and (one.unit not in self._units or one.unit in self._untouched):
                self._untouched.setdefault(one.unit, set()).add(demand)
            if one.pod in self._pods:
                self.on_sent(one.pod)
            else:
                self._keep(one)

    def join(self, one: UnitPod) -> None:
        """A pod of the unit is shown with a node only now."""
        self._keep(replace(one, state=DeleteState.MARKING, late=True))

    def admits(self, unit: str, is_over: Callable[[UnitPod], bool]) -> bool:
        """Whether a pod that is shown with a node now may have had it before the first delete."""
        return any(not one.late and not is_over(one) for one in self.left(unit))

    def holds(self, unit: str, is_over: Callable[[UnitPod], bool]) -> bool:
        """Whether pods of the unit without a node have to wait."""
        return any(not is_over(one) for one in self.left(unit))

    # --- deletes ---

    def on_sent(self, pod: Target) -> None:
        self._keep(replace(self._pods[pod], state=DeleteState.SENT))

    def on_marking(self, pod: Target) -> None:
        """A refused pod is marked again before it is deleted."""
        self._keep(replace(self._pods[pod], state=DeleteState.MARKING))

    def on_effect(self, pod: Target) -> None:
        """A delete was accepted, or may have been: from now on the unit is finished."""
        self._untouched.pop(self._pods[pod].unit, None)

    def refused_whole(self) -> list[tuple[str, frozenset[DemandKey]]]:
        """Units all of whose deletes were refused, none in flight; and the demands that they are for."""
        return [
            (unit, frozenset(demands))
            for unit, demands in self._untouched.items()
            if all(one.state is not DeleteState.SENT for one in self.left(unit))
        ]

    def release(self, unit: str) -> list[UnitPod]:
        """The unit stays: nothing was done to its pods but marking them."""
        pods = [*self.left(unit)]
        for one in pods:
            self.on_gone(one.pod)
        return pods

    def on_accepted(self, pod: Target) -> None:
        """The pod is terminating: earlier refusals do not matter any more."""
        self._keep(replace(self._pods[pod], state=DeleteState.SENT, refusals=0, error=""))

    def on_refused(self, pod: Target, error: str, now: float) -> None:
        """The API server rejected a call for good: it is made again, ever more slowly."""
        known = self._pods[pod]
        refusals = known.refusals + 1
        self._keep(replace(known, state=DeleteState.REFUSED, refusals=refusals, error=error))
        self._due[pod] = now + max(_SOON, _PAUSES.after(refusals))

    def is_due(self, pod: Target) -> bool:
        """Whether a refused call will be made again."""
        return pod in self._due

    def due(self, now: float) -> list[UnitPod]:
        """Pods whose refused call is to be made again."""
        return [self._pods[pod] for pod in sorted(self._due) if self._due[pod] <= now]

    def on_gone(self, pod: Target) -> UnitPod | None:
        """The pod is gone, or has no node after all."""
        known = self._pods.pop(pod, None)
        self._due.pop(pod, None)
        if known is not None:
            if known.state is DeleteState.SENT:
                self._untouched.pop(known.unit, None)  # it may be gone by our delete
            self.pods.remove((pod,))
            self._groups.remove(known.group, pod)
            pods = self._units[known.unit]
            del pods[pod]
            if not pods:
                del self._units[known.unit]
                self._untouched.pop(known.unit, None)
        return known

    def next_time(self) -> float | None:
        return min(self._due.values(), default=None)

    def _keep(self, one: UnitPod) -> None:
        self._due.pop(one.pod, None)
        if one.pod not in self._pods:
            self.pods.add((one.pod,))
            self._groups.add(one.group, one.pod)
        self._pods[one.pod] = one
        self._units.setdefault(one.unit, {})[one.pod] = None
