"""How does a live picture stay up to date without slowing its scheduler, and how do readers learn of changes?

A feed observes the scheduler, and only collects. What it has collected is folded ten times a second while
there are readers, and rarely while there are none, in the event loop of the server. A ring holds the last
changes, numbered; a reader that comes too late for one is told so, and loads the whole picture again.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from reprieve.model.effects import Effect
from reprieve.model.events import Event, Gone, Seen, Synced, Unread
from reprieve.model.moment import Moment
from reprieve.page.documents import change_json
from reprieve.page.picture import Picture, PictureChange
from reprieve.report.hidden_names import MayGet, may_get_all
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decided, Decision
from reprieve.supervision.supervisor import log_mishap

# --- what a scheduler sees and does --------------------------------------------------------------


_MOST_RESULTS = 20_000  # between two takes; of more, the oldest are lost


@dataclass(frozen=True, slots=True)
class SchedulerBegins:
    """A scheduler without state observes from here on."""


@dataclass(frozen=True, slots=True)
class DecisionTaken:
    at: float
    decision: Decision


@dataclass(frozen=True, slots=True)
class PlansWentOn:
    at: float
    records: tuple[PlanRecord, ...]


@dataclass(frozen=True, slots=True)
class DecisionsAdopted:
    """Decisions that another memory has kept, with what became of them."""

    kept: tuple[KeptDecision, ...]


FedResult = DecisionTaken | PlansWentOn | DecisionsAdopted


@dataclass(frozen=True, slots=True)
class FedSteps:
    """What was collected since the last time. ``at``: the time of the last step."""

    at: float
    sights: tuple[Event | SchedulerBegins, ...]
    results: tuple[FedResult, ...]


_Key = tuple[str, str]


@dataclass(slots=True)
class PictureFeed:
    """An observer of a scheduler."""

    _at: float = 0.0
    _sights: dict[_Key, Event | SchedulerBegins] = field(default_factory=dict)
    _results: deque[FedResult] = field(default_factory=lambda: deque(maxlen=_MOST_RESULTS))

    def begin(self) -> None:
        self._put(("", "begin"), SchedulerBegins())

    def on_observed(self, events: Sequence[Event], effects: Sequence[Effect], now: Moment) -> None:
        self._at = now.wall
        for event in events:
            match event:
                case Seen(thing):
                    self._put((type(thing).__name__, thing.metadata.uid), event)
                case Gone(target) | Unread(target):
                    self._put((target.kind, target.uid), event)
                case Synced():
                    self._put(("", "synced"), event)

    def on_decided(self, decided: Decided | None, now: Moment, seconds: float) -> None:
        if decided is not None:
            self._at = now.wall
            self._results.append(DecisionTaken(now.wall, decided.decision))

    def on_recorded(self, records: Sequence[PlanRecord]) -> None:
        self._results.append(PlansWentOn(self._at, tuple(records)))

    def adopted(self, kept: Sequence[KeptDecision]) -> None:
        self._results.append(DecisionsAdopted(tuple(kept)))

    def take(self) -> FedSteps:
        """Constant time but for a copy of references."""
        taken = FedSteps(self._at, tuple(self._sights.values()), tuple(self._results))
        self._sights.clear()
        self._results.clear()
        return taken

    def _put(self, key: _Key, sight: Event | SchedulerBegins) -> None:
        """At the end: what was seen before a scheduler began must not stand for what it saw itself."""
        self._sights.pop(key, None)
        self._sights[key] = sight


def fold_step(picture: Picture, at: float, step: Event | SchedulerBegins | FedResult) -> None:
    match step:
        case SchedulerBegins():
            picture.begin()
        case DecisionTaken(at=decided_at, decision=decision):
            picture.decide(decision, decided_at)
        case PlansWentOn(at=recorded_at, records=records):
            picture.record(records, recorded_at)
        case DecisionsAdopted(kept=kept):
            picture.adopt(kept)
        case _:
            picture.observe((step,), at)


# --- changes, for readers ------------------------------------------------------------------------


MOST_CHANGES = 20_000


@dataclass(slots=True)
class ChangeBatch:
    """``resources``: those in whose order amounts are written."""

    revision: int
    time: float
    changes: tuple[PictureChange, ...]
    resources: tuple[str, ...]
    _for_all: bytes = b""

    def event(self, may_get: MayGet = may_get_all) -> bytes:
        """The server-sent event, which is made once for all readers that may see everything."""
        if may_get is not may_get_all:
            return self._written(may_get)
        self._for_all = self._for_all or self._written(may_get_all)
        return self._for_all

    def _written(self, may_get: MayGet) -> bytes:
        changes = [one for change in self.changes for one in change_json(change, self.resources, may_get)]
        document = {
            "revision": self.revision,
            "after": self.revision - 1,
            "time": self.time,
            "changes": changes,
        }
        data = msgspec.json.encode(document)
        return b"id: %d\ndata: %b\n\n" % (self.revision, data)


@dataclass(slots=True)
class ChangeRing:
    """``first``: the revision before any change. It must be above all those of earlier rings, of which
    readers may still ask for what came after."""

    first: int = 0
    most: int = MOST_CHANGES
    revision: int = field(init=False)
    _since: int = field(init=False)  # whatever came after this revision is here
    _held: int = 0
    _resources: tuple[str, ...] = ()
    _batches: deque[ChangeBatch] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.revision = self._since = self.first

    @property
    def has_begun(self) -> bool:
        return self.revision > self.first

    def add(self, time: float, changes: tuple[PictureChange, ...], resources: tuple[str, ...]) -> None:
        """If resources differ from those before, rows that were sent mean something else: all load anew."""
        self.revision += 1
        if resources != self._resources:
            self._resources = resources
            self._forget_until(self.revision)
            return
        self._batches.append(ChangeBatch(self.revision, time, changes, resources))
        self._held += len(changes)
        while self._held > self.most:
            self._forget_until(self._batches[0].revision)

    def after(self, revision: int) -> Iterator[ChangeBatch] | None:
        """None if the ring no longer holds all that came after it, or the revision is of another ring."""
        if not self._since <= revision <= self.revision:
            return None
        # Revisions follow one another, so that the place of the next is known.
        seen = len(self._batches) - (self.revision - revision)
        return iter([*islice(self._batches, max(0, seen), None)])

    def changes_after(self, revision: int) -> int:
        """How many changes a reader of this revision has not seen; none if it has to load all anew."""
        return sum(len(batch.changes) for batch in self.after(revision) or ())

    def _forget_until(self, revision: int) -> None:
        while self._batches and self._batches[0].revision <= revision:
            self._held -= len(self._batches.popleft().changes)
        self._since = revision


# --- the live picture ----------------------------------------------------------------------------


_PERIOD, _IDLE_PERIOD = 0.1, 2.0  # seconds
_SLICE = 500  # steps that are folded before others get their turn

TakeSteps = Callable[[], Awaitable[FedSteps]]


def _ring_of_now() -> ChangeRing:
    """A ring has far fewer revisions than milliseconds pass."""
    return ChangeRing(int(time.time() * 1000))


@dataclass(slots=True)
class LivePicture:
    """``take``: what was collected since the last time."""

    take: TakeSteps
    picture: Picture = field(default_factory=Picture)
    ring: ChangeRing = field(default_factory=_ring_of_now)
    closed: bool = False
    _readers: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _queued: asyncio.Future[None] | None = None
    _refreshing: set[asyncio.Future[None]] = field(default_factory=set)

    async def refresh(self) -> None:
        async with self._turn:
            await self._take_and_fold()

    async def refresh_within(self, seconds: float) -> None:
        """A scheduler in a long step shows nothing new; what was taken must not be lost for that.

        However many readers wait, one refresh is under way and one waits for it.
        """
        if self._queued is None:
            self._queued = asyncio.ensure_future(self._refresh_queued())
            self._refreshing.add(self._queued)
            self._queued.add_done_callback(self._refreshing.discard)
        done, _ = await asyncio.wait({self._queued}, timeout=seconds)
        for one in done:
            one.result()

    async def _refresh_queued(self) -> None:
        async with self._turn:
            self._queued = None  # what happens from here on may be too late for this one
            await self._take_and_fold()

    async def _take_and_fold(self) -> None:
        steps = await self.take()
        for number, step in enumerate((*steps.sights, *steps.results), start=1):
            self._fold(steps.at, step)
            if number % _SLICE == 0:
                await asyncio.sleep(0)
        if steps.sights or steps.results:
            self.picture.observe((), steps.at)
        changes = self.picture.take_changes()
        if changes:
            self.ring.add(self.picture.time, changes, self.picture.resources())
            self._wake()

    def _fold(self, at: float, step: Event | SchedulerBegins | FedResult) -> None:
        """What cannot be shown is left out, and all else is folded."""
        try:
            fold_step(self.picture, at, step)
        except Exception as error:
            log_mishap("page: something cannot be shown", error)

    async def keep_fresh(self) -> None:
        while not self.closed:
            await self.refresh()
            if self._readers:
                await asyncio.sleep(_PERIOD)
                continue
            self._wanted.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_IDLE_PERIOD):
                    await self._wanted.wait()

    def close(self) -> None:
        self.closed = True
        self._wake()

    @contextmanager
    def reading(self) -> Iterator[None]:
        self._readers += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._readers -= 1

    async def after(self, revision: int, patience: float) -> Iterator[ChangeBatch] | None:
        """Waits so long for a change; nothing if none came. None as of ChangeRing."""
        if self.ring.revision == revision and not self.closed:
            changed = self._changed
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await changed.wait()
        return self.ring.after(revision)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
