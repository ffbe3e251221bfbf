"""How is the page of a recording made: of a journal on disk, or of a snapshot in files?

What is wrong with a recording is a sentence. It must not know HTTP.
"""

import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from reprieve.assembly.journal_frames import JournalFrames
from reprieve.assembly.journals import JOURNAL
from reprieve.assembly.loopback_page import loopback_page
from reprieve.assembly.page_questions import AskedCluster, ClusterQuestions
from reprieve.inquiry.decision_list import read_decisions
from reprieve.inquiry.decoded_cluster import DecodedCluster, decoded
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects
from reprieve.model.events import Event, Seen, Synced
from reprieve.model.json import Json
from reprieve.page.documents import PageAbilities, PageHead
from reprieve.page.history import JournalHistory
from reprieve.page.picture import Picture
from reprieve.page.sources import PageGate, PageParts, PictureFrame
from reprieve.runtime.journal import JournalError, located_entries
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
    history = JournalHistory(partial(located_entries, where))
    try:
        history.load()
    except JournalError as error:
        raise RecordingError(str(error)) from error
    return Recording(where.parent.name if where.name == JOURNAL else where.name, history)


def page_of_recording(recording: Recording) -> AbstractAsyncContextManager[str]:
    """For as long as the context is open; yields the address."""

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
