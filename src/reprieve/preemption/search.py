"""Where can there be a plan, which plans can be the best, and why is there none?

How a plan is made on one node, in one topology domain or in the cluster is in ``domain_plan`` and in
``least_disturbing_plan``. What a unit is, which may be preempted and by which criteria a plan wins is the
policy's business.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.nodes import Nodes
from reprieve.model.snapshot import NOWHERE
from reprieve.placement.domains import Domain, topology_domains
from reprieve.preemption.budgets import Accounts, as_upstream, shares_of
from reprieve.preemption.domain_plan import begun_in, more_room_never_hurts
from reprieve.preemption.eligibility import Verdict, eligible
from reprieve.preemption.gangs import GangSlack, gang_slack
from reprieve.preemption.least_disturbance.costs import Disturbance
from reprieve.preemption.least_disturbance.lost_work import lost_work
from reprieve.preemption.least_disturbance.prices import Prices
from reprieve.preemption.least_disturbing_plan import LeastDisturbancePlanning
from reprieve.preemption.node_pruning import UNKNOWN, Candidate, worth_planning
from reprieve.preemption.plan import NoPlan, Plan, Quality, Why
from reprieve.preemption.policy import SearchMode
from reprieve.preemption.question import Question, Rival, Takeable
from reprieve.preemption.ranking import Rank, rank
from reprieve.preemption.reprieve import counts_room, pods_that_matter
from reprieve.preemption.units import Units, numbers_of

CLUSTER = "cluster"


def candidates(question: Question, now: float) -> list[Plan] | NoPlan:
    """A plan for every domain that could have one of the best, the best first; or why there is none."""
    demand, policy = question.demand, question.policy
    if not demand.may_preempt:
        return NoPlan(Why.NEVER_PREEMPTS)
    units = policy.units(question.view)
    verdict = eligible(units, demand, policy.rules, now)
    plans = _plans_taking(verdict.allowed, units, question, now)
    if plans:
        return plans
    why = _refusal(question, units, verdict, now)
    if demand.until is None:
        return why
    late = candidates(replace(question, demand=replace(demand, until=None)), now)
    return why if isinstance(late, NoPlan) else replace(why, why=Why.TOO_SLOW, forbidden=late[0])


def measured(question: Question, plan: Plan, now: float) -> Quality:
    """What a plan disturbs, whatever search has made it."""
    units, policy = question.policy.units(question.view), question.policy
    counts = Disturbance.LOST_WORK in policy.disturbance
    work = partial(lost_work, units, now=now, cap=policy.lost_work_cap) if counts else None
    prices = Prices(question, units, policy.accounts(question.view), work, numbers_of(plan.victims))
    costs = prices.of_victims([plan])
    return Quality(tuple(zip(costs.order, costs.of(plan.victims), strict=True)), (), proved=False, effort=0)


def _plans_taking(allowed: Mask, units: Units, question: Question, now: float) -> list[Plan]:
    """Plans that evict none but these units."""
    if not allowed.any():
        return []
    takeable, policy = takeable_of(question, units, allowed), question.policy
    if question.disturbs_least and policy.counts_lost_work:
        measure = partial(lost_work, units, now=now, cap=policy.lost_work_cap)
        takeable = replace(takeable, lost_work=measure)
    return _plans_that_may_win(question, takeable)


def _plans_that_may_win(question: Question, takeable: Takeable) -> list[Plan]:
    """Plans for one domain after the other, until no domain that is left can have one of the best.

    The best first.
    """
    plans: list[Plan] = []
    ranks: list[Rank] = []
    for prospect in prospects(question, takeable):
        if len(ranks) >= question.most and prospect.at_least > ranks[question.most - 1]:
            break
        plan = prospect.plan(question, takeable)
        if plan is None or (plan.broken and question.policy.breaks_no_budget):
            continue
        its_rank = prospect.rank_of(plan, question)
        place = bisect_left(ranks, its_rank)
        if its_rank in ranks[place : place + 1]:
            continue  # a domain of one node, which has its name: the node by itself has the same plan
        plans.insert(place, plan)
        ranks.insert(place, its_rank)
        if len(ranks) >= question.most and prospect.at_least >= ranks[question.most - 1]:
            break  # before the next is sought: it costs no less than this one
    return plans


def plan_in(domain: Domain, question: Question, takeable: Takeable, *, by_room: bool = False) -> Plan | None:
    """``by_room``: on this node, nothing but room and ports is known to be missing."""
    begun = begun_in(domain, question, takeable, by_room=by_room)
    if begun is None:
        return None
    planning, placement = begun
    if question.policy.search is SearchMode.UPSTREAM:
        plan = planning.spare(placement, planning.local)
        return planning.kinder_to_gangs(plan, placement) if plan.starved else plan
    if question.disturbs_least:
        usual = _usual_plans(domain, question, takeable) if len(question.demand.pods) == 1 else ()
        return LeastDisturbancePlanning(planning, usual).plan(placement)
    return planning.by_ceiling(placement)


def _usual_plans(domain: Domain, question: Question, takeable: Takeable) -> tuple[Plan, ...]:
    """What the usual search finds for one pod there, the best first: it compares nodes."""
    usual = replace(question, policy=replace(question.policy, search=SearchMode.PRIORITY_CEILING))
    plans = _plans_that_may_win(usual, takeable)
    here = (plan for plan in plans if domain.nodes[plan.placement.nodes[0]])
    return tuple(replace(plan, domain=domain.name) for plan in here)


def _is_enough(allowed: Mask, units: Units, question: Question) -> bool:
    """Whether there is a plan that evicts none but these units. Only budgets need it made in full."""
    takeable = takeable_of(question, units, allowed)
    if question.policy.breaks_no_budget:
        plans = (plan_in(domain, question, takeable) for domain in domains(question, takeable))
        return any(plan is not None and not plan.broken for plan in plans)
    begun = (begun_in(domain, question, takeable, by_room=False) for domain in domains(question, takeable))
    return any(one is not None for one in begun)


def takeable_of(question: Question, units: Units, allowed: Mask) -> Takeable:
    accounts = question.policy.accounts(question.view)
    if question.policy.breaks_no_budget:
        allowed = allowed & ~shares_of(units, accounts).unaffordable()
    matter = pods_that_matter(question.demand, question.view, question.profile)
    gangs = _gangs_that_count(question, units, allowed)
    return Takeable(units, allowed, accounts, matter, _rival(question, units, accounts), gangs=gangs)


def _gangs_that_count(question: Question, units: Units, allowed: Mask) -> GangSlack | None:
    """For a resize, all gangs but its own; otherwise those that are evicted pod by pod: of a whole group,
    nothing is left that could need more."""
    view, rows = question.view, np.arange(len(question.view.pods))
    if not question.demand.spares_gangs and (
        not units.minds_gangs or question.policy.search is SearchMode.UPSTREAM
    ):
        return None
    pods = (units.of_pod != NOWHERE) & allowed[units.of_pod] & (view.pods.groups.codes != 0)
    if not question.demand.spares_gangs:
        pods &= units.of_pod == rows
    gangs = gang_slack(view, pods)
    return gangs if len(gangs) else None


def _rival(question: Question, units: Units, ours: Accounts) -> Rival | None:
    view, rows = question.view, np.arange(len(question.view.pods))
    goes_alone = (view.pods.groups.codes != 0) & (units.of_pod == rows)
    if question.policy.search is SearchMode.UPSTREAM or not (ours or goes_alone.any()):
        return None
    return Rival(units.ranking_members_as_groups(), as_upstream(ours, view))


# --- why not -------------------------------------------------------------------------------------


def refusal(question: Question, now: float) -> NoPlan:
    """Why none of the plans that can be made now will do."""
    units = question.policy.units(question.view)
    return _refusal(question, units, eligible(units, question.demand, question.policy.rules, now), now)


def _refusal(question: Question, units: Units, verdict: Verdict, now: float) -> NoPlan:
    """What prevents a plan, and whether it is enough to wait."""
    timeless = _timeless_refusal(question, units, verdict.allowed, now)
    held = verdict.held(now)
    if verdict.until is None or not held.any():
        return timeless
    held &= _within_reach(question, units)
    if not held.any():
        return timeless
    pods = tuple(units.pods_of(np.flatnonzero(held)).tolist())
    waits = NoPlan(Why.PROTECTED, held=pods, ended_by=verdict.ended_by)
    ending = held & np.isfinite(verdict.until)
    first = float(verdict.until[ending].min()) if ending.any() else None
    if first is not None and _is_enough(verdict.allowed | ending, units, question):
        return replace(waits, retry_at=first)
    # Feasibility may not be monotone in the victims: then any of the moments may be the right one.
    is_settled = more_room_never_hurts(
        question, pods_that_matter(question.demand, question.view, question.profile)
    )
    first = None if is_settled else first
    if _is_enough(verdict.allowed | held, units, question):
        return replace(waits, retry_at=first)
    return timeless if is_settled else replace(timeless, retry_at=first, held=pods, ended_by=verdict.ended_by)


def _timeless_refusal(question: Question, units: Units, allowed: Mask, now: float) -> NoPlan:
    if not allowed.any():
        return NoPlan(Why.NOBODY_ELIGIBLE)
    if question.policy.breaks_no_budget:
        heedless = replace(question, policy=replace(question.policy, breaks_no_budget=False), most=1)
        forbidden = _plans_taking(allowed, units, heedless, now)
        if forbidden:
            return NoPlan(Why.BUDGETS, forbidden=forbidden[0])
    return NoPlan(Why.NO_HELP)


def _within_reach(question: Question, units: Units) -> Mask:
    """The units that could make room: those in one of the domains."""
    if len(question.demand.pods) > 1 or question.is_for_group:
        return units.size > 0
    reach = np.zeros(len(units.priority), np.bool_)
    reach[units.touching(question.found.curable())] = True
    return reach


def domains(question: Question, takeable: Takeable) -> Iterator[Domain]:
    return (prospect.domain for prospect in prospects(question, takeable))


class Prospect(NamedTuple):
    make_domain: Callable[[], Domain]
    at_least: Rank = UNKNOWN  # the rank of no plan there is smaller
    by_room: bool = False  # it is a node where nothing but room and ports is missing
    known: Callable[[], Plan] | None = None  # makes the plan, where it is known

    @property
    def domain(self) -> Domain:
        return self.make_domain()

    def rank_of(self, plan: Plan, question: Question) -> Rank:
        """A plan that is known costs what is known, if that is said by every criterion and the name."""
        is_said = self.known is not None and len(self.at_least) > len(question.ranking)
        return self.at_least if is_said else rank(plan, question.ranking)

    def plan(self, question: Question, takeable: Takeable) -> Plan | None:
        if self.known is not None:
            return self.known()
        return plan_in(self.domain, question, takeable, by_room=self.by_room)


def prospects(question: Question, takeable: Takeable) -> Iterator[Prospect]:
    """Where there may be a plan, the cheapest first.

    For a pod, nodes that refused it for a reason that evictions can cure. For a group the cluster, or each
    value of the topology that it must not leave. A group of one gets both: plans on nodes can be compared,
    and a plan in the cluster also evicts units that keep the pod from a node without running there. The
    search for the least disturbance compares nodes by itself.
    """
    nodes, demand = question.view.nodes, question.demand
    is_one, is_group = len(demand.pods) == 1, question.is_for_group or question.disturbs_least
    if is_group or not is_one:
        yield from (Prospect(partial(Domain, one.name, one.nodes)) for one in _wide_domains(question))
    wide_only = question.policy.search is SearchMode.UPSTREAM or question.disturbs_least
    if is_one and not (is_group and wide_only):
        curable = _curable_nodes(question, takeable)
        yield from (Prospect(partial(_node, nodes, one.node), *one[1:]) for one in curable)


def _wide_domains(question: Question) -> Iterator[Domain]:
    view, demand = question.view, question.demand
    if demand.topology_key:
        yield from topology_domains(view, demand)
    else:
        everywhere = np.ones(len(view.nodes), np.bool_)
        yield Domain(CLUSTER, everywhere if demand.allowed is None else demand.allowed)


def _node(nodes: Nodes, row: int) -> Domain:
    only = np.zeros(len(nodes), np.bool_)
    only[row] = True
    return Domain(nodes.names[row], only)


def _curable_nodes(question: Question, takeable: Takeable) -> Iterable[Candidate]:
    rows = np.flatnonzero(question.found.curable()).tolist()
    if len(rows) <= question.shortcuts.nodes or not counts_room(question.demand):
        return map(Candidate, rows)
    return worth_planning(question, takeable)
