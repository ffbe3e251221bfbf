"""What counts as gone by the time a plan is carried out, and what cannot be counted on.

Victims in flight are pods that were chosen by other plans, or marked before this process started, and that
are not seen leaving yet.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.place import survey
from reprieve.placement.rejection_codes import Code, Reason, Rejection
from reprieve.preemption.eligibility import Verdict
from reprieve.preemption.least_disturbance.deferral import not_at_all
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.pod_by_pod import FindCandidates
from reprieve.preemption.policy import Policy, Question
from reprieve.preemption.reprieve import pods_that_matter
from reprieve.preemption.search import candidates
from reprieve.preemption.units import Units


def counting_on(in_flight: Ints) -> FindCandidates:
    """The search for plans if these victims are in flight."""
    return partial(_candidates, in_flight=in_flight) if len(in_flight) else candidates


def _candidates(question: Question, now: float, in_flight: Ints) -> list[Plan] | NoPlan:
    """No further pod is disturbed if victims in flight are enough.

    If they are not, they count as gone, so that plans are compared by what else they cost; the best of these
    then names the victims in flight that it needs. Among victims that go anyway, none is worth a search.
    """
    gone = _evictable(question, in_flight, now)
    emptied = replace(question, view=without(question.view, gone), most=1)
    if _may_be_enough(question, emptied, gone):
        found = candidates(_unimproved(_evicting_only(question, in_flight)), now)
        if not isinstance(found, NoPlan):
            return list(map(_unproved, found))
    # What is remembered of a plan does not say on which victims in flight it counts.
    question, emptied = _undeferred(question), _undeferred(emptied)
    found = candidates(emptied, now)
    if not isinstance(found, NoPlan) and _is_apart(question, found[0], gone):
        return [replace(found[0], spared=())]
    if not isinstance(found, NoPlan):
        found = candidates(_unimproved(_as_planned(question, found[0], gone)), now)
    return candidates(question, now) if isinstance(found, NoPlan) else list(map(_unproved, found))


def _is_apart(question: Question, plan: Plan, gone: Ints) -> bool:
    """Whether it is clear that a plan for one pod needs no victim in flight: it stands as it is.

    None of them was on its node, and pods there count by their room and ports alone. So none of the plan's
    victims can be spared either, and the search among them would find them all again.
    """
    demand, view, rows = question.demand, question.view, _rows_of(plan)
    if len(view.nodes) <= question.shortcuts.nodes:
        return False
    if len(demand.pods) > 1 or question.is_for_group:
        return False
    if plan.ceiling is None and question.policy.search.has_ceiling:
        return False
    node = plan.placement.nodes[0]
    if (
        (view.where[gone] == node).any()
        or (view.where[rows] != node).any()
        or view.pods.groups.codes[rows].any()
    ):
        return False
    guarded = np.isin(rows, question.accounts.pods).any()
    return not guarded and not pods_that_matter(demand, view, question.profile).any()


def _may_be_enough(question: Question, emptied: Question, gone: Ints) -> bool:
    """Whether the demand may fit if all victims in flight are gone, and no other pod is.

    Of a single pod that is known at once, if they only hold room and ports: without a part of them it does
    not fit either.
    """
    demand = question.demand
    if len(demand.pods) > 1 or pods_that_matter(demand, question.view, question.profile)[gone].any():
        return True
    ask = Ask(emptied.view, demand.pods[0], question.profile)
    return bool(survey(ask, demand.constraints, demand.allowed).feasible.any())


def _undeferred(question: Question) -> Question:
    return replace(question, policy=replace(question.policy, deferral=None))


def _unimproved(question: Question) -> Question:
    return replace(question, policy=replace(question.policy, improving=not_at_all, deferral=None))


def _unproved(plan: Plan) -> Plan:
    """What is known of it is known for a part of the units only."""
    if plan.quality is None:
        return plan
    return replace(plan, quality=replace(plan.quality, bound=(), proved=False))


def _evictable(question: Question, in_flight: Ints, now: float) -> Ints:
    """The pods of all units with a victim in flight that may be evicted for the demand."""
    units, allowed = question.units, question.eligible(now).allowed
    return units.pods_of(np.flatnonzero(allowed & units.with_any(_mask(question.view, in_flight))))


def _as_planned(question: Question, plan: Plan, gone: Ints) -> Question:
    """Where the plan puts the demand, evicting only its victims and those that counted as gone for it."""
    there = np.zeros(len(question.view.nodes), np.bool_)
    there[[node for _, node in plan.places]] = True
    question = _within(question, plan, there)
    victims = np.concatenate([gone, _rows_of(plan)])
    return _evicting_only(replace(question, demand=replace(question.demand, allowed=there)), victims)


def _rows_of(plan: Plan) -> Ints:
    return np.array([row for unit in plan.victims for row in unit.pods], np.int64)


def _within(question: Question, plan: Plan, there: Mask) -> Question:
    """Asks about no other nodes, if there can be a plan on no other.

    On nodes without a victim of the plan, victims in flight would have to be enough, and are not.
    """
    nodes = question.view.where[_rows_of(plan)]
    if len(question.demand.pods) > 1 or not there[nodes].all():
        return question
    elsewhere = Rejection(~there, Reason(Code.OUTSIDE_DOMAIN, "the node of the plan"), curable=False)
    rejections = (*question.found.rejections, elsewhere)
    return replace(question, found=replace(question.found, rejections=rejections))


def _evicting_only(question: Question, pods: Ints) -> Question:
    def rule(units: Units, _: Demand, __: float) -> Verdict:
        return Verdict(units.with_any(_mask(units.view, pods)))

    return replace(question, policy=replace(question.policy, rules=(*question.policy.rules, rule)))


def sparing(policy: Policy, stuck: Sequence[int], staying: Sequence[int]) -> Policy:
    """The policy by which pods that do not go are not evicted again.

    A pod that is ``stuck`` is no part of its group any more; one that is ``staying`` still is.
    """
    if not stuck and not staying:
        return policy

    def rule(units: Units, _: Demand, __: float) -> Verdict:
        return Verdict(~units.with_any(_mask(units.view, [*stuck, *staying])))

    def units(view: Snapshot) -> Units:
        return policy.units(view).apart(_mask(view, stuck))

    return replace(policy, units=units if stuck else policy.units, rules=(*policy.rules, rule))


def _mask(view: Snapshot, pods: Sequence[int] | Ints) -> Mask:
    mask = np.zeros(len(view.pods), np.bool_)
    mask[np.asarray(pods, np.int64)] = True
    return mask
