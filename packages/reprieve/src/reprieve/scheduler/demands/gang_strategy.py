"""For which pods of a gang room is made at once, and whether the gang preempts as one.

Assembly chooses a strategy by a feature gate and an argument; planning only calls its functions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from reprieve.placement.demand import Demand, pieces
from reprieve.preemption.pod_by_pod import FindCandidates, plans_pod_by_pod
from reprieve.scheduler.demands import DecisionContext


@dataclass(frozen=True, slots=True)
class GangStrategy:
    demands: Callable[[DecisionContext], list[Demand]]  # each of them gets room or not, one after the other
    finding: Callable[[FindCandidates], FindCandidates]  # how plans for one of them are found


def needed_members(context: DecisionContext) -> list[Demand]:
    """As many pods as the gang needs to start; each pod beyond that is a demand of its own."""
    demand = context.demand
    if demand.tree is not None:
        return [*pieces(demand, demand.tree)]
    if len(demand.pods) == 1:
        return [demand]
    if context.requester.is_starting:
        return [replace(demand, most=demand.needed)]
    alone = zip(demand.pods, demand.nominated, strict=True)
    return [replace(demand, pods=(pod,), needed=1, nominated=(node,)) for pod, node in alone]


def needed_by_own_priority(context: DecisionContext) -> list[Demand]:
    """``needed_members``, and each pod that is a demand of its own preempts with its own priority."""
    priority = context.view.pods.priority
    demands = needed_members(context)
    return [
        replace(one, priority=int(priority[one.pods[0]])) if len(one.pods) == 1 else one for one in demands
    ]


def all_members(context: DecisionContext) -> list[Demand]:
    return [context.demand]


def together(find: FindCandidates) -> FindCandidates:
    return find


def singly(find: FindCandidates) -> FindCandidates:
    """Each pod of a gang makes room for itself, with its own priority."""
    return partial(plans_pod_by_pod, find=find)


MIN_COUNT = GangStrategy(needed_members, together)
ALL_MEMBERS = GangStrategy(all_members, together)
POD_BY_POD = GangStrategy(needed_by_own_priority, singly)
