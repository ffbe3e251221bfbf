"""A gang that does not preempt as one: room is made for each of its pods in turn.

No pod is evicted in vain: the victims for all pods of the gang make one plan, and there is none unless enough
pods of the gang get room.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from reprieve.model.snapshot import NOWHERE
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.domains import Domain, topology_domains
from reprieve.placement.place import Placement, place, with_taken
from reprieve.preemption.budgets import paid_for
from reprieve.preemption.plan import NoPlan, Plan, Why, earliest
from reprieve.preemption.policy import Question
from reprieve.preemption.reprieve import holds
from reprieve.preemption.search import CLUSTER, priced
from reprieve.preemption.units import Unit

FindCandidates = Callable[[Question, float], list[Plan] | NoPlan]  # plans, the best first


def plans_pod_by_pod(question: Question, now: float, find: FindCandidates) -> list[Plan] | NoPlan:
    """A plan for every domain in which enough pods of the demand can get room, the best first."""
    plans: list[Plan] = []
    refusals: list[NoPlan] = []
    for domain in _domains(question):
        match _plan_in(domain, question, now, find):
            case Plan() as plan:
                plans.append(priced(question, _without_vain(question, plan), now))
            case NoPlan() as refusal:
                refusals.append(refusal)
    plans.sort(key=lambda plan: (plan.cost, plan.domain))
    return plans or (earliest(refusals) if refusals else NoPlan(Why.NO_HELP))


def _without_vain(question: Question, plan: Plan) -> Plan:
    """The victims for one pod may make those for another needless."""
    demand, victims = replace(question.demand, pods=plan.pods), list(plan.victims)
    for unit in plan.victims:
        others = [one for one in victims if one is not unit]
        gone = [row for one in others for row in one.pods]
        if holds(demand, plan.placement, without(question.view, gone), question.profile):
            victims = others
    if len(victims) == len(plan.victims):
        return plan
    broken = question.accounts.exceeded_by(victims)
    spared = (*plan.spared, *(unit for unit in plan.victims if unit not in victims))
    return replace(plan, victims=tuple(victims), spared=_by_priority(spared), broken=broken)


def _domains(question: Question) -> Iterator[Domain]:
    view, demand = question.view, question.demand
    if demand.topology_key:
        yield from topology_domains(view, demand)
    else:
        everywhere = np.ones(len(view.nodes), np.bool_)
        yield Domain(CLUSTER, everywhere if demand.allowed is None else demand.allowed)


def _plan_in(domain: Domain, question: Question, now: float, find: FindCandidates) -> Plan | NoPlan:
    demand, view = question.demand, question.view
    if demand.tree is not None and demand.tree.has_topology_inside:
        return NoPlan(Why.NO_HELP)  # a pod by itself does not know the domains of its groups
    nodes: list[int] = []
    plans: list[Plan] = []
    refusals: list[NoPlan] = []
    for position, pod in enumerate(demand.pods):
        if _is_spare(demand, position, nodes):
            nodes.append(NOWHERE)
            continue
        alone = _alone(pod, domain, question)
        placed = place(alone, view, question.profile, question.policy.choose)
        if isinstance(placed, Placement):
            found: list[Plan] | NoPlan = [Plan(domain.name, placed, (), (), 0, pods=alone.pods)]
        else:
            found = find(replace(question, view=view, demand=alone, found=placed.survey), now)
        if isinstance(found, NoPlan):
            nodes.append(NOWHERE)
            refusals.append(found)
            if len(demand.pods) - len(refusals) < demand.needed:
                return _too_few(refusals, plans)
            continue
        plans.append(found[0])
        nodes.append(plans[-1].placement.nodes[0])
        going = [row for unit in plans[-1].victims for row in unit.pods]
        ask = Ask(without(paid_for(view, going), going), pod, question.profile)
        view = with_taken(ask, nodes[-1])
    if not demand.is_met_by(nodes):
        return _too_few(refusals, plans) if refusals else NoPlan(Why.NO_HELP)
    return joined_plans(domain.name, demand.pods, nodes, plans)


def _is_spare(demand: Demand, position: int, nodes: Sequence[int]) -> bool:
    """Whether those before it that have a node are enough."""
    if demand.most is None:
        return False
    placed = {before for before, node in enumerate(nodes) if node != NOWHERE}
    return len(placed) >= demand.most if demand.tree is None else not demand.tree.needs(position, placed)


def _too_few(refusals: Sequence[NoPlan], plans: Sequence[Plan]) -> NoPlan:
    """Where some pods get room, the reason is not that no unit may be preempted."""
    refusal = earliest(refusals)
    is_misleading = refusal.why is Why.NOBODY_ELIGIBLE and any(plan.victims for plan in plans)
    return replace(refusal, why=Why.NO_HELP) if is_misleading else refusal


def _alone(pod: int, domain: Domain, question: Question) -> Demand:
    """One pod of the demand by itself, with its own priority."""
    return replace(
        question.demand,
        pods=(pod,),
        needed=1,
        most=None,
        priority=int(question.view.pods.priority[pod]),
        allowed=domain.nodes,
        topology_key="",
        tree=None,
        nominated=(),
    )


def joined_plans(domain: str, pods: tuple[int, ...], nodes: Sequence[int], plans: Sequence[Plan]) -> Plan:
    """One plan for several pods, from plans that were made one after the other."""
    victims = {unit.name: unit for plan in plans for unit in plan.victims}
    spared = {unit.name: unit for plan in plans for unit in plan.spared if unit.name not in victims}
    return Plan(
        domain=domain,
        placement=Placement(tuple(nodes)),
        victims=_by_priority(victims.values()),
        spared=_by_priority(spared.values()),
        broken=sum(plan.broken for plan in plans),
        pods=pods,
    )


def _by_priority(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """Units of one priority stay in the order in which the plans named them."""
    return tuple(sorted(units, key=lambda unit: -unit.priority))
