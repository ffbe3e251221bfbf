"""The criteria of disturbance as they rank plans, with the words that decisions use for them."""

import math
from collections.abc import Mapping

from reprieve.preemption.least_disturbance.costs import Disturbance
from reprieve.preemption.plan import Plan
from reprieve.preemption.ranking import Criterion


def _criterion(which: Disturbance, code: str, text: str) -> Criterion:
    def measure(plan: Plan) -> float:
        """A plan that another search made is not measured, and loses."""
        return dict(plan.quality.cost).get(which, 0) if plan.quality is not None else math.inf

    return Criterion(which, code, text, measure)


DISTURBANCE: Mapping[Disturbance, Criterion] = {
    which: _criterion(which, code, text)
    for which, code, text in (
        (Disturbance.BUDGETS_BROKEN, "FewestBudgetsBroken", "fewest disruption budgets broken"),
        (Disturbance.HIGHEST_PRIORITY, "LowestHighestPriority", "lowest highest victim priority"),
        (Disturbance.DISRUPTION_COST, "LowestDisruptionCost", "victims that cost their groups least"),
        (Disturbance.PODS_STOPPED, "FewestPodsStopped", "fewest pods stopped"),
        (Disturbance.WORKLOADS_ENDED, "FewestWorkloadsEnded", "fewest workloads ended"),
        (Disturbance.CASCADE, "LeastCascade", "fewest victims that preempt others or find no room"),
        (Disturbance.LOST_WORK, "LeastLostWork", "least work lost since the last checkpoints"),
        (Disturbance.PODS, "FewestPods", "fewest pods disturbed"),
    )
}
