"""Plans that make room for a demand that does not fit, the best first; or why there is none.

Asks the search for candidates and keeps those that hold. How a plan is found, and what it costs, is known to
``preemption`` alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE
from reprieve.model.whatif import without
from reprieve.placement.demand import Demand
from reprieve.placement.domains import place_together
from reprieve.placement.effort import NO_EFFORT
from reprieve.placement.place import Placement, Survey, Unplaceable, with_promises
from reprieve.placement.rating import best
from reprieve.placement.rejection_codes import NO_CODES, Code
from reprieve.preemption.budgets import paid_for
from reprieve.preemption.plan import NoPlan, Plan, Why, earliest
from reprieve.preemption.pod_by_pod import joined_plans
from reprieve.preemption.policy import Policy, Question
from reprieve.preemption.search import CLUSTER, refusal
from reprieve.scheduler.demands import DecisionContext
from reprieve.scheduler.demands.gang_strategy import GangStrategy
from reprieve.scheduler.planning.plan_feasibility import holds_without_promised
from reprieve.scheduler.planning.victims_in_flight import counting_on, sparing

_AT_ONCE = 16  # pods of a group, each for itself: more would keep other demands from their decision


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """The plans that make room, the best first; or why there is none."""

    plans: tuple[Plan, ...] = ()
    question: Question | None = None  # None: the search was not asked
    refusal: NoPlan | None = None
    codes: frozenset[Code] = NO_CODES  # what excludes nodes even without all pods that may be evicted


def make_room(context: DecisionContext, policy: Policy | None, gangs: GangStrategy, now: float) -> Weighed:
    """For a demand whose pods do not need each other, room is made for as many as possible, side by side."""
    if policy is None:
        return Weighed(refusal=NoPlan(Why.OFF))
    pods = context.demand.pods
    made: list[Weighed] = []
    latest: Plan | None = None
    # Of single pods of one shape and priority, the first is tried.
    refused: dict[tuple[Shape | tuple[int, ...], int], Weighed] = {}
    for demand in gangs.demands(context):
        if made and (demand.topology_key or len(made) == _AT_ONCE):
            break  # the first pod decides on the domain of the others
        is_one = len(demand.pods) == 1
        shape = context.view.pods.shape(demand.pods[0]) if is_one else demand.pods
        if (shape, demand.priority) in refused:
            continue
        if latest is not None:  # not before: most demands are one pod, and none comes after it
            context, latest = context.beside(latest), None
        weighed = _best_plans(context, demand, policy, gangs, now)
        if weighed.plans:
            made.append(weighed)
            latest = weighed.plans[0]
        else:
            refused[shape, demand.priority] = weighed
    if not made and not refused:
        return Weighed(refusal=NoPlan(Why.NO_HELP))  # no part of a tree can be met by the pods that wait
    return _together(pods, made) if made else _refused(list(refused.values()))


def _best_plans(
    context: DecisionContext, demand: Demand, policy: Policy, gangs: GangStrategy, now: float
) -> Weighed:
    """Without victims, if pods that leave anyway make enough room."""
    leaving, policy = context.leaving, sparing(policy, context.stuck, context.staying)
    emptied = without(context.view, leaving)
    unplaced = _as_known(context, demand, policy) if not len(leaving) else None
    if unplaced is None:
        # If none leave, it was searched.
        tried = demand if len(leaving) else replace(demand, effort=NO_EFFORT)
        placed = place_together(tried, emptied, context.profile, policy.choose, context.promised)
        if isinstance(placed, Placement):
            return Weighed((Plan("", placed, (), (), 0, pods=demand.pods),))
        unplaced = placed.survey
    if context.restrained is not None:
        return Weighed(refusal=NoPlan(Why.IN_VAIN, retry_at=context.restrained))
    view = paid_for(with_promises(emptied, context.promised), context.charged.tolist())
    question = Question(demand, view, unplaced, policy, context.profile)
    find = counting_on(context.in_flight)
    if len(demand.pods) > 1:
        find = gangs.finding(find)
    found = find(question, now)
    holding = _holding(context, found)
    if not holding and not isinstance(found, NoPlan):  # the best do not hold; others may
        anew = replace(question.policy, deferral=None)
        found = find(replace(question, most=len(view.nodes), policy=anew), now)
        holding = _holding(context, found)
    if holding:
        return Weighed(tuple(holding), question)
    why = found if isinstance(found, NoPlan) else _not_for_now(question, now)
    return Weighed((), question, why, _excluded_by(question, why, now))


def _as_known(context: DecisionContext, demand: Demand, policy: Policy) -> Survey | None:
    """Why the pods of the demand do not fit as things are, where the decision knows that already.

    A gang of which fewer pods are wanted fails at the same pod. Trees, and groups within a domain, do not.
    """
    whole = context.demand
    is_same = demand.pods == whole.pods and whole.tree is None and not whole.topology_key
    is_known = is_same and (len(demand.pods) == 1 or policy.choose is best)
    return context.unplaced.survey if context.unplaced is not None and is_known else None


def _holding(context: DecisionContext, found: list[Plan] | NoPlan) -> list[Plan]:
    if isinstance(found, NoPlan):
        return []
    return [plan for plan in found if holds_without_promised(context, plan)]


def _not_for_now(question: Question, now: float) -> NoPlan:
    """There are plans, but none that holds; there may be others when more pods may be evicted."""
    return replace(refusal(question, now), why=Why.NO_HELP)


def _excluded_by(question: Question, why: NoPlan, now: float) -> frozenset[Code]:
    """What excludes nodes once all pods are gone that may be evicted: a lack of room hides other reasons."""
    if why.why not in (Why.NO_HELP, Why.PROTECTED):
        return NO_CODES
    allowed = question.eligible(now).allowed
    emptied = without(question.view, question.units.pods_of(np.flatnonzero(allowed)))
    found = place_together(question.demand, emptied, question.profile, question.policy.choose)
    if isinstance(found, Unplaceable):
        return found.codes
    return frozenset(Code) if why.why is Why.NO_HELP else NO_CODES  # it cannot be told which


def _together(pods: tuple[int, ...], made: Sequence[Weighed]) -> Weighed:
    if len(made) == 1:
        return made[0]
    plans = [weighed.plans[0] for weighed in made]
    places = dict(place for plan in plans for place in plan.places)
    plan = joined_plans(CLUSTER, pods, [places.get(pod, NOWHERE) for pod in pods], plans)
    return Weighed((plan,), next((weighed.question for weighed in made if weighed.question), None))


def _refused(tried: Sequence[Weighed]) -> Weighed:
    why = earliest([weighed.refusal for weighed in tried if weighed.refusal])
    return replace(tried[0], refusal=why, codes=NO_CODES.union(*(one.codes for one in tried)))
