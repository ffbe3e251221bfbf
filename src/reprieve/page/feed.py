"""How does the page learn what a scheduler sees and does, without slowing it down?

An observer that only collects: of each object the last event, and every decision and plan record in order.
What was collected is taken by another thread, between two steps of the scheduler, and folded there.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from reprieve.model.effects import Effect
from reprieve.model.events import Event, Gone, Seen, Synced, Unread
from reprieve.page.picture import Picture
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.decision import Decided, Decision
from reprieve.scheduler.plan_records import PlanRecord

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

    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> None:
        self._at = now
        for event in events:
            match event:
                case Seen(thing):
                    self._put((type(thing).__name__, thing.metadata.uid), event)
                case Gone(target) | Unread(target):
                    self._put((target.kind, target.uid), event)
                case Synced():
                    self._put(("", "synced"), event)

    def decided(self, decided: Decided | None, now: float, seconds: float) -> None:
        if decided is not None:
            self._at = now
            self._results.append(DecisionTaken(now, decided.decision))

    def recorded(self, records: Sequence[PlanRecord]) -> None:
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
