"""The best plan alone: what a decision would carry out."""

from collections.abc import Sequence
from dataclasses import replace

from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.search import candidates


def best_plan(question: Question, now: float) -> Plan | NoPlan:
    found = candidates(replace(question, most=1), now)
    return found if isinstance(found, NoPlan) else best(found)


def best(plans: Sequence[Plan]) -> Plan:
    """The search hands out the best plan first; here, it is told by its price alone."""
    ranks = [(tuple(plan.cost), plan.domain) for plan in plans]
    assert ranks == sorted(ranks)
    return plans[ranks.index(min(ranks))]
