"""A real cluster as the scheduler's port: every kind is followed, every effect is a conversation."""

import asyncio
import logging
import platform
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.kube.announcing import Recorder
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import (
    DEFAULT_LIMITS,
    Connection,
    Limits,
    NoAnswerError,
    RefusedError,
    Seconds,
    connected,
    for_ever,
)
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.mirror import Known
from reprieve.cluster.kube.places import CANDIDATES, Place
from reprieve.cluster.kube.requests import Conversation, Moment, conversation, ended
from reprieve.cluster.kube.watch import Follower, Portion, Ways
from reprieve.cluster.port import Answer, Refused, Sight
from reprieve.model.effects import Announce, Effect, SetCondition, Target, WriteStatus
from reprieve.model.events import Synced
from reprieve.model.objects import Condition

_log = logging.getLogger(__name__)

REPORTER = "reprieve"
_LONGEST_INSTANCE = 128  # characters, for who reports an event
_PORTIONS_AHEAD = 16  # that wait to be taken; then the server has to wait
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
        self._ways = Ways()
        self._recorder = Recorder(REPORTER, instance)
        self._followers: dict[str, Follower] = {}

    # --- what there is ---------------------------------------------------------------------------

    async def watch(self) -> AsyncIterator[Sight]:
        arrived: asyncio.Queue[tuple[str, Portion | Exception]] = asyncio.Queue(_PORTIONS_AHEAD)
        followers = {kind: self._follower(kind, arrived) for kind in CANDIDATES}
        self._followers = followers
        tasks = [asyncio.create_task(_guarded(f, kind, arrived)) for kind, f in followers.items()]
        try:
            incomplete = set(followers)
            while True:
                kind, portion = await arrived.get()
                if isinstance(portion, Exception):
                    raise portion
                for sight in portion.sights:
                    yield sight
                if portion.complete and kind in incomplete:
                    incomplete.remove(kind)
                    if not incomplete:
                        yield Synced()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _follower(self, kind: str, arrived: asyncio.Queue[tuple[str, Portion | Exception]]) -> Follower:
        async def deliver(portion: Portion) -> None:
            await arrived.put((kind, portion))

        return Follower(kind, self._connection, self._discovery, self._ways, deliver)

    # --- what is done ----------------------------------------------------------------------------

    async def perform(self, effect: Effect | WriteStatus) -> Answer:
        place = await self._place(effect.target.kind)
        if not isinstance(place, Place):
            return place
        connection = self._telling if isinstance(effect, Announce) else self._connection
        return await connection.converse(self._conversation(effect, place))

    async def _place(self, kind: str) -> Place | Answer:
        try:
            place = await self._discovery.find(kind)
        except NoAnswerError as error:
            return Refused(str(error), again=True)
        except RefusedError as error:
            return ended(error.response)
        return place or Refused(f"the server has no {kind}", again=False)

    def _conversation(self, effect: Effect | WriteStatus, place: Place) -> Conversation:
        now = self._clock()
        if isinstance(effect, Announce):
            return self._recorder.announce(effect, place.api_version, now)
        known = self._known(effect.target)
        moment = Moment(stamp(now), dict(_kept_times(effect, known.conditions)), known.generation)
        return conversation(effect, place, moment)

    def _known(self, target: Target) -> Known:
        follower = self._followers.get(target.kind)
        return (follower.mirror.find(target) if follower is not None else None) or Known(target.uid, "")

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


async def _guarded(
    follower: Follower, kind: str, arrived: asyncio.Queue[tuple[str, Portion | Exception]]
) -> None:
    """A mistake of ours must not pass for a quiet cluster."""
    try:
        await follower.run()
    except Exception as error:
        await arrived.put((kind, error))


@asynccontextmanager
async def kube_cluster(
    access: Access,
    clock: Callable[[], float],
    limits: Limits = DEFAULT_LIMITS,
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
            await asyncio.gather(series, return_exceptions=True)
