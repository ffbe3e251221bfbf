"""A real cluster as the scheduler's port: informers for every kind, and an API call for every effect."""

import asyncio
import logging
import platform
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from http import HTTPStatus

import msgspec

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import (
    DEFAULT_LIMITS,
    ClientLimits,
    Connection,
    Seconds,
    connected,
    for_ever,
)
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.event_recorder import EventSeriesRecorder
from reprieve.cluster.kube.known_objects import KnownObject
from reprieve.cluster.kube.requests import (
    PAGE_SIZE,
    ApiCall,
    ConditionTimes,
    KubeRequest,
    NoAnswerError,
    RefusedError,
    answer_to,
    api_call,
    list_page,
    list_request,
)
from reprieve.cluster.kube.rest_mapping import CANDIDATES, EVENT, RestMapping
from reprieve.cluster.kube.watch import Reflector, ServerAbilities, WatchBatch
from reprieve.cluster.port import Answer, ClusterEvent, Refused, UnlistedEventsError
from reprieve.model.effects import Announce, Effect, SetCondition, Target, WriteStatus
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.json import Json
from reprieve.model.moment import Moment
from reprieve.model.objects import Condition
from reprieve.model.urgency import FIRST, Lane, Urgency
from reprieve.supervision.supervisor import Supervisor

_BATCHES_AHEAD = 16  # queued for the listener; beyond that the reflectors, and so the server, have to wait

Arrival = tuple[str, WatchBatch]


class Informers:
    """A reflector for every kind, running whether or not there is a listener yet.

    A listener first receives the latest state of every object, and then every change. It receives nothing of
    the past, so a replica that takes over after days sees the same as one that listens from the start. A
    reflector that crashes is started again, and lists anew: it must not look like a kind without changes.

    Starts on the running event loop, and runs until ``end``.
    """

    def __init__(self, connection: Connection, discovery: Discovery, supervisor: Supervisor) -> None:
        abilities = ServerAbilities()
        self._reflectors = {
            kind: Reflector(kind, connection, discovery, abilities, partial(self._deliver, kind))
            for kind in CANDIDATES
        }
        self._incomplete = set(self._reflectors)
        self._listener: asyncio.Queue[Arrival] | None = None
        self._kept: dict[tuple[str, str, str], ClusterEvent] = {}  # latest state, until there is a listener
        self._all_synced = asyncio.Event()
        self._tasks = [
            supervisor.start(f"watch of {kind}", reflector.run)
            for kind, reflector in self._reflectors.items()
        ]

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def find(self, target: Target) -> KnownObject | None:
        """What is known of an object from its latest event."""
        reflector = self._reflectors.get(target.kind)
        return reflector.known.find(target) if reflector is not None else None

    async def until_synced(self) -> None:
        await self._all_synced.wait()

    async def events(self) -> AsyncGenerator[ClusterEvent, None]:
        """One listener gets every object, Synced, and then every change."""
        # No await between these two lines: every batch goes either to ``_kept`` or to the queue.
        arrived = self._listener = asyncio.Queue(_BATCHES_AHEAD)
        (kept, self._kept), incomplete = (self._kept, {}), set(self._incomplete)
        for event in kept.values():
            yield event
        kept.clear()
        if not incomplete:
            yield Synced()
        while True:
            kind, batch = await arrived.get()
            for event in batch.events:
                yield event
            if batch.complete and kind in incomplete:
                incomplete.remove(kind)
                if not incomplete:
                    yield Synced()

    async def _deliver(self, kind: str, batch: WatchBatch) -> None:
        """Without a listener nobody waits here: no batch is in flight at the moment when a listener comes."""
        if batch.complete:
            self._incomplete.discard(kind)
            if not self._incomplete:
                self._all_synced.set()
        if self._listener is not None:
            await self._listener.put((kind, batch))
        else:
            for event in batch.events:
                self._keep(event)

    def _keep(self, event: ClusterEvent) -> None:
        """The latest event of every object; a listener keeps its own state, so this ends with it."""
        match event:
            case Seen(thing):
                self._kept[type(thing).__name__, thing.metadata.namespace, thing.metadata.name] = event
            case Unread(target):
                self._kept[target.kind, target.namespace, target.name] = event
            case Gone(target):
                self._kept.pop((target.kind, target.namespace, target.name), None)


_log = logging.getLogger(__name__)

REPORTER = "reprieve"
_LONGEST_INSTANCE = 128  # characters in an event's reportingInstance
_SERIES_EVERY = 60.0  # seconds between checks for overdue series


