"""Frames of a journal on disk, and the cluster that its scheduler knew at a moment, for questions."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import TypeVar

import msgspec

from reprieve.assembly.inquiries import PolicyChoice
from reprieve.assembly.journals import run_configuration
from reprieve.assembly.page_questions import OF_THE_CLUSTER, AskedCluster
from reprieve.cluster.api.codec import READERS, Decoded
from reprieve.config.encoding import as_document
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.decoded_cluster import DecodedCluster, ObjectsByName
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject
from reprieve.page.history import JournalHistory, JournalMoment
from reprieve.page.sources import PageRefusedError, PictureFrame
from reprieve.runtime.journal import JournalError

T = TypeVar("T")

_VERSIONS = {kind: version for version, kind in reversed(READERS)}


@dataclass(slots=True)
class JournalFrames:
    """The moments of a journal. The last one that was asked for is remembered: more is asked about it."""

    journal: JournalHistory
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _last: tuple[float, JournalMoment] | None = None

    async def frame(self, at: float | None) -> PictureFrame:
        moment = await self._moment(at)
        return PictureFrame(moment.picture, known_since=moment.known_since)

    async def history(self) -> Json | None:
        """Of a journal that is still written, as far as it goes now."""
        async with self._turn:
            await self._read(self.journal.load)
            return self.journal.document()

    async def asked(self, at: float | None) -> AskedCluster:
        """With the configuration and the gates of the run; without its head, the usual ones."""
        moment = await self._moment(at)
        configuration, choice = None, OF_THE_CLUSTER
        if moment.head:
            try:
                configured, gates = run_configuration(moment.head)
            except JournalError as error:
                raise PageRefusedError(str(error)) from error
            configuration = as_document(configured)
            named: Json = msgspec.to_builtins(gates)
            choice = PolicyChoice(feature_gates=",".join(f"{k}={str(v).lower()}" for k, v in named.items()))
        decisions = tuple(moment.picture.decisions.all())
        return AskedCluster(partial(_cluster_at, moment, configuration), decisions, choice)

    async def _moment(self, at: float | None) -> JournalMoment:
        async with self._turn:
            if at is None:
                return self.journal.last.copy()
            if self._last is None or self._last[0] != at:
                if at > self.journal.last_time:
                    await self._read(self.journal.load)
                self._last = at, await self._read(partial(self.journal.at, at))
            return self._last[1]

    async def _read(self, read: Callable[[], T]) -> T:
        """In another thread: a journal can be long."""
        try:
            return await asyncio.to_thread(read)
        except JournalError as error:
            raise PageRefusedError(str(error), HTTPStatus.NOT_FOUND) from error


def _cluster_at(moment: JournalMoment, configuration: Json | None) -> DecodedCluster:
    """The scheduler's own records: no object needs defaults, and none is unreadable."""
    seen = moment.objects.all()
    source = ClusterObjects((), moment.picture.time, configuration=configuration)
    by_name = ObjectsByName()
    for event in seen:
        thing = event.object
        kind, meta = type(thing).__name__, thing.metadata
        body = ApiObject(kind, _VERSIONS[kind], msgspec.json.encode(thing))
        by_name.add((kind, meta.namespace, meta.name), body)
    records: Sequence[Decoded[KubernetesObject]] = [
        Decoded(object=event.object, unserved=event.unserved) for event in seen
    ]
    return DecodedCluster(source, tuple(records), by_name, tuple(_notes(moment)))


def _notes(moment: JournalMoment) -> Iterator[str]:
    if moment.known_since is not None:
        yield "The beginning of the journal was rotated away: objects that did not change since are unknown."
