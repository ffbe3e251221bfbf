"""How is the page made in the caller's process: of a journal, of a snapshot in files, or of a live cluster?

A live cluster is read with the caller's credentials, with lists as the commands read it: what the caller may
not list is left out, and noted. It is read again every few seconds, and never for more than a small part of
the time. What is wrong with a recording is a sentence.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from reprieve.assembly.cluster_reading import ClusterReadingError, read_cluster
from reprieve.assembly.decision_sources import DecisionServer, DecisionSourceError, served_decisions
from reprieve.assembly.inquiries import PolicyChoice
from reprieve.assembly.journals import JOURNAL, run_configuration
from reprieve.assembly.loopback_page import loopback_page
from reprieve.assembly.page_questions import OF_THE_CLUSTER, AskedCluster, ClusterQuestions
from reprieve.cluster.api.codec import READERS, Decoded
from reprieve.cluster.api.compression import DamagedFileError, read_file
from reprieve.config.parsing import as_document
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.decision_list import read_decisions
from reprieve.inquiry.decoded_cluster import DecodedCluster, ObjectsByName, decoded
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects
from reprieve.model.events import Event, Seen, Synced
from reprieve.model.json import Json
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject
from reprieve.page.documents import PageAbilities, PageHead
from reprieve.page.history import JournalHistory, JournalMoment
from reprieve.page.live import FedSteps, LivePicture, PictureFeed
from reprieve.page.picture import Picture
from reprieve.page.sources import LiveFrames, PageGate, PageParts, PageRefusedError, PictureFrame
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
        text = read_file(path)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    except DamagedFileError as error:
        raise RecordingError(f"{path}: {error}") from error
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
        self._picture.observe(_listed(self.cluster), self.cluster.source.taken_at)
        self._picture.adopt(self._decisions)

    async def frame(self, at: float | None) -> PictureFrame:
        return PictureFrame(self._picture)

    async def history(self) -> Json | None:
        return None

    async def asked(self, at: float | None) -> AskedCluster:
        return AskedCluster(lambda: self.cluster, self._decisions)


def _listed(cluster: DecodedCluster) -> list[Event]:
    return [*(Seen(one.object, one.unserved) for one in cluster.seen), Synced()]


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


# --- a live cluster -------------------------------------------------------------------------------


_PERIOD = 2.0  # seconds between two readings
_PAUSE_FACTOR = 9  # times as long as a reading took, if that is longer
_NONE_YET = "the cluster is being read: nothing is known of it yet"
_CAN = PageAbilities(whatif=True, why=True, exposure=True)

Complain = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ClusterReading:
    cluster: DecodedCluster
    decisions: tuple[KeptDecision, ...]


ReadAgain = Callable[[], Coroutine[Any, Any, ClusterReading]]


def reading_of(server: DecisionServer, namespace: str = "") -> ReadAgain:
    """A function that reads the cluster of a context: raises ClusterReadingError or DecisionSourceError.

    Decisions come from its API server, if `reprieve up` runs it, or from the replica that is named."""

    async def read() -> ClusterReading:
        found = await read_cluster(server.kubeconfig, server.context, namespace=namespace)
        if server.server:
            decisions = (await served_decisions(server)).decisions
        else:
            decisions = read_decisions(found.decisions).decisions
        cluster = await asyncio.to_thread(decoded, found)
        return ClusterReading(cluster, tuple(sorted(decisions, key=lambda kept: kept.decision.at)))

    return read


@dataclass(slots=True)
class PolledCluster:
    """``complain``: gets a sentence when the cluster can no longer be read, once for each such time."""

    last: ClusterReading
    read: ReadAgain
    complain: Complain
    feed: PictureFeed = field(default_factory=PictureFeed)
    _failed: bool = False

    def show(self) -> None:
        """What is not seen this time is gone."""
        self.feed.begin()
        cluster = self.last.cluster
        self.feed.on_observed(_listed(cluster), (), on_one_clock(cluster.source.taken_at))
        self.feed.adopted(self.last.decisions)

    async def keep_reading(self) -> None:
        took = 0.0
        while True:
            await asyncio.sleep(max(_PERIOD, _PAUSE_FACTOR * took))
            began = time.monotonic()
            try:
                self.last = await self.read()
            except (ClusterReadingError, DecisionSourceError) as error:
                if not self._failed:
                    self.complain(f"the page shows the cluster as it was: {error}")
                self._failed = True
                continue
            self._failed = False
            took = time.monotonic() - began
            self.show()

    async def take(self) -> FedSteps:
        return self.feed.take()

    async def asked(self, at: float | None) -> AskedCluster:
        last = self.last
        return AskedCluster(lambda: last.cluster, last.decisions)


def page_of_context(
    name: str, first: ClusterReading, read: ReadAgain, complain: Complain
) -> AbstractAsyncContextManager[str]:
    """Serves the page while the context is open; yields the address. ``name``: of the cluster."""

    def parts(gate: PageGate) -> PageParts:
        polled = PolledCluster(first, read, complain)
        polled.show()
        live = LivePicture(polled.take)
        return PageParts(
            PageHead(name, "context", _CAN),
            LiveFrames(live, _NONE_YET),
            gate,
            live,
            ClusterQuestions(polled.asked),
            {"reading of the cluster": polled.keep_reading},
        )

    return loopback_page(parts, _AGAIN)
