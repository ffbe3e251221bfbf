"""Which decisions were made lately, and what became of their plans? Bounded in number and in bytes.

It is an observer: it changes nothing. Kept are decisions that preempt, each of them, and of decisions that
make a demand wait the latest for each demand: a pod that is retried every minute would push out all others.
Decisions that only place a pod are not kept.
"""

import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from reprieve.model.effects import Effect, Target
from reprieve.model.events import Event
from reprieve.model.moment import Moment
from reprieve.runtime.journal_lines import Asked, Recorded
from reprieve.scheduler.plans.plan_records import (
    EndReason,
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    StageReached,
    VictimsJudged,
)
from reprieve.scheduler.reporting.decision import Decided, Decision, DecisionPart, Outcome
from reprieve.scheduler.reporting.decision_document import read_decision

_decode = msgspec.json.Decoder(Decision).decode
_encode = msgspec.json.Encoder().encode


class PlanCourse(DecisionPart, frozen=True):
    """How far the plan of a decision got. ``used``, ``wasted``: UIDs of evicted pods, once that is known.

    ``reached``: the stages so far, each with its time.
    """

    stage: str
    end: EndReason | None = None
    ended_at: float | None = None
    used: tuple[str, ...] = ()
    wasted: tuple[str, ...] = ()
    reached: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class KeptDecision:
    """``attempts``: how often the demand was decided in a row with this outcome; this is the last of them."""

    decision: Decision
    plan: PlanCourse | None = None
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class EncodedDecision:
    """A kept decision as bytes: to copy it takes no time, and another thread may decode it."""

    body: bytes
    plan: PlanCourse | None
    attempts: int

    def decoded(self) -> KeptDecision:
        return KeptDecision(_decode(self.body), self.plan, self.attempts)


@dataclass(frozen=True, slots=True)
class KeepBounds:
    """``each``: decisions that preempt, and as many that make a demand wait. ``bytes``: of both, as JSON."""

    each: int = 1_000
    bytes: int = 16 * 2**20


DEFAULT_BOUNDS = KeepBounds()
_EVERYTHING = KeepBounds(sys.maxsize, sys.maxsize)


@dataclass(slots=True)
class _Entry:
    body: bytes
    revision: int
    outcome: Outcome
    plan: PlanCourse | None = None
    attempts: int = 1


_Kept = OrderedDict[str | Target, _Entry]


@dataclass(slots=True)
class RecentDecisions:
    """``revision`` grows with every change: ``after`` gives what a reader has not seen yet."""

    bounds: KeepBounds = DEFAULT_BOUNDS
    revision: int = 0
    _preempting: _Kept = field(default_factory=OrderedDict)  # by decision id
    _waiting: _Kept = field(default_factory=OrderedDict)  # by demand
    _bytes: int = 0

    def on_observed(self, events: Sequence[Event], effects: Sequence[Effect], now: Moment) -> None:
        """Objects are of no interest here."""

    def on_decided(self, decided: Decided | None, now: Moment, seconds: float) -> None:
        if decided is not None:
            self.keep(decided.decision)

    def keep(self, decision: Decision) -> None:
        match decision.outcome:
            case Outcome.PLACED:
                return
            case Outcome.PREEMPTS:
                self._put(self._preempting, decision.id, decision)
            case Outcome.WAITING | Outcome.IMPROVING | Outcome.UNSCHEDULABLE | Outcome.FITS | Outcome.ERROR:
                self._put(self._waiting, decision.demand, decision)

    def on_recorded(self, records: Sequence[PlanRecord]) -> None:
        for record in records:
            if isinstance(record, GrowthEnded):
                continue
            entry = self._preempting.get(record.decision)
            if entry is not None:
                entry.plan = course_after(entry.plan, record)
                entry.revision = self._next_revision()

    def after(self, revision: int = 0, limit: int | None = None) -> Iterator[KeptDecision]:
        """Decode what ``copied`` gives. The caller may take its time: what is pushed out meanwhile is still
        given, what is added is not."""
        return (one.decoded() for one in self.copied(revision, limit))

    def copied(self, revision: int = 0, limit: int | None = None) -> tuple[EncodedDecision, ...]:
        """What is new or has changed since a revision, the oldest first; all if the revision is not ours.

        ``limit``: of more than so many, only the newest.
        """
        since = revision if revision <= self.revision else 0
        entries = [*self._preempting.values(), *self._waiting.values()]
        new = sorted((e for e in entries if e.revision > since), key=lambda e: e.revision)
        if limit is not None:
            new = new[max(0, len(new) - limit) :]
        return tuple(EncodedDecision(entry.body, entry.plan, entry.attempts) for entry in new)

    def _put(self, kept: _Kept, key: str | Target, decision: Decision) -> None:
        known = kept.pop(key, None)
        again = known is not None and known.outcome is decision.outcome
        attempts = known.attempts + 1 if known is not None and again else 1
        entry = _Entry(_encode(decision), self._next_revision(), decision.outcome, attempts=attempts)
        self._bytes += len(entry.body) - (len(known.body) if known is not None else 0)
        kept[key] = entry
        while len(kept) > self.bounds.each:
            self._drop(kept)
        while self._bytes > self.bounds.bytes and (self._preempting or self._waiting):
            self._drop(self._waiting or self._preempting)  # a pod that waits is decided again, and kept again

    def _drop(self, kept: _Kept) -> None:
        _, entry = kept.popitem(last=False)
        self._bytes -= len(entry.body)

    def _next_revision(self) -> int:
        self.revision += 1
        return self.revision


def decisions_in(results: Iterable[Asked | Recorded]) -> RecentDecisions:
    """The decisions of a journal, all that is on disk, as if they had been observed."""
    kept = RecentDecisions(_EVERYTHING)
    remember(kept, results)
    return kept


def remember(kept: RecentDecisions, results: Iterable[Asked | Recorded]) -> None:
    """Keep the decisions of a journal, as if they had been observed; raises what reading them raises."""
    for result in results:
        match result:
            case Asked(decision=body) if body is not None:
                kept.keep(read_decision(body))
            case Recorded(records=records):
                kept.on_recorded(records)
            case Asked():
                pass


def course_after(
    known: PlanCourse | None, record: PlanOpened | StageReached | PlanEnded | VictimsJudged
) -> PlanCourse:
    course = known or PlanCourse("nominated")
    match record:
        case PlanOpened(at=at):
            return replace(course, reached={course.stage: at})
        case StageReached(stage=stage, at=at):
            return replace(course, stage=stage.value, reached={**course.reached, stage.value: at})
        case PlanEnded(reason=reason, stage=stage, at=at):
            return replace(course, stage=stage.value, end=reason, ended_at=at)
        case VictimsJudged(used=used, wasted=wasted):
            return replace(
                course,
                used=(*course.used, *(pod.uid for pod in used)),
                wasted=(*course.wasted, *(pod.uid for pod in wasted)),
            )
