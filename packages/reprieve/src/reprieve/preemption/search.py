"""Where can there be a plan, which plans can be the best, and why is there none?

How a plan is made on one node, in one topology domain or in the cluster is the search's business, and what a
unit is, which may be preempted and by which criteria a plan wins is the policy's.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.nodes import Nodes
from reprieve.model.snapshot import NOWHERE
from reprieve.placement.constraints.resources import resources
from reprieve.placement.domains import Domain, topology_domains
from reprieve.preemption.budgets import Accounts, as_upstream, shares_of
from reprieve.preemption.criteria import PODS_STOPPED, WORKLOADS_ENDED, Cost
from reprieve.preemption.domain_plan import begun_in, more_room_never_hurts
from reprieve.preemption.eligibility import Verdict
from reprieve.preemption.gangs import GangSlack, GroupNeeds, gang_slack, group_needs, slack_of
from reprieve.preemption.member_exchange import exchanged
from reprieve.preemption.node_pruning import UNKNOWN, Candidate, NodeSearch, Rank
from reprieve.preemption.plan import NoPlan, Plan, Quality, Why
from reprieve.preemption.policy import Question
from reprieve.preemption.prices import Evictable, Prices, UpstreamOrder
from reprieve.preemption.reprieve import counts_room, pods_that_matter
from reprieve.preemption.units import Units, numbers_of, pods_and_groups

CLUSTER = "cluster"


def candidates(question: Question, now: float) -> list[Plan] | NoPlan:
    """A plan for every domain that could have one of the best, the best first; or why there is none."""
    demand = question.demand
    if not demand.may_preempt:
        return NoPlan(Why.NEVER_PREEMPTS)
    if demand.degraded is not None:
        return NoPlan(Why.GROUP_DEGRADED)
    units, verdict = question.units, question.eligible(now)
    plans = _plans_taking(verdict.allowed, units, question, now)
    if plans:
        return [_with_quality(question, plans[0], now), *plans[1:]]
    why = _refusal(question, units, verdict, now)
    if demand.until is None:
        return why
    late = candidates(replace(question, demand=replace(demand, until=None)), now)
    return why if isinstance(late, NoPlan) else replace(why, why=Why.TOO_SLOW, forbidden=late[0])


def _with_quality(question: Question, plan: Plan, now: float) -> Plan:
    """The plan with what it costs, if the search has not said it with a bound."""
    if plan.quality is not None and not question.policy.measured:
        return plan
    return replace(plan, quality=measured(question, plan, now))


def measured(question: Question, plan: Plan, now: float) -> Quality:
    """What a plan disturbs by the criteria that it is told by, whatever search has made it."""
    order = question.policy.measured or question.policy.disturbance
    told = replace(question, policy=replace(question.policy, disturbance=order))
    if question.policy.measured:  # it may have counted them as kube-scheduler does
        plan = replace(plan, broken=question.accounts.exceeded_by(plan.victims))
    units = pods_and_groups(question.view) if question.policy.measured else question.units
    return Quality(_priced(told, units, plan, now).cost.named(), (), proved=False, effort=0)


def priced(question: Question, plan: Plan, now: float) -> Plan:
    """The plan with what it costs, if it was put together from others."""
    return _priced(question, question.units, plan, now)


def _priced(question: Question, units: Units, plan: Plan, now: float) -> Plan:
    prices = evictable_of(question, units, units.mask(numbers_of(plan.victims)), now).prices
    return replace(plan, cost=prices.of(plan.victims, plan.broken))


def _plans_taking(allowed: Mask, units: Units, question: Question, now: float) -> list[Plan]:
    """Plans that evict none but these units."""
    if not allowed.any():
        return []
    return _plans_that_may_win(question, evictable_of(question, units, allowed, now))


def _plans_that_may_win(question: Question, evictable: Evictable) -> list[Plan]:
    """Plans for one domain after the other, until no domain that is left can have one of the best.

    The best first.
    """
    nodes, found = NodeSearch(question, evictable), _Best(question.most)
    for prospect in prospects(question, nodes):
        if found.is_full and not found.may_change(prospect.at_least):
            break
        plan = prospect.plan(question, evictable)
        if plan is None or (plan.broken and question.policy.breaks_no_budget):
            continue
        if found.enter(plan) and found.is_full and not found.may_change(prospect.at_least):
            break  # before the next is sought: it costs no less than this one
    refined = question.policy.search.refined
    plans = found.plans
    if refined is not None and len(question.demand.pods) == 1 and resources in question.demand.constraints:
        plans = refined(nodes, plans)
    return exchanged(question, evictable, plans) if plans else plans


class _Best:
    """The best plans so far, by what they cost, and of equal ones by the names of their domains."""

    def __init__(self, most: int) -> None:
        self.plans: list[Plan] = []
        self._most = most

    @property
    def is_full(self) -> bool:
        return len(self.plans) >= self._most

    def may_change(self, at_least: Rank) -> bool:
        """Whether a plan that costs so much at least may be among the best."""
        last = self.plans[self._most - 1]
        cost = chain(last.cost, (last.domain,))  # worked out as far as it is compared
        for mine, least in zip(cost, at_least, strict=False):
            if mine != least:
                return bool(least < mine)  # type: ignore[operator]  # a name comes last
        return len(at_least) <= len(last.cost)

    def enter(self, plan: Plan) -> bool:
        """Says whether it is a new one."""
        if not self.plans or _rank(self.plans[-1]) < _rank(plan):  # as a rule they come in their order
            self.plans.append(plan)
            return True
        place = bisect_left(self.plans, _rank(plan), key=_rank)
        same = self.plans[place]
        if same.domain == plan.domain and same.cost == plan.cost:
            return False  # a domain of one node, which has its name: the node by itself has the same plan
        self.plans.insert(place, plan)
        return True


def _rank(plan: Plan) -> tuple[Cost, str]:
    return plan.cost, plan.domain


def plan_in(
    domain: Domain, question: Question, evictable: Evictable, *, by_room: bool = False
) -> Plan | None:
    """``by_room``: on this node, nothing but room and ports is known to be missing."""
    begun = begun_in(domain, question, evictable, by_room=by_room)
    return question.policy.search.plan(*begun) if begun is not None else None


def _is_enough(allowed: Mask, units: Units, question: Question, now: float) -> bool:
    """Whether there is a plan that evicts none but these units. Only budgets need it made in full."""
    evictable = evictable_of(question, units, allowed, now)
    if question.policy.breaks_no_budget:
        plans = (plan_in(domain, question, evictable) for domain in domains(question, evictable))
        return any(plan is not None and not plan.broken for plan in plans)
    begun = (begun_in(domain, question, evictable, by_room=False) for domain in domains(question, evictable))
    return any(one is not None for one in begun)


def evictable_of(question: Question, units: Units, allowed: Mask, now: float) -> Evictable:
    accounts = question.accounts
    if question.policy.breaks_no_budget:
        allowed = allowed & ~shares_of(units, accounts).unaffordable()
    matter = pods_that_matter(question.demand, question.view, question.profile)
    needs, others = _needs_of(question, units, allowed), _other_gangs(question, units, allowed)
    prices = Prices(question, units, needs, now, allowed=allowed, others=others)
    gangs = others
    if gangs is None and question.policy.search.minds_gangs and len(needs):
        gangs = slack_of(needs)
    return Evictable(
        units, allowed, accounts, matter, prices, _upstream_order(question, units, accounts), gangs
    )


def _needs_of(question: Question, units: Units, allowed: Mask) -> GroupNeeds:
    view, counting = question.view, {PODS_STOPPED, WORKLOADS_ENDED}
    if not units.minds_gangs or counting.isdisjoint(question.criteria):
        return GroupNeeds(np.full(len(view.pods), NOWHERE))
    pods = (view.pods.groups.codes != 0) & (units.of_pod != NOWHERE) & allowed[units.of_pod]
    return group_needs(view, units, pods)


def _other_gangs(question: Question, units: Units, allowed: Mask) -> GangSlack | None:
    """All gangs but its own that a resize should leave complete, also those that are evicted whole."""
    if not question.demand.spares_gangs:
        return None
    view = question.view
    gangs = gang_slack(
        view, (units.of_pod != NOWHERE) & allowed[units.of_pod] & (view.pods.groups.codes != 0)
    )
    return gangs if len(gangs) else None


def _upstream_order(question: Question, units: Units, ours: Accounts) -> UpstreamOrder | None:
    view, rows = question.view, np.arange(len(question.view.pods))
    goes_alone = (view.pods.groups.codes != 0) & (units.of_pod == rows)
    if not question.policy.search.tries_as_upstream or not (ours or goes_alone.any()):
        return None
    return UpstreamOrder(units.ranking_members_as_groups(), as_upstream(ours, view))


# --- why not -------------------------------------------------------------------------------------


def refusal(question: Question, now: float) -> NoPlan:
    """Why none of the plans that can be made now will do."""
    return _refusal(question, question.units, question.eligible(now), now)


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
    if first is not None and _is_enough(verdict.allowed | ending, units, question, now):
        return replace(waits, retry_at=first)
    # Feasibility may not be monotone in the victims: then any of the moments may be the right one.
    is_final = more_room_never_hurts(
        question, pods_that_matter(question.demand, question.view, question.profile)
    )
    first = None if is_final else first
    if _is_enough(verdict.allowed | held, units, question, now):
        return replace(waits, retry_at=first)
    return timeless if is_final else replace(timeless, retry_at=first, held=pods, ended_by=verdict.ended_by)


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
    """[unit] whether it could make room: it has a pod in one of the domains."""
    if len(question.demand.pods) > 1 or question.is_for_group:
        return units.size > 0
    reach = np.zeros(len(units.priority), np.bool_)
    reach[units.touching(question.found.curable())] = True
    return reach


def domains(question: Question, evictable: Evictable) -> Iterator[Domain]:
    return (prospect.domain for prospect in prospects(question, NodeSearch(question, evictable)))


class Prospect(NamedTuple):
    make_domain: Callable[[], Domain]
    at_least: Rank = UNKNOWN  # no plan there costs less
    by_room: bool = False  # it is a node where nothing but room and ports is missing
    known: Callable[[], Plan] | None = None  # makes the plan, where it is known

    @property
    def domain(self) -> Domain:
        return self.make_domain()

    def plan(self, question: Question, evictable: Evictable) -> Plan | None:
        if self.known is not None:
            return self.known()
        return plan_in(self.domain, question, evictable, by_room=self.by_room)


def prospects(question: Question, nodes: NodeSearch) -> Iterator[Prospect]:
    """Where there may be a plan, the cheapest first.

    For a pod, nodes that refused it for a reason that evictions can cure. For a group the cluster, or each
    value of the topology that it must not leave. A group of one gets both: plans on nodes can be compared,
    and a plan in the cluster also evicts units that keep the pod from a node without running there.
    """
    is_one, is_group = len(question.demand.pods) == 1, question.is_for_group
    if is_group or not is_one:
        yield from (Prospect(partial(Domain, one.name, one.nodes)) for one in _wide_domains(question))
    if is_one and not (is_group and not question.policy.search.compares_nodes):
        for one in _curable_nodes(question, nodes):
            yield Prospect(partial(_node, question.view.nodes, one.node), *one[1:])


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


def _curable_nodes(question: Question, nodes: NodeSearch) -> Iterable[Candidate]:
    curable = question.found.curable()
    if np.count_nonzero(curable) <= question.shortcuts.nodes or not counts_room(question.demand):
        return map(Candidate, np.flatnonzero(curable).tolist())
    return nodes.worth_planning()