class KubeCluster:
    def __init__(
        self,
        connection: Connection,
        clock: Callable[[], float],
        supervisor: Supervisor,
        instance: str = REPORTER,
    ) -> None:
        self._supervisor = supervisor
        self._connection = connection
        self._clock = clock
        self._discovery = Discovery(connection)
        self._recorder = EventSeriesRecorder(REPORTER, instance)
        self._standing_by: Informers | None = None
        self._latest: Informers | None = None

    # --- watching --------------------------------------------------------------------------------

    async def stand_by(self) -> None:
        """Starts the informers of a replica that does not lead yet; returns when they have synced."""
        self._standing_by = self._start_informers()
        await self._standing_by.until_synced()

    async def watch(self) -> AsyncIterator[ClusterEvent]:
        informers, self._standing_by = self._standing_by or self._start_informers(), None
        try:
            async with aclosing(informers.events()) as events:
                async for event in events:
                    yield event
        finally:
            await informers.end()

    async def end(self) -> None:
        """Ends informers whose events were never watched."""
        if self._standing_by is not None:
            await self._standing_by.end()

    def _start_informers(self) -> Informers:
        self._latest = Informers(self._connection, self._discovery, self._supervisor)
        return self._latest

    # --- events ----------------------------------------------------------------------------------

    async def events(self, reason: str) -> list[Json]:
        try:
            return await events_with_reason(self._connection, reason)
        except (NoAnswerError, RefusedError) as error:
            raise UnlistedEventsError(str(error)) from error

    # --- effects ---------------------------------------------------------------------------------

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        mapping = await self._mapping(effect.target.kind)
        if not isinstance(mapping, RestMapping):
            return mapping
        return await self._connection.perform(self._api_call(effect, mapping), urgency)

    async def _mapping(self, kind: str) -> RestMapping | Answer:
        try:
            mapping = await self._discovery.find(kind)
        except NoAnswerError as error:
            return Refused(str(error), again=True)
        except RefusedError as error:
            return answer_to(error.response)
        return mapping or Refused(f"the server has no {kind}", again=False)

    def _api_call(self, effect: Effect | WriteStatus, mapping: RestMapping) -> ApiCall:
        now = self._clock()
        if isinstance(effect, Announce):
            moment = Moment(now, asyncio.get_running_loop().time())
            return self._recorder.announce(effect, mapping.api_version, moment)
        known = self._known(effect.target)
        times = ConditionTimes(stamp(now), dict(_kept_times(effect, known.conditions)), known.generation)
        return api_call(effect, mapping, times)

    def _known(self, target: Target) -> KnownObject:
        return (self._latest.find(target) if self._latest is not None else None) or KnownObject(
            target.uid, ""
        )

    async def keep_series(self) -> None:
        """Writes the counts of event series, until cancelled."""
        while True:
            await asyncio.sleep(_SERIES_EVERY)
            for overdue in self._recorder.overdue(asyncio.get_running_loop().time()):
                answer = await self._connection.perform(overdue, Urgency(Lane.REPORT))
                _log.debug("wrote a series of events: %s", answer)


def _kept_times(effect: Effect | WriteStatus, conditions: Sequence[Condition]) -> Iterator[tuple[str, str]]:
    """lastTransitionTime of the conditions that already have the status that is to be written."""
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
    supervisor: Supervisor | None = None,
) -> AsyncIterator[KubeCluster]:
    """The cluster, while the context is open. ``may_write_for``: as for ``connected``."""
    supervisor = supervisor or Supervisor()
    async with connected(access, limits, may_write_for) as connection:
        instance = f"{REPORTER}-{platform.node()}"[:_LONGEST_INSTANCE]
        cluster = KubeCluster(connection, clock, supervisor, instance)
        series = supervisor.start("event series", cluster.keep_series)
        try:
            yield cluster
        finally:
            series.cancel()
            await asyncio.gather(series, cluster.end(), return_exceptions=True)


async def events_with_reason(connection: Connection, reason: str) -> list[Json]:
    """RefusedError if the server rejects the request, NoAnswerError if there is no answer.

    If the continue token expires on the way, once more without a limit.
    """
    found: list[Json] = []
    token, limit = "", PAGE_SIZE
    while True:
        request = list_request(EVENT, token, limit)
        chosen = KubeRequest("GET", request.path, (("fieldSelector", f"reason={reason}"), *request.query))
        response = await connection.send(chosen)
        if response.status == HTTPStatus.GONE and token:
            found, token, limit = [], "", 0
            continue
        page = list_page(response)
        values = (msgspec.json.decode(raw) for raw in page.items or ())
        found += (value for value in values if isinstance(value, dict))
        token = page.metadata.continue_
        if not token:
            return found
