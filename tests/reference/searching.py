"""The best plan alone: what a decision would carry out."""

from collections.abc import Sequence
from dataclasses import replace

from reprieve.preemption.ranking import rank

from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.question import Question
from reprieve.preemption.search import candidates


def best_plan(question: Question, now: float) -> Plan | NoPlan:
    found = candidates(replace(question, most=1), now)
    return found if isinstance(found, NoPlan) else best(question, found)


def best(question: Question, plans: Sequence[Plan]) -> Plan:
    """The search hands out the best plan first; here, it is told by the ranking alone."""
    ranks = [rank(plan, question.ranking) for plan in plans]
    assert ranks == sorted(ranks)
    return plans[ranks.index(min(ranks))]
