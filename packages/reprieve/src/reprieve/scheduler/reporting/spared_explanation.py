"""Why does a unit stay where a plan makes room? A rule protects it, or its gang does better without another.

Rows become names and words, and nothing is decided. Why members of a group are spared names no pod and no
group: that is shown to readers that may not know them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.conditions import NEVER
from reprieve.model.formatting import clock_time
from reprieve.model.snapshot import on_nodes
from reprieve.preemption.eligibility import Told, Verdict
from reprieve.preemption.gangs import GangSlack, gang_slack
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.units import Unit, UnitKind, single_pods
from reprieve.scheduler.reporting.decision import MOST_SPARED, EvictionReason, ProtectedBy, Spared

_VERBS = "is protected from", "are protected from"


def told_of(verdict: Verdict, pods: Ints, now: float) -> Iterator[Told]:
    """By rule: each pod (row) counts for what protects it longest. Other pods of their units do not count."""
    ends = np.array([rule.until[pods] for rule in verdict.by]).reshape(len(verdict.by), -1)
    longest = ends.argmax(axis=0) if len(ends) else pods
    for number, rule in enumerate(verdict.by):
        yield from rule.told_of(pods[(longest == number) & (ends[number] > now)])


def protected_text(told: Sequence[Told], priority: int, retry_at: float | None, now: float) -> str:
    """Until when they are protected; without a moment, that they are."""
    if retry_at is not None:
        told = [one for one in told if one.first != NEVER]
    pods, alone = " and ".join(_phrases(told)), sum(one.pods for one in told) == 1
    if retry_at is not None:
        verb = "is protected until" if alone else "are protected, the first until"
        return f"{pods} {verb} {clock_time(retry_at, now)}"
    verbs = {one.protection.verbs for one in told}
    singular, plural = verbs.pop() if len(verbs) == 1 else _VERBS
    return f"{pods} {singular if alone else plural} preemption by priority {priority}"


def _phrases(told: Iterable[Told]) -> Iterator[str]:
    for several, group in groupby(told, key=lambda one: one.protection.several):
        alike = [*group]
        if several and len(alike) > 1:
            pods = sum(one.pods for one in alike)
            yield f"{pods} pods of {len(alike)} {several}"
        else:
            yield from (one.text for one in alike)


@dataclass(frozen=True, slots=True)
class ProtectedBeside:
    """Units that rules protect where a plan makes room: the most important, and how many there are."""

    listed: Sequence[Spared] = ()
    units: int = 0
    pods: int = 0


def protected_beside(plan: Plan, question: Question, now: float) -> ProtectedBeside:
    view, priority, units = question.view, question.demand.priority, question.units
    verdict = question.eligible(now)
    held = verdict.held(now)
    if not held.any():
        return ProtectedBeside()
    numbers = np.flatnonzero(held & units.with_any(on_nodes(view, [node for _, node in plan.places])))
    listed = units.listed(units.in_order(numbers)[:MOST_SPARED])
    told = [_spared(unit, verdict, priority, now) for unit in listed]
    return ProtectedBeside(told, len(numbers), int(units.size[numbers].sum()))


def _spared(unit: Unit, verdict: Verdict, priority: int, now: float) -> Spared:
    pods = np.array(unit.pods, np.int64)
    ends = np.max([rule.until[pods] for rule in verdict.by], axis=0)
    until = float(ends.max())
    told = [*told_of(verdict, pods[ends == until], now)]
    text = protected_text(told, priority, until if until < NEVER else None, now)
    because = EvictionReason(told[0].protection.code, text)
    return Spared(unit.name, len(unit.pods), unit.priority, because, unit.scheduling)


def protected_by(told: Iterable[Told]) -> Iterator[ProtectedBy]:
    for one in told:
        words, first = one.protection, one.first if one.first != NEVER else None
        yield ProtectedBy(words.code, words.by, one.pods, words.pods, first, words.ends)


# --- members of a group --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SparedMembers:
    plan: Plan
    question: Question
    gangs: GangSlack | None  # None: groups have no say in it

    @classmethod
    def of(cls, plan: Plan, question: Question) -> "SparedMembers":
        if not question.units.minds_gangs:
            return cls(plan, question, None)
        pods = np.zeros(len(question.view.pods), np.bool_)
        pods[single_pods(plan.victims)] = pods[single_pods(plan.spared)] = True
        return cls(plan, question, gang_slack(question.view, pods))

    def why_spared(self, unit: Unit) -> EvictionReason | None:
        """None if it is not for its group."""
        if self.gangs is None or self._group(unit) is None:
            return None
        victims = self.plan.victims
        if self.gangs.broken([*victims, unit]) > self.gangs.broken(victims):
            return EvictionReason("NeededByGang", "without it, its gang would have fewer pods than it needs")
        others = (victim for victim in victims if self._group(victim) == self._group(unit))
        if any(self._costs_more(unit, other) for other in others):
            return EvictionReason(
                "CostsMore", "it costs its group more than the pods of the group that are evicted"
            )
        return None

    def _group(self, unit: Unit) -> object:
        return self.question.view.pods.groups[unit.pods[0]] if unit.kind is UnitKind.POD else None

    @staticmethod
    def _costs_more(unit: Unit, other: Unit) -> bool:
        return (unit.cheaper, unit.cheaper_to_delete) > (other.cheaper, other.cheaper_to_delete)
