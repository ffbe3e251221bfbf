"""Crowds and what the search says to them, by names instead of rows."""

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from reprieve.model.json import Json
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.domains import place_together
from reprieve.placement.effort import NO_EFFORT, Effort
from reprieve.placement.place import Placement, pod_demand
from reprieve.preemption import search, searches
from reprieve.preemption.eligibility import eligible
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.policy import Policy, Question
from reprieve.preemption.prices import Evictable
from reprieve.preemption.search import candidates
from reprieve.preemption.searches import REPRIEVE
from reprieve.preemption.units import Unit
from tests.properties.crowded import Crowd, built
from tests.reference.demands import gang_demand
from tests.reference.policies import UPSTREAM

PRIORITY_CEILING = replace(REPRIEVE, search=searches.PRIORITY_CEILING)
POLICIES = st.sampled_from([REPRIEVE, PRIORITY_CEILING, UPSTREAM])
AMPLE = 1_000_000  # no search in a small cluster comes near it


def question_of(crowd: Crowd, policy: Policy = REPRIEVE) -> Question | None:
    """None if the newcomers fit as things are."""
    view, rows = built(crowd)
    if "schedulingGroup" in crowd.newcomers[0]["spec"]:
        effort = NO_EFFORT if policy is UPSTREAM else Effort(AMPLE)
        demand = replace(gang_demand(view, rows, everybody=policy is UPSTREAM), effort=effort)
    else:
        demand = pod_demand(view, rows[0])
    found = place_together(demand, view)
    return None if isinstance(found, Placement) else Question(demand, view, found.survey, policy=policy)


def unspent(question: Question) -> Question:
    """With an effort of its own: what a search says it has spent is that of all searches for the demand."""
    return replace(question, demand=replace(question.demand, effort=Effort(question.demand.effort.units)))


def plans_of(question: Question | None) -> list[Plan]:
    plans = candidates(question, now=0) if question is not None else []
    return [] if isinstance(plans, NoPlan) else plans


def evictable_of(question: Question) -> Evictable:
    units = question.policy.units(question.view)
    verdict = eligible(units, question.demand, question.policy.rules, now=0)
    return search.evictable_of(question, units, verdict.allowed, now=0)


# --- in words ------------------------------------------------------------------------------------


def name_of(view: Snapshot, pod: int) -> str:
    return view.pods.compiled[pod].pod.metadata.name


def pods_of(view: Snapshot, units: Iterable[Unit]) -> set[str]:
    return {name_of(view, pod) for unit in units for pod in unit.pods}


def places_of(view: Snapshot, plan: Plan) -> dict[str, str]:
    return {name_of(view, pod): view.nodes.names[node] for pod, node in plan.places if node != NOWHERE}


def answer(crowd: Crowd, policy: Policy = REPRIEVE) -> Json | None:
    """Everything that is said, plan by plan."""
    question = question_of(crowd, policy)
    if question is None:
        return None
    found = candidates(question, now=0)
    if isinstance(found, NoPlan):
        return {"why": str(found.why)}
    return {plan.domain: _described(question.view, plan) for plan in found}


def _described(view: Snapshot, plan: Plan) -> Json:
    return {
        "places": places_of(view, plan),
        "victims": [(unit.name, sorted(pods_of(view, [unit]))) for unit in plan.victims],
        "spared": [(unit.name, sorted(pods_of(view, [unit]))) for unit in plan.spared],
        "broken": plan.broken,
        "ceiling": plan.ceiling,
    }
