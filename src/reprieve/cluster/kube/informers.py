"""A reflector for every kind, running whether or not there is a listener yet.

A listener first receives the latest state of every object, and then every change. It receives nothing of the
past, so a replica that takes over after days sees the same as one that listens from the start.

A reflector that crashes is started again, and lists anew: it must not look like a kind without changes.
"""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.known_objects import KnownObject
from reprieve.cluster.kube.rest_mapping import CANDIDATES
from reprieve.cluster.kube.watch import Reflector, ServerAbilities, WatchBatch
from reprieve.cluster.port import ClusterEvent
from reprieve.model.effects import Target
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.supervision.supervisor import Supervisor

_BATCHES_AHEAD = 16  # queued for the listener; beyond that the reflectors, and so the server, have to wait

Arrival = tuple[str, WatchBatch]


class Informers:
    """Starts on the running event loop, and runs until ``end``."""

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
        """For one listener: every object, Synced, and then every change."""
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
        """Without a listener this never waits: no batch is in flight at the moment when a listener comes."""
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
