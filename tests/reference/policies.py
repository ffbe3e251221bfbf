"""The policies that tests compare, and plans by the default order of criteria."""

from reprieve.assembly.scheduler_settings import policy_of
from reprieve.preemption.plan import Plan
from tests.unit.config import with_args

UPSTREAM = policy_of(with_args("Reprieve", policy="Upstream"))


def usual_rank(plan: Plan) -> tuple[tuple[float, ...], str]:
    return tuple(plan.cost), plan.domain
