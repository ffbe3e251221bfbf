"""Which pods wait for which node, since when and why; and which pods may still show a node in vain.

A nomination reserves room from the moment of the decision, before the API server has written it down. What
a pod shows in its status lags behind: the write may fail, its answer may be lost, and a bind that fails
does not clear it. So a nomination that is withdrawn here may linger on the pod until it is swept.

Among equals that wait for one node the earlier nomination comes first: ``since`` is a running number, and
no order of a dictionary decides. This module knows neither plans nor demands.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from operator import attrgetter

from reprieve.model.effects import Target
from reprieve.scheduler.ledger.index import Index


class NominationReason(Enum):
    """Why room is reserved for a pod."""

    PLAN = "a plan makes the room"
    SHOWN = "the pod showed the node when it was first seen: an earlier run, or a person, nominated it"
    KEPT = "its bind failed, and other pods of its gang may be bound already"
    FIRST_PLAN = "a first plan would make the room, and is being improved: nothing is written yet"
    MOVED = "the pod became part of another demand than the one that the plan was for"


@dataclass(frozen=True, slots=True)
class Nomination:
    pod: Target
    node: str
    since: int  # the order among equals: the lower number reserved its room earlier
    reason: NominationReason


_SINCE = attrgetter("since")


class Nominations:
    def __init__(self) -> None:
        self._by_pod: dict[Target, Nomination] = {}
        self._by_node: Index[str, Target] = Index()
        self._news: dict[Target, None] = {}  # pods whose nomination began, changed or ended since ``news``
        self.edition = 0  # how often any began, changed or ended
        self._lingering: set[Target] = set()
        self._number = 0

    def __len__(self) -> int:
        return len(self._by_pod)

    def __iter__(self) -> Iterator[Nomination]:
        """The earliest first."""
        yield from sorted(self._by_pod.values(), key=_SINCE)

    def __contains__(self, pod: Target) -> bool:
        return pod in self._by_pod

    def of(self, pod: Target) -> Nomination | None:
        return self._by_pod.get(pod)

    def on(self, node: str) -> list[Nomination]:
        """The nominations to one node, the earliest first."""
        return sorted((self._by_pod[pod] for pod in self._by_node.under(node)), key=_SINCE)

    def nominate(self, pod: Target, node: str, reason: NominationReason) -> None:
        """A pod that is nominated anew without a pause keeps its turn."""
        before = self.withdraw(pod)
        self._number += 1
        since = before.since if before is not None else self._number
        self._by_pod[pod] = Nomination(pod, node, since, reason)
        self._by_node.add(node, pod)
        self._note(pod)

    def move(self, pod: Target) -> None:
        """A pod becomes part of another demand, and keeps its room until that demand is decided."""
        before = self._by_pod.get(pod)
        if before is not None:
            self._by_pod[pod] = replace(before, reason=NominationReason.MOVED)

    def withdraw(self, pod: Target) -> Nomination | None:
        """The pod has its place, is gone, or waits for no node any more."""
        nomination = self._by_pod.pop(pod, None)
        if nomination is not None:
            self._by_node.remove(nomination.node, pod)
            self._note(pod)
        return nomination

    def _note(self, pod: Target) -> None:
        self._news[pod] = None
        self.edition += 1

    @property
    def has_news(self) -> bool:
        return bool(self._news)

    def news(self) -> list[Target]:
        """Pods whose nomination began, moved to another node or ended since this was last asked."""
        found, self._news = [*self._news], {}
        return found

    # --- what pods may show in vain ---

    @property
    def has_lingering(self) -> bool:
        return bool(self._lingering)

    @property
    def lingering(self) -> frozenset[Target]:
        """Pods that may show a node that they do not wait for any more."""
        return frozenset(self._lingering)

    def linger(self, pod: Target) -> None:
        """What the pod shows could not be cleared, or will not be cleared by the bind that failed."""
        self._lingering.add(pod)

    def on_cleared(self, pod: Target) -> None:
        """The pod is gone, shows no node, or waits for one again."""
        self._lingering.discard(pod)
