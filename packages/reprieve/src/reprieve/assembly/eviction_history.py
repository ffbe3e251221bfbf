"""What does a scheduler with an eviction limit learn of evictions before its start?

The events of victims say it, as long as the API server keeps them; a scheduler that may not list events
counts from its start, and says so.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from reprieve.cluster.api.event_contents import seen_event
from reprieve.cluster.port import (
    Answer,
    ClusterEvent,
    ClusterPort,
    EventLog,
    ScheduledCluster,
    UnlistedEventsError,
)
from reprieve.model.effects import Effect, WriteStatus
from reprieve.model.events import EvictionsRead
from reprieve.model.formatting import counted, lasted
from reprieve.model.json import Json
from reprieve.model.urgency import FIRST, Urgency
from reprieve.scheduler.plans.eviction_notes import EVENTS_KEPT, PREEMPTED, noted_eviction
from reprieve.scheduler.settings import Settings

_REPORTER = "reprieve"


class LoggedCluster(ClusterPort, EventLog, Protocol):
    """A cluster whose events can be listed."""


@dataclass(frozen=True, slots=True)
class RememberingCluster:
    """A cluster that first shows which evictions there were within the window."""

    cluster: LoggedCluster
    clock: Callable[[], float]
    window: float  # seconds

    async def watch(self) -> AsyncIterator[ClusterEvent | EvictionsRead]:
        yield await evictions_read(self.cluster, self.clock(), self.window)
        async for event in self.cluster.watch():
            yield event

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        return await self.cluster.perform(effect, urgency)


def with_history(cluster: LoggedCluster, clock: Callable[[], float], settings: Settings) -> ScheduledCluster:
    """The cluster itself if there is no limit."""
    window = settings.longest_eviction_window
    return RememberingCluster(cluster, clock, window) if window else cluster


async def evictions_read(log: EventLog, now: float, window: float) -> EvictionsRead:
    try:
        bodies = await log.events(PREEMPTED)
    except UnlistedEventsError as error:
        lost = f"events cannot be listed, so earlier evictions count only if a mark shows them: {error}"
        return EvictionsRead((), now, lost)
    return evictions_in(bodies, now, window)


def evictions_in(bodies: list[Json], now: float, window: float) -> EvictionsRead:
    """``bodies``: events of victims, in any order."""
    events = [event for event in map(seen_event, bodies) if event is not None]
    ours = [event for event in events if event.reporter == _REPORTER and event.at + window > now]
    found = [noted_eviction(event.about, event.text, event.at) for event in ours]
    once = {one.key: one for one in found if one is not None}
    evictions = sorted(once.values(), key=lambda one: (one.at, one.key))
    lost = []
    if unnamed := found.count(None):
        lost.append(f"{counted(unnamed, 'event')} of victims without the name of a workload do not count")
    if window > EVENTS_KEPT:
        lost.append(f"the API server keeps events for {lasted(EVENTS_KEPT)} by default")
    return EvictionsRead(tuple(evictions), now - min(window, EVENTS_KEPT), "; ".join(lost))
