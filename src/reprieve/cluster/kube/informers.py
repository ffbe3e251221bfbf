"""Every kind of a cluster followed at once, whether somebody listens already or not.

Who begins to listen is shown everything that is known by then, and from then on whatever changes. Nobody is
shown anything of what was before: so it is the same for one who listens from the beginning and one who
takes over from another after days.
"""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.known_objects import KnownObject
from reprieve.cluster.kube.rest_mapping import CANDIDATES
from reprieve.cluster.kube.watch import Reflector, ServerAbilities, WatchBatch
from reprieve.cluster.port import WatchEvent
from reprieve.model.effects import Target
from reprieve.model.events import Gone, Seen, Synced, Unread

_PORTIONS_AHEAD = 16  # that wait to be taken; then the server has to wait

Arrival = tuple[str, WatchBatch | Exception]


class Informers:
    """Begins on the running event loop, and goes on until it is ended."""

    def __init__(self, connection: Connection, discovery: Discovery) -> None:
        ways = ServerAbilities()
        self._followers = {
            kind: Reflector(kind, connection, discovery, ways, partial(self._deliver, kind))
            for kind in CANDIDATES
        }
        self._incomplete = set(self._followers)
        self._listener: asyncio.Queue[Arrival] | None = None
        self._kept: dict[tuple[str, str, str], WatchEvent] = {}  # for one who listens later
        self._mistake: Exception | None = None
        self._failed, self._all_known = asyncio.Event(), asyncio.Event()
        self._tasks = [asyncio.create_task(self._guarded(*item)) for item in self._followers.items()]

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def find(self, target: Target) -> KnownObject | None:
        """What is known of an object as it was shown last."""
        follower = self._followers.get(target.kind)
        return follower.mirror.find(target) if follower is not None else None

    async def until_all_is_known(self) -> None:
        await self._all_known.wait()
        self._check()

    async def until_it_fails(self) -> None:
        await self._failed.wait()
        self._check()

    async def shown(self) -> AsyncGenerator[WatchEvent, None]:
        """For one listener: what there is, Synced, and then every change."""
        self._check()
        # Nothing comes between what is known now and what arrives from now on.
        arrived = self._listener = asyncio.Queue(_PORTIONS_AHEAD)
        (kept, self._kept), incomplete = (self._kept, {}), set(self._incomplete)
        for sight in kept.values():
            yield sight
        kept.clear()
        if not incomplete:
            yield Synced()
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

    async def _deliver(self, kind: str, portion: WatchBatch) -> None:
        """While nobody listens nobody is held up here: so nothing is on its way when somebody begins to."""
        if portion.complete:
            self._incomplete.discard(kind)
            if not self._incomplete:
                self._all_known.set()
        if self._listener is not None:
            await self._listener.put((kind, portion))
        else:
            for sight in portion.sights:
                self._keep(sight)

    def _keep(self, sight: WatchEvent) -> None:
        """The last that was seen of everything that is there; who listens keeps it himself."""
        match sight:
            case Seen(thing):
                self._kept[type(thing).__name__, thing.metadata.namespace, thing.metadata.name] = sight
            case Unread(target):
                self._kept[target.kind, target.namespace, target.name] = sight
            case Gone(target):
                self._kept.pop((target.kind, target.namespace, target.name), None)

    async def _guarded(self, kind: str, follower: Reflector) -> None:
        """A mistake of ours must not pass for a quiet cluster."""
        try:
            await follower.run()
        except Exception as error:
            self._mistake = error
            self._failed.set()
            self._all_known.set()
            if self._listener is not None:
                await self._listener.put((kind, error))

    def _check(self) -> None:
        if self._mistake is not None:
            raise self._mistake
