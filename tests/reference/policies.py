"""The policies that tests compare, and plans by the default order of criteria."""

from tests.unit.config import with_args

from reprieve.assembly.scheduler_settings import policy_of_profile
from reprieve.preemption.plan import Plan

UPSTREAM = policy_of_profile(with_args("Reprieve", policy="Upstream"))


def usual_rank(plan: Plan) -> tuple[tuple[float, ...], str]:
    return tuple(plan.cost), plan.domain
