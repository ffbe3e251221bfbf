"""The best plan alone: what a decision would carry out."""

from dataclasses import replace

from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.question import Question
from reprieve.preemption.search import best, candidates


def best_plan(question: Question, now: float) -> Plan | NoPlan:
    found = candidates(replace(question, most=1), now)
    return found if isinstance(found, NoPlan) else best(question, found)
