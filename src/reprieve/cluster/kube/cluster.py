"""A real cluster as the scheduler's port: every kind is followed, every effect is a conversation."""

import asyncio
import logging
import platform
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import (
    DEFAULT_LIMITS,
    ClientLimits,
    Connection,
    NoAnswerError,
    RefusedError,
    Seconds,
    connected,
    for_ever,
)
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.event_recorder import EventSeriesRecorder
from reprieve.cluster.kube.informers import Informers
from reprieve.cluster.kube.known_objects import KnownObject
from reprieve.cluster.kube.requests import ApiCall, Moment, api_call, ended
from reprieve.cluster.kube.rest_mapping import RestMapping
from reprieve.cluster.port import Answer, Refused, WatchEvent
from reprieve.model.effects import Announce, Effect, SetCondition, Target, WriteStatus
from reprieve.model.objects import Condition

_log = logging.getLogger(__name__)

REPORTER = "reprieve"
_LONGEST_INSTANCE = 128  # characters, for who reports an event
_SERIES_EVERY = 60.0  # seconds between looks at what is overdue


class KubeCluster:
    """``telling``: the connection for events, which so often follow a deed, at a pace of their own."""

    def __init__(
        self,
        connection: Connection,
        telling: Connection,
        clock: Callable[[], float],
        instance: str = REPORTER,
    ) -> None:
        self._connection = connection
        self._telling = telling
        self._clock = clock
        self._discovery = Discovery(connection)
        self._recorder = EventSeriesRecorder(REPORTER, instance)
        self._standing_by: Informers | None = None
        self._latest: Informers | None = None

    # --- what there is ---------------------------------------------------------------------------

    async def stand_by(self) -> None:
        """Begins to follow everything, for who will watch later; returns when all is known."""
        self._standing_by = self._begun()
        await self._standing_by.until_all_is_known()

    async def until_it_fails(self) -> None:
        """Raises what goes wrong with that, if something does before somebody watches."""
        if self._standing_by is not None:
            await self._standing_by.until_it_fails()

    async def watch(self) -> AsyncIterator[WatchEvent]:
        following, self._standing_by = self._standing_by or self._begun(), None
        try:
            async with aclosing(following.shown()) as sights:
                async for sight in sights:
                    yield sight
        finally:
            await following.end()

    async def end(self) -> None:
        """Nobody will watch any more."""
        if self._standing_by is not None:
            await self._standing_by.end()

    def _begun(self) -> Informers:
        self._latest = Informers(self._connection, self._discovery)
        return self._latest

    # --- what is done ----------------------------------------------------------------------------

    async def perform(self, effect: Effect | WriteStatus) -> Answer:
        place = await self._place(effect.target.kind)
        if not isinstance(place, RestMapping):
            return place
        connection = self._telling if isinstance(effect, Announce) else self._connection
        return await connection.converse(self._conversation(effect, place))

    async def _place(self, kind: str) -> RestMapping | Answer:
        try:
            place = await self._discovery.find(kind)
        except NoAnswerError as error:
            return Refused(str(error), again=True)
        except RefusedError as error:
            return ended(error.response)
        return place or Refused(f"the server has no {kind}", again=False)

    def _conversation(self, effect: Effect | WriteStatus, place: RestMapping) -> ApiCall:
        now = self._clock()
        if isinstance(effect, Announce):
            return self._recorder.announce(effect, place.api_version, now)
        known = self._known(effect.target)
        moment = Moment(stamp(now), dict(_kept_times(effect, known.conditions)), known.generation)
        return api_call(effect, place, moment)

    def _known(self, target: Target) -> KnownObject:
        return (self._latest.find(target) if self._latest is not None else None) or KnownObject(
            target.uid, ""
        )

    async def keep_series(self) -> None:
        """Tells how often events came that came again and again, until cancelled."""
        while True:
            await asyncio.sleep(_SERIES_EVERY)
            for overdue in self._recorder.overdue(self._clock()):
                answer = await self._telling.converse(overdue)
                _log.debug("a series of events was told: %s", answer)


def _kept_times(effect: Effect | WriteStatus, conditions: Sequence[Condition]) -> Iterator[tuple[str, str]]:
    """Since when conditions have had the status that is to be written, of those that have it already."""
    parts = effect.parts if isinstance(effect, WriteStatus) else (effect,)
    statuses = {part.type: part.status for part in parts if isinstance(part, SetCondition)}
    for condition in conditions if statuses else ():
        turned = condition.last_transition_time
        if turned is not None and statuses.get(condition.type) == condition.status:
            yield condition.type, stamp(turned.timestamp())


@asynccontextmanager
async def kube_cluster(
    access: Access,
    clock: Callable[[], float],
    limits: ClientLimits = DEFAULT_LIMITS,
    may_write_for: Seconds = for_ever,
) -> AsyncIterator[KubeCluster]:
    """For as long as the context is open. ``may_write_for``: as a connection is told."""
    async with (
        connected(access, limits, may_write_for) as connection,
        connected(access, limits, may_write_for) as telling,
    ):
        instance = f"{REPORTER}-{platform.node()}"[:_LONGEST_INSTANCE]
        cluster = KubeCluster(connection, telling, clock, instance)
        series = asyncio.create_task(cluster.keep_series())
        try:
            yield cluster
        finally:
            series.cancel()
            await asyncio.gather(series, cluster.end(), return_exceptions=True)
