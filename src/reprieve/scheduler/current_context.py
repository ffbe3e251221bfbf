"""The context of a demand as things stand now: from all that the scheduler remembers, what matters for it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reprieve.model.effects import Target
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Demand, Promised
from reprieve.scheduler.decision_context import DecisionContext
from reprieve.scheduler.demands import Requester, WaitingGroup, demand_of, priority_of
from reprieve.scheduler.ledger.nominations import Nomination, NominationReason
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target, rows_of


def context_of(state: State, requester: Requester, now: float) -> DecisionContext:
    own = _own(state, requester)
    if isinstance(requester, WaitingGroup):
        requester = requester.beginning_with(own)
    profile = state.settings.profiles[requester.pods[0].pod.spec.scheduler_name]
    reserved = {pod: nomination.node for pod, nomination in own.items()}
    demand, view = demand_of(requester, _with_evictions(state, now), profile, reserved, now)
    return DecisionContext(
        requester,
        demand,
        view,
        profile,
        _promised(state, view, demand),
        in_flight=_in_flight(view, state.plans.victims_in_flight()),
        charged=_in_flight(view, state.charged_victims()),
        stuck=_stuck(state, view),
        staying=tuple(rows_of(view, state.preemption_backoff.staying(now))),
        later=_later(state, view, demand, own),
        restrained=state.preemption_backoff.until((pod_target(pod.pod) for pod in requester.pods), now),
    )


def _with_evictions(state: State, now: float) -> Snapshot:
    view = state.world.snapshot()
    state.evictions.forget(now)
    moments = state.evictions.moments
    return replace(view, evictions=moments) if moments else view


def _promised(state: State, view: Snapshot, demand: Demand) -> Promised:
    """Room that is reserved for other demands of equal or higher priority."""
    pods, nodes = [], []
    for nomination in state.ledger.nominations:
        target = nomination.pod
        row, node = view.pods.rows[target.namespace, target.name], view.nodes.rows.get(nomination.node)
        if node is not None and row not in demand.pods and _priority(state, target) >= demand.priority:
            pods.append(row)
            nodes.append(node)
    return Promised(tuple(pods), tuple(nodes))


def _priority(state: State, pod: Target) -> int:
    """The priority of the demand that a waiting pod is part of."""
    return priority_of(state.world, state.ledger.parts[pod], state.settings.group_rules)


def _own(state: State, requester: Requester) -> dict[Target, Nomination]:
    """The nominations of a demand's own pods. The room of a first plan holds off others, and binds no one."""
    found = (state.ledger.nominations.of(pod_target(pod.pod)) for pod in requester.pods)
    return {
        nomination.pod: nomination
        for nomination in found
        if nomination is not None and nomination.reason is not NominationReason.FIRST_PLAN
    }


def _later(state: State, view: Snapshot, demand: Demand, own: Mapping[Target, Nomination]) -> frozenset[int]:
    """Pods of equal priority with room on the demand's nodes that was reserved after the demand's own."""
    first: dict[str, int] = {}
    for nomination in own.values():
        first[nomination.node] = min(nomination.since, first.get(nomination.node, nomination.since))
    others = (
        nomination.pod
        for node, since in first.items()
        for nomination in state.ledger.nominations.on(node)
        if nomination.since > since and nomination.pod not in own
    )
    equals = (pod for pod in others if _priority(state, pod) == demand.priority)
    return frozenset(view.pods.rows[pod.namespace, pod.name] for pod in equals)


def _stuck(state: State, view: Snapshot) -> tuple[int, ...]:
    return tuple(rows_of(view, sorted(state.ledger.terminating.stuck)))


def _in_flight(view: Snapshot, victims: Iterable[Target]) -> tuple[int, ...]:
    """Victims whose deletion the cluster does not show yet."""
    rows = sorted(rows_of(view, victims))
    return tuple(r for r in rows if view.where[r] != NOWHERE and not view.pods.terminating[r])
