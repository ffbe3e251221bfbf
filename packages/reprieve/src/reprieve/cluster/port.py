"""The port between the scheduler and a cluster: watch every kind, and try one effect once."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from reprieve.model.effects import Effect, WriteStatus
from reprieve.model.events import EvictionsRead, Gone, Seen, Synced, Unread
from reprieve.model.json import Json
from reprieve.model.urgency import FIRST, Urgency

ClusterEvent = Seen | Unread | Gone | Synced


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The effect is in place, now or from an earlier attempt."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The effect did not happen. ``again``: the same request may succeed later."""

    error: str
    again: bool
    missing: bool = False  # the target is gone; an object of the same name may have another UID


@dataclass(frozen=True, slots=True)
class Lost:
    """The answer was lost: the effect may have happened."""

    error: str


Answer = Succeeded | Refused | Lost


class ClusterPort(Protocol):
    """A cluster as the scheduler needs it; ``testing.cluster_contract`` checks an implementation."""

    def watch(self) -> AsyncIterator[ClusterEvent]:
        """Every object that exists, then ``Synced``, then every change, until the caller stops iterating.

        If the watch history has a gap, the implementation relists and reports deleted objects as Gone.
        An object is reported as Gone after all earlier changes of its kind, also in a relist: the scheduler
        concludes from it that no earlier change is still to come.
        """

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        """Tries once. Only the performer retries. ``urgency``: where calls have to wait for each other."""


class ScheduledCluster(Protocol):
    """A cluster as a loop schedules it: what earlier runs evicted may be shown before all objects."""

    def watch(self) -> AsyncIterator[ClusterEvent | EvictionsRead]: ...

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer: ...


class UnlistedEventsError(Exception):
    """Why the events of a cluster cannot be listed, as a sentence."""


class EventLog(Protocol):
    """The Kubernetes events that a cluster still keeps."""

    async def events(self, reason: str) -> list[Json]:
        """Those with a reason, in any order; raises UnlistedEventsError."""
