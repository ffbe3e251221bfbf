"""What each search finds for a gang or a pod, and what that costs by an order of criteria."""

from collections.abc import Sequence
from dataclasses import replace

from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Demand
from reprieve.placement.domains import place_together
from reprieve.placement.effort import Effort
from reprieve.placement.place import Placement
from reprieve.preemption import searches
from reprieve.preemption.criteria import CRITERIA, DISTURBANCE
from reprieve.preemption.plan import NoPlan, Plan, Quality
from reprieve.preemption.policy import Policy, Question
from reprieve.preemption.search import candidates, measured
from reprieve.preemption.searches import REPRIEVE
from tests.reference.searching import best

USUAL_EFFORT = 10_000
# Here no workload publishes checkpoints, and no pod says when it started.
USUAL_ORDER = tuple(criterion.name for criterion in DISTURBANCE)
SEARCHES = {
    "Upstream": replace(REPRIEVE, search=searches.UPSTREAM),
    "PriorityCeiling": replace(REPRIEVE, search=searches.PRIORITY_CEILING),
    "LeastDisturbance": REPRIEVE,
}


def by(order: Sequence[str], policy: Policy = REPRIEVE) -> Policy:
    return replace(policy, disturbance=tuple(CRITERIA[name] for name in order))


def plan_by(
    policy: Policy, view: Snapshot, demand: Demand, effort: int = USUAL_EFFORT
) -> Plan | NoPlan | None:
    """None if it fits as things are."""
    demand = replace(demand, effort=Effort(effort))
    found = place_together(demand, view)
    if isinstance(found, Placement):
        return None
    question = Question(demand, view, found.survey, policy=policy)
    plans = candidates(question, now=0)
    return plans if isinstance(plans, NoPlan) else best(plans)


def cost_by(policy: Policy, view: Snapshot, demand: Demand, plan: Plan) -> Quality:
    """What a plan costs, whatever search has made it, by the order of a policy."""
    found = place_together(demand, view)
    assert not isinstance(found, Placement)
    return measured(Question(demand, view, found.survey, policy=policy), plan, now=0)


def victims_of(view: Snapshot, plan: Plan) -> list[str]:
    return [view.pods.compiled[row].pod.metadata.name for unit in plan.victims for row in unit.pods]
