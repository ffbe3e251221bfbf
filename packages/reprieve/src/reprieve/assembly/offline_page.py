"""How is the page of a recording made: of a journal on disk, or of a snapshot in files?

What is wrong with a recording is a sentence. It must not know HTTP.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

import msgspec

from reprieve.assembly.inquiries import PolicyChoice
from reprieve.assembly.journals import JOURNAL, run_configuration
from reprieve.assembly.loopback_page import loopback_page
from reprieve.assembly.page_questions import OF_THE_CLUSTER, AskedCluster, ClusterQuestions
from reprieve.cluster.api.codec import READERS, Decoded
from reprieve.config.parsing import as_document
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.decision_list import read_decisions
from reprieve.inquiry.decoded_cluster import DecodedCluster, ObjectsByName, decoded
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects
from reprieve.model.events import Event, Seen, Synced
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject
from reprieve.page.documents import PageAbilities, PageHead
from reprieve.page.history import JournalHistory, JournalMoment
from reprieve.page.picture import Picture
from reprieve.page.sources import PageGate, PageParts, PageRefusedError, PictureFrame
from reprieve.runtime.journal import JournalError, read_located_entries
from reprieve.runtime.recent_decisions import KeptDecision

_SUFFIX, _BEGIN = ".jsonl", b'{"begin":'
_AGAIN = "`reprieve page` printed"


class RecordingError(Exception):
    """Why a recording cannot be shown: a sentence for each problem."""


@dataclass(frozen=True, slots=True)
class Recording:
    """``notes``: what could not be read of it."""

    name: str
    source: JournalHistory | DecodedCluster
    notes: tuple[str, ...] = ()


def recording_in(path: Path) -> Recording:
    """A directory has a journal; a file, a snapshot. Raises RecordingError."""
    if path.is_dir():
        return _journal_in(path)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    if text.startswith(_BEGIN) and path.suffix == _SUFFIX:
        raise RecordingError(f"{path}: is one file of a journal: name its directory, {path.parent}")
    found = parse_objects(text, str(path))
    if found.problems:
        raise RecordingError("\n".join(found.problems))
    cluster = decoded(cluster_in([found], time.time()))
    return Recording(path.name, cluster, cluster.notes)


def _journal_in(directory: Path) -> Recording:
    below = directory / JOURNAL
    has_own = any(directory.glob(f"*{_SUFFIX}"))
    where = below if below.is_dir() and not has_own else directory
    history = JournalHistory(partial(read_located_entries, where))
    try:
        history.load()
    except JournalError as error:
        raise RecordingError(str(error)) from error
    return Recording(where.parent.name if where.name == JOURNAL else where.name, history)


def page_of_recording(recording: Recording) -> AbstractAsyncContextManager[str]:
    """Serves the page while the context is open; yields the address."""

    def parts(gate: PageGate) -> PageParts:
        frames: JournalFrames | SnapshotFrame
        match recording.source:
            case JournalHistory() as history:
                frames = JournalFrames(history)
            case cluster:
                frames = SnapshotFrame(cluster)
        has_history = isinstance(recording.source, JournalHistory)
        can = PageAbilities(whatif=True, why=True, exposure=True, history=has_history)
        head = PageHead(recording.name, "offline", can)
        return PageParts(head, frames, gate, questions=ClusterQuestions(frames.asked))

    return loopback_page(parts, _AGAIN)


# --- a snapshot ----------------------------------------------------------------------------------


@dataclass(slots=True)
class SnapshotFrame:
    """One moment, and no history."""

    cluster: DecodedCluster
    _decisions: tuple[KeptDecision, ...] = field(init=False)
    _picture: Picture = field(init=False)

    def __post_init__(self) -> None:
        found = read_decisions(self.cluster.source.decisions).decisions
        self._decisions = tuple(sorted(found, key=lambda kept: kept.decision.at))
        self._picture = Picture()
        events: list[Event] = [Seen(one.object, one.unserved) for one in self.cluster.seen]
        self._picture.observe([*events, Synced()], self.cluster.source.taken_at)
        self._picture.adopt(self._decisions)

    async def frame(self, at: float | None) -> PictureFrame:
        return PictureFrame(self._picture)

    async def history(self) -> Json | None:
        return None

    async def asked(self, at: float | None) -> AskedCluster:
        return AskedCluster(lambda: self.cluster, self._decisions)


# --- a journal -------------------------------------------------------------------------------------


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
        """A journal that is still written has a history as far as it goes now."""
        async with self._turn:
            await self._read(self.journal.load)
            return self.journal.document()

    async def asked(self, at: float | None) -> AskedCluster:
        """The run's configuration and gates are used; without its head, the usual ones."""
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
        """Another thread reads: a journal can be long."""
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
