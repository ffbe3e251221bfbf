"""The searches that a configuration can name, as values."""

from collections.abc import Mapping

from reprieve.placement.place import Placement
from reprieve.preemption.domain_plan import Planning
from reprieve.preemption.least_disturbing_plan import LeastDisturbancePlanning
from reprieve.preemption.node_optimum import refined
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Policy, Search


def _as_upstream(planning: Planning, placement: Placement) -> Plan:
    plan = planning.plan_evicting(placement, planning.local)
    return planning.or_sparing_gangs(plan, placement) if plan.gangs_broken else plan


def _by_ceiling(planning: Planning, placement: Placement) -> Plan:
    return planning.by_ceiling(placement)


def _disturbing_least(planning: Planning, placement: Placement) -> Plan:
    """The best plan for a single pod is sought on all nodes at once, by ``refined``."""
    if len(planning.question.demand.pods) == 1:
        return planning.by_ceiling(placement)
    return LeastDisturbancePlanning(planning).plan(placement)


# What kube-scheduler does.
UPSTREAM = Search(
    "Upstream",
    _as_upstream,
    has_ceiling=False,
    tries_again=False,
    tries_as_upstream=False,
    minds_gangs=False,
    compares_nodes=False,
)
# The algorithm of KEP-5710: nothing above the lowest priority that suffices.
PRIORITY_CEILING = Search("PriorityCeiling", _by_ceiling)
# The best plan by the list of criteria, with a bound, and a proof where it can be had.
LEAST_DISTURBANCE = Search("LeastDisturbance", _disturbing_least, refined=refined, may_be_improved=True)
SEARCHES: Mapping[str, Search] = {
    search.name: search for search in (PRIORITY_CEILING, UPSTREAM, LEAST_DISTURBANCE)
}

REPRIEVE = Policy(LEAST_DISTURBANCE)
