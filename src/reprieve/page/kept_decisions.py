"""Which decisions does the page keep? Those that preempt, and those whose reason for a refusal is new.

A demand that waits is decided again and again, mostly with the same result. Bounded; records of plans are
added to the decisions that opened them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from reprieve.model.effects import Target
from reprieve.runtime.recent_decisions import KeptDecision, course_after
from reprieve.scheduler.decision import Decision, Outcome
from reprieve.scheduler.plan_records import ChainContinued, GrowthEnded, PlanRecord

K = TypeVar("K")
V = TypeVar("V")

MOST_KEPT = 400  # decisions that preempt, and as many that refuse


@dataclass(slots=True)
class DecisionMemory:
    """``most``: of each of the two kinds; the oldest are forgotten first."""

    most: int = MOST_KEPT
    _preempting: dict[str, KeptDecision] = field(default_factory=dict)
    _refused: dict[str, KeptDecision] = field(default_factory=dict)
    _last_refusals: dict[Target, tuple[str, str]] = field(default_factory=dict)  # a decision, and its reason

    def keep(self, decision: Decision) -> Iterator[KeptDecision]:
        """Yields it if it is kept."""
        match decision.outcome:
            case Outcome.PREEMPTS:
                kept = self._preempting[decision.id] = KeptDecision(decision)
                _forget(self._preempting, self.most)
                yield kept
            case Outcome.UNSCHEDULABLE | Outcome.ERROR | Outcome.IMPROVING:
                yield from self._keep_refusal(decision)
            case Outcome.PLACED | Outcome.WAITING | Outcome.FITS:
                self._last_refusals.pop(decision.demand, None)

    def _keep_refusal(self, decision: Decision) -> Iterator[KeptDecision]:
        known_id, known_reason = self._last_refusals.get(decision.demand, ("", ""))
        reason = _reason(decision)
        known = self._refused.get(known_id)
        if known is not None and known_reason == reason:
            # Not a change worth sending: a demand may be refused many times in a second.
            self._refused[known_id] = replace(known, attempts=known.attempts + 1)
            return
        kept = self._refused[decision.id] = KeptDecision(decision)
        self._last_refusals.pop(decision.demand, None)
        self._last_refusals[decision.demand] = decision.id, reason
        _forget(self._refused, self.most)
        _forget(self._last_refusals, self.most)
        yield kept

    def record(self, records: Sequence[PlanRecord]) -> Iterator[KeptDecision]:
        for record in records:
            if isinstance(record, GrowthEnded | ChainContinued):
                continue
            known = self._preempting.get(record.decision)
            if known is not None:
                kept = replace(known, plan=course_after(known.plan, record))
                self._preempting[record.decision] = kept
                yield kept

    def adopt(self, kept: Sequence[KeptDecision]) -> Iterator[KeptDecision]:
        """Decisions that another memory has kept, the oldest first; yields those that are new.

        Of more than are kept here, only the newest: the others would push out each other every time.
        """
        preempting = [one for one in kept if one.decision.outcome is Outcome.PREEMPTS]
        refused = [one for one in kept if one.decision.outcome is not Outcome.PREEMPTS]
        for into, all_of_them in ((self._preempting, preempting), (self._refused, refused)):
            for one in all_of_them[-self.most :]:
                if into.get(one.decision.id) != one:
                    into[one.decision.id] = one
                    yield one
            _forget(into, self.most)

    def find(self, decision: str) -> KeptDecision | None:
        return self._preempting.get(decision) or self._refused.get(decision)

    def all(self) -> list[KeptDecision]:
        """The newest last."""
        kept = [*self._preempting.values(), *self._refused.values()]
        return sorted(kept, key=lambda one: one.decision.at)

    def copy(self) -> "DecisionMemory":
        return DecisionMemory(
            self.most, dict(self._preempting), dict(self._refused), dict(self._last_refusals)
        )


def _reason(decision: Decision) -> str:
    """What must differ for a refusal to be shown again. Numbers of nodes change all the time."""
    codes = sorted({finding.reason.code for finding in decision.findings})
    why = decision.eviction.because.code if decision.eviction is not None else ""
    short = (decision.miss.because.code, decision.miss.resource) if decision.miss is not None else ()
    return repr((decision.outcome, codes, why, short))


def _forget(kept: dict[K, V], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]
