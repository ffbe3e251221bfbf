"""What became of a demand that needs nothing more from the scheduler: bound, grown or gone?

The answers go into the plan log: why a plan for it ends, and whether the pods that were evicted for it were
of use. What is to be done next is decided elsewhere.
"""

from reprieve.model.effects import Target
from reprieve.model.moment import Moment
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands import NotYet
from reprieve.scheduler.plans.handover import Handover
from reprieve.scheduler.plans.plan_records import EndReason, GrowthEnd
from reprieve.scheduler.reporting.decision import Growth
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target


def reason_not_to_wait(state: State, key: DemandKey, found: NotYet | None) -> EndReason:
    """Why a plan ends for a demand that cannot be decided, or is not there any more."""
    if found is None:
        return EndReason.PREEMPTOR_GONE
    if key.kind is DemandKind.RESIZE and not state.world.has_node(state.only_node(key)):
        return EndReason.NODE_GONE
    return EndReason.PREEMPTOR_NOT_READY


def reason_settled(state: State, key: DemandKey, pod: Target, plan: Handover) -> EndReason:
    """Why a plan ends when a pod that it places needs nothing more.

    A pod that the scheduler places itself is no part of a plan any more when it is bound.
    """
    if key.kind is not DemandKind.RESIZE or _growth_end(state, key, pod) is not GrowthEnd.GRANTED:
        return EndReason.PREEMPTOR_GONE
    return EndReason.NO_LONGER_NEEDED if plan.evicts_later else EndReason.ROOM_USED


def on_pod_settled(state: State, key: DemandKey, pod: Target, now: Moment) -> None:
    """A pod of a demand is bound, has grown, or is gone."""
    known = _shown(state, pod)
    node = known.pod.spec.node_name if known is not None else ""
    if key.kind is DemandKind.RESIZE:
        end = _growth_end(state, key, pod)
        node = node if end is GrowthEnd.GRANTED else ""
        state.plan_log.on_growth_ended(pod, end, now)
    if not state.plan_log.remembers(key):
        return
    if node:
        state.plan_log.on_bound(key, pod, node, now, has_its_nodes=not _waits_for_nodes(state, key))
    on_demand_settled(state, key, now)


def on_demand_settled(state: State, key: DemandKey, now: Moment) -> None:
    """If no pod is left that waits or is to be bound, no evicted pod can be of use any more."""
    if state.plan_log.remembers(key) and not state.ledger.parts.has(key):
        state.plan_log.on_lost(key, now)


def _waits_for_nodes(state: State, key: DemandKey) -> bool:
    """Whether a plan for the demand is open, or one of its pods is nominated or assumed."""
    ledger = state.ledger
    return state.plans.of(key) is not None or any(
        pod in ledger.nominations or pod in ledger.assumed for pod in ledger.parts.pods(key)
    )


def _growth_end(state: State, key: DemandKey, pod: Target) -> GrowthEnd:
    known, wanted = _shown(state, pod), state.plan_log.wanted(pod)
    if known is None or known.pod.metadata.deletion_timestamp is not None:
        return GrowthEnd.GONE
    resizes = state.resizes(key)
    if resizes is not None and resizes.is_hopeless(known.pod):
        return GrowthEnd.INFEASIBLE
    return GrowthEnd.GRANTED if wanted is not None and _has(known, wanted) else GrowthEnd.WITHDRAWN


def _has(known: CompiledPod, wanted: Growth) -> bool:
    return all(known.weight.held.get(name, 0) >= one.wants for name, one in wanted.resources.items())


def _shown(state: State, pod: Target) -> CompiledPod | None:
    known = state.world.pod((pod.namespace, pod.name))
    return known if known is not None and pod_target(known.pod) == pod else None
